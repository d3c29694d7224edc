"""Small hand-made annotations in the original formats."""

from faultline.grounding.multihop import Example, make_fact
from faultline.records import Passage

FILM = Passage(
    "q/0",
    "Last Rampage",
    (
        "Last Rampage is a 2017 American crime drama film directed by Dwight H. Little.",
        " It stars Robert Patrick and Heather Graham.",
        " The film was shot in Arizona.",
    ),
)
DIRECTOR = Passage(
    "q/1",
    "Dwight H. Little",
    (
        "Dwight H. Little (born January 13, 1956) is an American film director.",
        " He is known for his work on Halloween 4 and Marked for Death.",
    ),
)
OTHERS = tuple(
    Passage(f"q/{i + 2}", title, tuple(body))
    for i, (title, body) in enumerate(
        (
            (
                "Pilis Mountains",
                ["Pilis is a mountainous region in Hungary.", " Its highest peak is 756 metres high."],
            ),
            (
                "Ekkehard Schall",
                ["Ekkehard Schall (29 May 1930) was a German actor.", " He died in Berlin in 2005."],
            ),
            (
                "Kohuwala",
                ["Kohuwala is a suburb of Colombo.", " It is close to Colombo South Teaching Hospital."],
            ),
        )
    )
)


def example() -> Example:
    first = make_fact(
        "What is the director of Last Rampage?",
        "Dwight H. Little",
        FILM,
        subject="Last Rampage",
        relation="director",
    )
    second = make_fact(
        "What is the date of birth of Dwight H. Little?",
        "January 13, 1956",
        DIRECTOR,
        subject="Dwight H. Little",
        relation="date of birth",
    )
    assert first is not None
    assert second is not None
    return Example(
        "q1",
        "twowiki",
        "When was the director of film Last Rampage born?",
        "January 13, 1956",
        (first, second),
        (FILM, DIRECTOR),
        OTHERS,
    )


POOL = {"person": ("Arthur Rosson", "Mala Sinha"), "date": ("5 October 1987", "24 August 1886")}
