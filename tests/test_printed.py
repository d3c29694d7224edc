import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultline.errors import DataError
from faultline.printed import attainable_rate, parse


@pytest.mark.parametrize(
    ("text", "value", "half"),
    [
        ("0.480", 0.48, 0.0005),
        ("-0.0004", -0.0004, 0.00005),
        ("+.005", 0.005, 0.0005),
        ("46.1%", 0.461, 0.0005),
        ("2,790", 2790, 0.5),
        ("-40.7%", -0.407, 0.0005),
        ("0", 0, 0.5),
    ],
)
def test_value_and_half_a_unit(text, value, half):
    found = parse(text)
    assert (found.value, found.half_unit) == (pytest.approx(value), pytest.approx(half))


def test_percent_in_the_header_and_another_precision():
    assert parse("89.4", percent=True).value == pytest.approx(0.894)
    assert parse("30", half_unit=5).matches(28.2)


@given(st.floats(-1000, 1000), st.integers(0, 5))
def test_a_number_matches_its_own_print(value, decimals):
    assert parse(f"{value:.{decimals}f}").matches(value)


@given(st.integers(-10_000, 10_000), st.sampled_from([-1, 1]))
def test_the_next_last_digit_does_not_match(thousandths, way):
    value = thousandths / 1000
    assert not parse(f"{value:.3f}").matches(value + way * 0.000_51)


@pytest.mark.parametrize("text", ["", "N/A", ".", "1.2.3", "twelve"])
def test_what_is_no_number_is_refused(text):
    with pytest.raises(DataError, match="not a number"):
        parse(text)


@given(st.integers(1, 700), st.integers(0, 1000))
def test_attainable_rates_against_a_loop(n, permille):
    printed = parse(f"{permille / 10:.1f}%")
    expected = any(abs(k / n - printed.value) <= printed.half_unit * (1 + 1e-6) for k in range(n + 1))
    assert (attainable_rate(printed, n) is not None) == expected
