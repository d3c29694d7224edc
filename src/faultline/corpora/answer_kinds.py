"""Coarse kinds of answers in data sets that annotate none, by rules on the string alone.

Used to draw a fault's replacement from answers of the same kind. The rules see no context, so they are
tried in a fixed order, from the surest to the least sure, and what none of them claims is ``entity``:

1. ``yes_no``: yes or no.
2. ``year``: a four-digit number from 1000 to 2099, also as a decade, a range or with an era.
3. ``date``: a month name with a number, a century, or an ISO date.
4. ``number``: starts with a figure or is made of number words, and has no capitalised word.
5. ``work``: quoted as a whole, or a title with a subtitle after a colon.
6. ``organisation`` and ``place``: by a telling word ("University", "River"), a known country or state, or the
   pattern "City, State".
7. ``person``: a name of two to four capitalised words (initials, particles, "Jr." and a nickname allowed), or
   one with a regnal numeral; no figure, no possessive, no function word.

Rule 7 also takes two-word titles and brands ("Pizza Hut"): the string alone cannot tell them from persons.
"""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["person", "place", "date", "year", "number", "yes_no", "work", "organisation", "entity"]

_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?"
)
_YEAR = r"(?:1\d{3}|20\d{2})"
_YEAR_END = rf"(?: ?[-–—] ?(?:{_YEAR}|\d{{2}}))?(?: (?:AD|CE|BC|BCE))?"
_YEARS = re.compile(rf"(?:c\. ?)?{_YEAR}s?{_YEAR_END}", re.IGNORECASE)
_DATE = re.compile(
    rf"{_MONTH},? (?:\d{{1,2}}|{_YEAR})\b|\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH}"
    r"|\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}(?:st|nd|rd|th) century\b"
)
_FIGURE = re.compile(r"[$£€~+-]?\d[\d.,/:]*(?:%|st|nd|rd|th|[a-zµ]{1,3})?")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _phrases(text: str) -> frozenset[str]:
    return frozenset(text.split(", "))


_NUMBER_WORDS = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred "
    "thousand million billion dozen first second third fourth fifth sixth seventh eighth ninth tenth "
    "eleventh twelfth once twice half times and"
)
_ORGANISATION = _words(
    "Academy Agency Airlines Airways Army Association Bank Brewery Broadcasting Brothers Co College "
    "Commission Committee Company Conference Corp Corporation Council Department Enterprises "
    "Entertainment F.C. FC Federation Foundation Gallery Games Gazette Group Guild Herald Inc Industries "
    "Institute Institution LLC League Library Limited Ltd Magazine Manufacturing Ministry Motors Museum "
    "Navy News Orchestra Organisation Organization Party Pictures Press Productions Publishing Records "
    "School Senate Society Studios Symphony Telegraph Times Union University"
)
_PLACE = _words(
    "Airport Arena Avenue Bay Beach Borough Bridge Cafe Café Castle Cathedral Center Centre City Coast "
    "County Creek Desert District Forest Fort Gulf Hall Heights Hill Hills Hotel House Island Islands "
    "Lake Mountain Mountains Ocean Palace Parish Park Peninsula Prefecture Province Region Ridge River "
    "Road Sea Square Stadium State States Station Street Theater Theatre Tower Town Township Valley "
    "Village"
)
_KNOWN_PLACES = _phrases(
    "Afghanistan, Africa, Alabama, Alaska, Albania, Algeria, Antarctica, Argentina, Arizona, Arkansas, "
    "Armenia, Asia, Australia, Austria, Azerbaijan, Bangladesh, Belarus, Belgium, Berlin, Bolivia, "
    "Bosnia, Botswana, Brazil, Bulgaria, California, Cambodia, Cameroon, Canada, Chile, China, Colombia, "
    "Colorado, Connecticut, Costa Rica, Croatia, Cuba, Cyprus, Czech Republic, Delaware, Denmark, "
    "Ecuador, Egypt, England, Estonia, Ethiopia, Europe, Finland, Florida, France, Georgia, Germany, "
    "Ghana, Greece, Greenland, Guatemala, Haiti, Hawaii, Hong Kong, Hungary, Iceland, Idaho, Illinois, "
    "India, Indiana, Indonesia, Iowa, Iran, Iraq, Ireland, Israel, Italy, Jamaica, Japan, Jordan, Kansas, "
    "Kazakhstan, Kentucky, Kenya, Kuwait, Laos, Las Vegas, Latvia, Lebanon, Liberia, Libya, Lithuania, "
    "London, Los Angeles, Louisiana, Luxembourg, Madagascar, Maine, Malaysia, Mali, Malta, Maryland, "
    "Massachusetts, Mexico, Michigan, Minnesota, Mississippi, Missouri, Mongolia, Montana, Morocco, "
    "Moscow, Mozambique, Myanmar, Namibia, Nebraska, Nepal, Netherlands, Nevada, New Hampshire, New "
    "Jersey, New Mexico, New Orleans, New York, New York City, New Zealand, Nicaragua, Nigeria, North "
    "America, North Carolina, North Dakota, North Korea, Northern Ireland, Norway, Ohio, Oklahoma, "
    "Oregon, Pakistan, Panama, Paraguay, Paris, Pennsylvania, Peru, Philippines, Poland, Portugal, Puerto "
    "Rico, Rhode Island, Romania, Rome, Russia, Rwanda, San Diego, San Francisco, Saudi Arabia, Scotland, "
    "Senegal, Serbia, Singapore, Slovakia, Slovenia, Somalia, South Africa, South America, South "
    "Carolina, South Dakota, South Korea, Soviet Union, Spain, Sri Lanka, Sudan, Sweden, Switzerland, "
    "Syria, Taiwan, Tanzania, Tennessee, Texas, Thailand, Tokyo, Tunisia, Turkey, U.K., U.S., U.S.A., UK, "
    "US, USA, Uganda, Ukraine, United Kingdom, United States, Uruguay, Utah, Venezuela, Vermont, Vietnam, "
    "Virginia, Wales, Washington, West Virginia, Wisconsin, Wyoming, Yemen, Zambia, Zimbabwe"
)
_PARTICLES = _words("de da di del della der den van von la le bin ibn al el dos du y ten ter zu")
_FUNCTION = _words(
    "A About After All An And Are As At Be Before By Do For From How I If In Into Is It Like Me My No Not "
    "Of Off On Once One Or Our Out Over She The They This To Under Up Us Was We What When Where Who Why "
    "With You Your"
)
_NAME_WORD = re.compile(r"(?:(?:O'|D'|Mc|Mac)?[^\W\d_][^\W\d_]*(?:[-’'][^\W\d_]+)*|(?:[^\W\d_]\.)+)")
_ROMAN = re.compile(r"[IVX]+")


