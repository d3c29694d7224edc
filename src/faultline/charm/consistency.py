"""Arithmetic inside paper 1: does what it prints add up? Each check says what it takes for granted.

Every argument is a printed number (:class:`~faultline.printed.Printed`), rates in [0, 1]. A check that holds
only under one of several readings is ``conditional``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from faultline.printed import Finding, Printed, Verdict, attainable_rate

RUNS = 5
"""Table VI: CHARM's results are means over five runs."""
STAGES = 5


def same(first: Printed, second: Printed) -> Finding:
    """Whether one quantity is printed alike in two places."""
    holds = abs(first.value - second.value) <= max(first.half_unit, second.half_unit)
    return Finding(_verdict(holds), first.value, f"printed as {first.text} and as {second.text}")


def reading(first: str, second: str) -> Finding:
    """Two sentences of the paper that cannot both be true; a reading, not arithmetic."""
    return Finding("inconsistent", None, f"{first!r} against {second!r}", ("both are about one thing",))


def total(parts: Sequence[Printed], whole: Printed) -> Finding:
    """Whether printed parts add to the printed whole (findings 2 and 7)."""
    value = sum(part.value for part in parts)
    terms = " + ".join(part.text for part in parts)
    return Finding(_verdict(whole.matches(value)), value, f"{terms} = {value:g}, printed {whole.text}")


def share(part: Printed, whole: Printed, said: Printed) -> Finding:
    """Whether a printed rate is the quotient of two printed counts."""
    value = part.value / whole.value
    detail = f"{part.text} of {whole.text} = {100 * value:.2f} %, printed {said.text}"
    return Finding(_verdict(said.matches(value)), value, detail)


def difference(high: Printed, low: Printed, said: Printed) -> Finding:
    """Whether a gain in the text is the difference of two printed rates (finding 6)."""
    value = high.value - low.value
    slack = said.half_unit + 1e-9
    holds = abs(value - said.value) <= slack
    detail = f"{high.text} - {low.text} = {100 * value:.1f} points, printed {said.text}"
    return Finding(_verdict(holds), value, detail, ("the gain is computed from the printed rates",))


def mean_over_datasets(parts: Sequence[Printed], sizes: Sequence[Printed], pooled: Printed) -> Finding:
    """Finding 1: is the pooled rate the plain mean of the data sets, or the mean over trajectories?

    Args:
        parts: Rates by data set (Table VII).
        sizes: Injected trajectories by data set (VI-A7).
        pooled: Table VI.
    """
    plain = sum(part.value for part in parts) / len(parts)
    n = sum(size.value for size in sizes)
    weighted = sum(part.value * size.value for part, size in zip(parts, sizes, strict=True)) / n
    detail = f"plain mean {100 * plain:.2f}, over trajectories {100 * weighted:.2f}, printed {pooled.text}"
    fits = pooled.matches(plain), pooled.matches(weighted)
    verdict: Verdict = "consistent" if all(fits) else "conditional" if any(fits) else "inconsistent"
    return Finding(verdict, weighted, detail, ("VI-F pools trajectories; Table VI could be a plain mean",))


def single_run_rate(rate: Printed, sizes: Sequence[Printed]) -> Finding:
    """Finding 3: is there a count k for which k of N is printed like this, in one run or over five?

    Args:
        rate: The printed rate.
        sizes: Numbers of trajectories that it may be taken over.
    """
    for size in sizes:
        k = attainable_rate(rate, round(size.value))
        if k is not None:
            return Finding("consistent", k / size.value, f"{k} of {size.text} is printed {rate.text}")
    names = " or ".join(size.text for size in sizes)
    over_five = any(attainable_rate(rate, RUNS * round(size.value)) is not None for size in sizes)
    means = "can be" if over_five else "cannot be"
    detail = f"no count of {names} is printed {rate.text}; a mean over five runs {means}"
    assumption = "only CHARM's row of Table VI is said to be a mean over five runs"
    return Finding("conditional" if over_five else "inconsistent", None, detail, (assumption,))


def single_component(weight: Printed, theta: Printed, cdr: Printed) -> Finding:
    """Finding 4: can one component alone reach the trigger's threshold?

    With the fixed weights its score is at most its weight; with renormalised weights it is its anomaly.
    """
    if weight.value >= theta.value:
        return Finding("consistent", weight.value, f"at most {weight.text}, threshold {theta.text}")
    detail = f"with fixed weights p is at most {weight.text}, below {theta.text}, yet {cdr.text} are detected"
    verdict: Verdict = "conditional" if cdr.value > 0 else "consistent"
    return Finding(verdict, weight.value, detail, ("weights are renormalised when components are left out",))


def renormalised_threshold(theta: Printed, tau: Printed) -> Finding:
    """Finding 4: with renormalised weights SFV alone fires at an entailment of 1 - theta, not at tau."""
    value = 1.0 - theta.value
    detail = f"fires at an entailment of at most {value:.2f}, the threshold is printed {tau.text}"
    return Finding(_verdict(tau.matches(value)), value, detail, ("the anomaly is 1 - entailment",))


