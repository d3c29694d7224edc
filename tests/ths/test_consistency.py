import pytest

from faultline.printed import parse
from faultline.ths import consistency as c


def p(text):
    return parse(text)


@pytest.mark.parametrize(
    ("finding", "verdict"),
    [
        (c.product([p("7"), p("5"), p("13")], p("455")), "consistent"),
        (c.product([p("6"), p("16")], p("93")), "inconsistent"),
        (c.total([p("0.167"), p("0.167"), p("0.166")], p("0.500")), "consistent"),
        (c.total([p("217"), p("93")], p("310")), "consistent"),
        (c.total([p("217"), p("94")], p("310")), "inconsistent"),
        (c.weighted_mean([p("0.128"), p("0.378")], [p("217"), p("93")], p("0.203")), "consistent"),
        (c.same(p("930"), p("310")), "inconsistent"),
        (c.weight_used("SecurityFirst", "OSR", p("0.166")), "consistent"),
        (c.weight_used("SecurityFirst", "OSR", p("0.167")), "inconsistent"),
        (c.range_width("1/3"), "consistent"),
        (c.largest_weight_below([p("0.28"), p("0.2")], p("0.463")), "consistent"),
        (c.lexicon_size("reasoning", p("14")), "consistent"),
        (c.lexicon_size("disclaimer", p("22")), "inconsistent"),
        (c.osr_setting("floor", p("0.05")), "consistent"),
        (c.component_bound(p("0.4"), p("0.19"), p("5"), p("0.015")), "consistent"),
        (c.expected_overlap(p("46"), p("27"), p("310"), p("4.0")), "consistent"),
        (c.one_in(p("10.8%"), p("9")), "consistent"),
        (c.prefix_reaches(p("7"), p("5"), p("13"), p("217"), 4, "science"), "consistent"),
        (c.prefix_reaches(p("7"), p("5"), p("13"), p("217"), 6, "technology"), "conditional"),
        (c.contradiction("a", "b"), "inconsistent"),
    ],
)
def test_verdicts(finding, verdict):
    assert finding.verdict == verdict


def test_the_overlap_of_lexicons_is_counted():
    found = c.lexicon_overlap(p("4"), p("22"), p("18"), p("82%"))
    assert (found.verdict, found.value) == ("consistent", pytest.approx(18 / 22))