def kind_of(text: str) -> Kind:
    """The kind of an answer string; ``entity`` where no rule applies.

    Args:
        text: An answer as published; surrounding blanks and a final full stop do not count.
    """
    answer = text.strip()
    bare = answer if re.search(r"\b(?:\w\.|Jr\.|Sr\.|Inc\.|Co\.|Ltd\.)$", answer) else answer.rstrip(".")
    if bare.lower() in ("yes", "no"):
        return "yes_no"
    if _YEARS.fullmatch(bare):
        return "year"
    if _DATE.search(bare):
        return "date"
    if _is_number(bare):
        return "number"
    if re.fullmatch(r"[\"“«].+[\"”»]", bare) or re.search(r"\w: [A-Z]", bare):
        return "work"
    return _named(bare)


def _is_number(text: str) -> bool:
    tokens = text.replace("-", " ").split()
    if not tokens or any(token[:1].isupper() for token in tokens[1:]):
        return False
    if _FIGURE.fullmatch(text.split(maxsplit=1)[0]) is not None:
        return True
    return all(token.lower() in _NUMBER_WORDS for token in tokens)


def _named(text: str) -> Kind:
    """Rules 6 and 7."""
    text = re.sub(r",? [JS]r\.?$", "", text)
    core = re.sub(r"^[Tt]he ", "", text)
    tokens = [token.strip(",.") if len(token) > 4 else token.strip(",") for token in core.split()]
    if core in _KNOWN_PLACES:
        return "place"
    if not all(token[:1].isupper() for token in tokens[:1] + tokens[-1:]):
        return "entity"
    if re.fullmatch(r"[^,]{2,40}, [^,]{2,40}(?:, [^,]{2,40})?", core) and re.search(r", [A-Z][^,]*$", core):
        parts = core.split(", ")
        return "place" if parts[-1].strip(".") in _KNOWN_PLACES or len(parts) == 2 else "entity"
    last = {token.rstrip(".") for token in tokens[-1:]} | set(tokens[-1:])
    if last & _ORGANISATION or {"University", "Institute", "Department"} & set(tokens):
        return "organisation"
    if last & _PLACE and len(tokens) > 1:
        return "place"
    return "person" if core == text and _is_person(tokens) else "entity"


def _is_person(tokens: list[str]) -> bool:
    words = [
        token
        for token in tokens
        if token.strip(".") not in ("Jr", "Sr") and not token.startswith(("(", '"', "“"))
    ]
    regnal = len(words) == 2 and _ROMAN.fullmatch(words[1]) is not None
    names = [word for word in words if word not in _PARTICLES]
    if not 2 <= len(names) <= 4 or any(word in _FUNCTION for word in names if not regnal):
        return False
    shaped = all(_NAME_WORD.fullmatch(word) and word[:1].isupper() for word in names)
    possessive = any(word.endswith(("'s", "’s")) for word in names)
    shouted = any(len(word) > 1 and word.isupper() and "." not in word for word in names)
    return shaped and not possessive and not (shouted and not regnal)