def pair_requirement(first: Printed, second: Printed, theta: Printed) -> Finding:
    """Finding 4: what two equally weighted components must add up to before they fire without the third."""
    if first.value != second.value:
        return Finding("inconsistent", None, "the two weights differ; one sum does not decide")
    needed = theta.value / first.value
    verdict: Verdict = "inconsistent" if needed > 2.0 else "conditional"
    detail = f"the two anomalies must add up to {needed:.3f} of at most 2"
    return Finding(verdict, needed, detail, ("fixed weights; the third component is silent",))


def cpm_stages(
    confidence: Printed, prior: Printed, delta: Printed, temperature: Printed, fpr: Printed
) -> Finding:
    """Finding 5: at how many of five stages does a constant raw confidence fire the Beta monitor?

    The paper's update: p = sigmoid(logit(raw) / T), flagged when p - alpha / (alpha + beta) > delta, then
    alpha += p and beta += 1 - p.

    Args:
        confidence: Raw confidence of every stage.
        prior: alpha = beta at the start.
        delta: Inflation threshold.
        temperature: T.
        fpr: The printed false positive rate of CPM alone.
    """
    raw = confidence.value
    p = 1.0 / (1.0 + math.exp(-math.log(raw / (1.0 - raw)) / temperature.value))
    alpha = beta = prior.value
    fired = []
    for stage in range(1, STAGES + 1):
        if p - alpha / (alpha + beta) > delta.value:
            fired.append(stage)
        alpha, beta = alpha + p, beta + 1.0 - p
    detail = f"a constant raw confidence of {raw:g} (scaled {p:.3f}) fires at stages {fired}, FPR {fpr.text}"
    verdict: Verdict = "inconsistent" if fired else "consistent"
    return Finding(verdict, float(len(fired)), detail, ("clean trajectories are about as confident",))


def retained_gain(base: Printed, gain: Printed, full: Printed) -> Finding:
    """Finding 6: "full CHARM retains +4.1" over SFV+CSCT gives less than the printed full system."""
    value = base.value + gain.value
    detail = f"{base.text} + {gain.text} points = {100 * value:.1f}, full CHARM is printed {full.text}"
    return Finding(_verdict(full.matches(value)), value, detail, ("the gain is over the printed base",))


def aggregation_gain(
    before_rate: Printed, after_rate: Printed, before_ms: Printed, after_ms: Printed
) -> Finding:
    """Finding 7: the trigger only sums its components: it can add no detection and hardly any time."""
    rate, time = after_rate.value - before_rate.value, after_ms.value - before_ms.value
    detail = f"the trigger adds {100 * rate:.1f} points and {time:g} ms to the three components that it sums"
    holds = rate <= before_rate.half_unit + after_rate.half_unit and time <= 1.0
    return Finding(_verdict(holds), rate, detail, ("the row above already aggregates with the same weights",))


def missed_entirely(rate: Printed, what: str) -> Finding:
    """Finding 8: a system said to miss a cascade type entirely, on a data set that has only that type."""
    detail = f"{what}: said to be missed entirely, printed {rate.text}"
    return Finding(
        _verdict(rate.value <= rate.half_unit), rate.value, detail, ("faults as VI-B assigns them",)
    )


def terminal_bound(
    cdr: Printed, cdd: Printed, inflation: Printed, adversarial: Printed, datasets: int
) -> Finding:
    """Finding 9: what a check of the last stage can score under the strict rule, flag at most one stage late.

    A flag at stage 5 counts only for faults injected at stage 4 or 5. VI-B puts them at stages 1 and 2,
    except hedge removal, which may be anywhere: at best all of those count.

    Args:
        cdr: The printed rate.
        cdd: Its printed detection depth.
        inflation: Hedge-removal trajectories in the adversarial set.
        adversarial: Trajectories in it.
        datasets: Data sets in the plain mean of Table VI.
    """
    best = inflation.value / adversarial.value / datasets if cdd.value > 3 else 1.0
    detail = f"flags at stage {cdd.text} score at most {100 * best:.2f} %, printed {cdr.text}"
    assumption = "strict rule of VI-B; every hedge removal at stage 4 or 5; Table VI is the plain mean"
    return Finding(_verdict(cdr.value - cdr.half_unit <= best), best, detail, (assumption,))


