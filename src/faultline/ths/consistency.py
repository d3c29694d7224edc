"""Arithmetic inside paper 3: checks on printed numbers and on the definitions, each with its assumptions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from faultline.printed import Finding, Printed, Verdict
from faultline.ths import osr, score

LEXICONS = {
    "reasoning": osr.REASONING,
    "metadata": osr.METADATA,
    "disclaimer": osr.PRINTED_DISCLAIMERS,
}
FDF_STEMS = ("fiction", "fictional", "hypothetical", "speculative")
"""The stems that section 5 says FDF and the disclaimer lexicon share."""

OSR_SETTINGS: Mapping[str, float] = {
    **dict(zip(("w_reasoning", "w_metadata", "w_disclaimer"), osr.WEIGHTS, strict=True)),
    **dict(zip(("full_reasoning", "full_metadata", "full_disclaimer"), osr.SATURATION, strict=True)),
    "floor": osr.CLAMP[0],
    "ceiling": osr.CLAMP[1],
}


def product(factors: Sequence[Printed], total: Printed) -> Finding:
    """Whether printed factors multiply to the printed total."""
    value = math.prod(factor.value for factor in factors)
    terms = " x ".join(factor.text for factor in factors)
    return Finding(_verdict(total.matches(value)), value, f"{terms} = {value:g}, printed {total.text}")


def total(parts: Sequence[Printed], whole: Printed) -> Finding:
    """Whether printed parts add to the printed whole, each to its printed precision."""
    value = sum(part.value for part in parts)
    slack = sum(part.half_unit for part in parts if part.half_unit < 0.5) + whole.half_unit
    holds = abs(value - whole.value) <= slack * (1 + 1e-6)
    terms = " + ".join(part.text for part in parts)
    return Finding(_verdict(holds), value, f"{terms} = {value:.6g}, printed {whole.text}")


def weighted_mean(values: Sequence[Printed], weights: Sequence[Printed], mean: Printed) -> Finding:
    """Whether subset values combine into the pooled value over the printed sizes."""
    sizes = [weight.value for weight in weights]
    value = sum(v.value * w for v, w in zip(values, sizes, strict=True)) / sum(sizes)
    slack = max(v.half_unit for v in values) + mean.half_unit
    detail = f"weighted mean {value:.4f}, printed {mean.text}"
    return Finding(_verdict(abs(value - mean.value) <= slack), value, detail)


def same(first: Printed, second: Printed) -> Finding:
    """Whether one quantity is printed alike in two places."""
    holds = abs(first.value - second.value) <= max(first.half_unit, second.half_unit)
    return Finding(_verdict(holds), first.value, f"printed as {first.text} and as {second.text}")


def contradiction(first: str, second: str) -> Finding:
    """Two sentences of the paper that cannot both be true; a reading, not arithmetic."""
    detail = f"{first!r} against {second!r}"
    return Finding("inconsistent", None, detail, ("both sentences are about the same thing",))


def weight_used(configuration: str, kpi: str, printed: Printed) -> Finding:
    """Whether a printed weight is the one that every recomputed THS of this project uses."""
    value = score.WEIGHTINGS[configuration][score.KPIS.index(kpi)]
    detail = f"{configuration} {kpi}: computed with {value}, printed {printed.text}"
    return Finding(_verdict(printed.matches(value)), value, detail)


def range_width(printed: str) -> Finding:
    """Whether the attainable range of THS is 1/3 wide for every weighting (section 5)."""
    widths = []
    for weights in (score.FOUR_KPI, *score.WEIGHTINGS.values()):
        low, high = score.attainable_range(weights)
        widths.append(high - low)
    holds = all(math.isclose(width, 1 / 3) for width in widths)
    detail = (
        f"widths {min(widths):.6f} to {max(widths):.6f} over the 4-KPI and five weightings, printed {printed}"
    )
    return Finding(_verdict(holds), widths[0], detail, ("weights are divided by their sum (Eq. 1)",))


def largest_weight_below(weights: Sequence[Printed], bound: Printed) -> Finding:
    """Whether every printed weight is below the printed crossing."""
    value = max(weight.value for weight in weights)
    return Finding(_verdict(value < bound.value), value, f"largest {value:g}, crossing {bound.text}")


def lexicon_size(lexicon: str, said: Printed) -> Finding:
    """Whether a lexicon has as many printed phrases as the paper says."""
    phrases = LEXICONS[lexicon]
    holds = said.matches(len(phrases))
    detail = f"{lexicon}: {len(phrases)} phrases are printed, the paper says {said.text}"
    return Finding(_verdict(holds), float(len(phrases)), detail)


def lexicon_overlap(shared: Printed, size: Printed, others: Printed, share: Printed) -> Finding:
    """Whether four stems of 22 leave 18, and 82 % (section 5)."""
    found = sum(stem in osr.PRINTED_DISCLAIMERS for stem in FDF_STEMS)
    rest = size.value - found
    holds = shared.matches(found) and others.matches(rest) and share.matches(rest / size.value)
    detail = f"{found} shared, {rest:g} of {size.text} others = {rest / size.value:.3f}, printed {share.text}"
    return Finding(_verdict(holds), rest / size.value, detail, ("the lexicon has the size that is said",))


def osr_setting(name: str, printed: Printed) -> Finding:
    """Whether a printed constant of OSR is the one that this project computes with."""
    value = OSR_SETTINGS[name]
    return Finding(_verdict(printed.matches(value)), value, f"{name}: {value:g}, printed {printed.text}")


def component_bound(weight: Printed, largest_count: Printed, full: Printed, bound: Printed) -> Finding:
    """Section 11: the most that the reasoning term adds at any stage, weight x mean count / denominator."""
    value = weight.value * largest_count.value / full.value
    detail = f"{weight.text} x {largest_count.text} / {full.text} = {value:.4f}, printed {bound.text}"
    assumption = "the mean of the capped counts is at most the capped mean"
    return Finding(_verdict(bound.matches(value)), value, detail, (assumption,))


def expected_overlap(first: Printed, second: Printed, n: Printed, expected: Printed) -> Finding:
    """Section 11: two independent failing sets of these sizes share first x second / n rows on average."""
    value = first.value * second.value / n.value
    detail = f"{first.text} x {second.text} / {n.text} = {value:.3f}, printed {expected.text}"
    return Finding(_verdict(expected.matches(value)), value, detail, ("independence",))


def one_in(rate: Printed, one_of: Printed) -> Finding:
    """Whether a rate is "one in so many"."""
    value = 1.0 / rate.value
    return Finding(
        _verdict(one_of.matches(value)),
        value,
        f"1 / {rate.value:g} = {value:.2f}, printed 1 in {one_of.text}",
    )


def prefix_reaches(
    outer: Printed, middle: Printed, inner: Printed, kept: Printed, position: int, name: str
) -> Finding:
    """Section 5: whether "truncated" can mean the first prompts of the Cartesian product.

    Args:
        outer: Values of the factor that Table 1 names first.
        middle: Values of the second factor.
        inner: Values of the third.
        kept: Prompts kept.
        position: 1-based place, in the paper's list, of an outer value that a quoted prompt uses.
        name: That value.
    """
    block = middle.value * inner.value
    first = (position - 1) * block + 1
    reached = kept.value >= first
    detail = (
        f"with {outer.text} domains outermost, {name} (number {position}) starts at combination {first:g}, "
        f"{kept.text} are kept; yet a quoted prompt is about {name}"
    )
    assumption = "loops in the order of Table 1; another loop order, or selection by hand, could reach it"
    return Finding("consistent" if reached else "conditional", first, detail, (assumption,))


def _verdict(holds: bool) -> Verdict:
    return "consistent" if holds else "inconsistent"