def detection_depth(cdd: Printed, first: Printed, second: Printed, inflation: Printed) -> Finding:
    """Finding 10: the mean detection stage if stage 1 cannot fire, under the stated counts.

    Args:
        cdd: The printed mean.
        first: Faults injected at stage 1 (detected at stage 2 at the earliest).
        second: Faults injected at stage 2 (at stage 2 or 3 under the strict rule).
        inflation: Hedge removals, at stages 2 to 5 alike.
    """
    n1, n2, n3 = first.value, second.value, inflation.value
    floor = (2 * n1 + 2 * n2 + 3.5 * n3) / (n1 + n2 + n3)
    even = (2 * n1 + 2.5 * n2) / (n1 + n2)
    low, high = cdd.interval()
    fits = tuple(low - 1e-9 <= value <= high + 1e-9 for value in (floor, even))
    verdict: Verdict = "consistent" if all(fits) else "conditional" if any(fits) else "inconsistent"
    detail = (
        f"earliest possible {floor:.3f}, evenly over the window without hedge removals {even:.3f}, "
        f"printed {cdd.text}"
    )
    return Finding(verdict, even, detail, ("no component can fire at stage 1: c1 against itself",))


def one_stage_depth(cdd: Printed, stage: int) -> Finding:
    """Finding 10: a system that watches one stage detects at that stage."""
    detail = f"it watches stage {stage} only, mean detection stage printed {cdd.text}"
    return Finding(_verdict(cdd.matches(float(stage))), float(stage), detail, ("one watched stage",))


def largest_share(msr: Printed, share_of: Printed, best_other: Printed, name: str) -> Finding:
    """Finding 11: how many resolutions may come from a weaker pattern, if the rest are by the best one."""
    value = (best_other.value - msr.value) / (best_other.value - share_of.value)
    detail = f"{name} can take at most {100 * value:.0f} % of the mitigations for a mean of {msr.text}"
    assumption = "Algorithm 1 sends every cascade detected at stage 2 or before to this pattern"
    return Finding("conditional" if 0.0 <= value < 1.0 else "inconsistent", value, detail, (assumption,))


def error_reduction(cdr: Printed, msr: Printed, epr: Printed, liberal: Printed | None = None) -> Finding:
    """Finding 12: errors removed cannot exceed detected times resolved.

    Args:
        cdr: Strict detection rate.
        msr: Share of detected cascades that are resolved.
        epr: Error propagation reduction.
        liberal: Detection rate under the liberal rule, if the paper gives one.
    """
    strict = (cdr.value + cdr.half_unit) * (msr.value + msr.half_unit)
    needed = epr.value - epr.half_unit
    shown = f"detected x resolved = {100 * cdr.value * msr.value:.1f} %, EPR is printed {epr.text}"
    assumption = "a cascade that is not detected, or not resolved, ends in a wrong answer"
    if strict >= needed:
        return Finding("consistent", strict, shown, (assumption,))
    if liberal is not None and liberal.value * (msr.value + msr.half_unit) >= needed:
        bound = 100 * liberal.value * msr.value
        detail = f"{shown}; holds only if liberal detections are mitigated too ({bound:.1f} %)"
        return Finding("conditional", cdr.value * msr.value, detail, (assumption,))
    return Finding("inconsistent", cdr.value * msr.value, shown, (assumption,))


def reduction_without_mitigation(epr: Printed, name: str) -> Finding:
    """Finding 12: a detector that mitigates nothing cannot reduce final errors."""
    detail = f"{name} has no mitigation (MSR N/A), EPR is printed {epr.text}"
    return Finding(_verdict(epr.value <= epr.half_unit), 0.0, detail, ("EPR as Equation 5 defines it",))


def gate_from_threshold(gate: Printed, tau: Printed, margin: Printed) -> Finding:
    """Finding 13: the PVA gate on anomalies is derived from a threshold on entailment."""
    anomaly = 1.0 - tau.value
    detail = (
        f"{tau.text} - {margin.text} = {tau.value - margin.value:.2f} is an entailment; the same threshold "
        f"as an anomaly is {anomaly:.2f}, the gate is {gate.text} on anomalies"
    )
    return Finding(
        _verdict(gate.matches(anomaly - margin.value)), anomaly, detail, ("anomaly = 1 - entailment",)
    )


def approximates(proxy: Printed, target: Printed, slack: float) -> Finding:
    """Finding 14: a baseline that "approximates" a component, on one data set.

    Args:
        proxy: Rate of the baseline.
        target: Rate of the component.
        slack: Largest difference that would still count.
    """
    value = target.value - proxy.value
    detail = f"{proxy.text} against {target.text}: {100 * value:.1f} points apart"
    return Finding(
        _verdict(abs(value) <= slack), value, detail, (f"close means within {100 * slack:g} points",)
    )


def held_out(needed: Printed, injected: Printed, clean: Printed, share: Printed) -> Finding:
    """Finding 15: do so many held-out trajectories exist in a data set of this size?

    Args:
        needed: Held-out trajectories per data set.
        injected: Its injected trajectories.
        clean: Its clean trajectories.
        share: Share that is held out for validation.
    """
    whole = injected.value + clean.value
    value = share.value * whole
    detail = f"{share.text} of {whole:g} trajectories are {value:g}, {needed.text} are needed"
    return Finding(_verdict(value >= needed.value), value, detail, ("held out means the validation split",))


def _verdict(holds: bool) -> Verdict:
    return "consistent" if holds else "inconsistent"
