"""CHARM as a literal loop over one trajectory, from the paper's equations; None is "not applicable"."""

import math


def one(value):
    """A float, or None for NaN."""
    return None if math.isnan(value) else float(value)


def clip(value, low=0.0, high=1.0):
    return min(max(value, low), high)


def anchor_of(scores, t, i, name):
    """(entailment, contradiction) of the deciding anchor at stage index i, or None."""
    candidates = []
    for anchor in ("top1", "consensus"):
        if name in ("both", anchor):
            triple = [float(x) for x in getattr(scores, anchor)[t, i]]
            if not math.isnan(triple[0]):
                candidates.append((triple[0], triple[2]))
    return min(candidates, key=lambda pair: pair[0]) if candidates else None


def sfv(scores, t, settings):
    out = []
    for i in range(scores.stages):
        found = anchor_of(scores, t, i, settings.anchor)
        if found is None:
            out.append(None)
        elif settings.map == "deficit":
            out.append(1 - found[0])
        elif settings.map == "hinge":
            out.append(max(0, settings.tau - found[0]) / settings.tau)
        else:
            out.append(1.0 if found[0] < settings.tau else 0.0)
    return out


def csct(scores, t, settings):
    field = {"previous": "previous", "first": "first", "running_mean": "mean"}[settings.reference]
    similarity = getattr(scores, f"similarity_{field}")[t]
    out = []
    for i in range(scores.stages):
        cosine = one(similarity[i])
        if not scores.present[t, i]:
            out.append(None)
        elif i == 0:
            out.append(0.0)
        elif cosine is None:
            out.append(None)
        elif settings.map == "raw":
            out.append(clip(1 - cosine))
        elif settings.map == "hinge":
            excess = max(0, 1 - cosine - settings.drift_threshold)
            out.append(clip(excess / (1 - settings.drift_threshold)))
        else:
            out.append(1.0 if 1 - cosine > settings.drift_threshold else 0.0)
    return out


def sigmoid(x):
    return math.exp(x) / (1 + math.exp(x))


def logit(p):
    return math.log(p) - math.log(1 - p)


def margin(value, limit, top, kind):
    if kind == "step":
        return 1.0 if value > limit else 0.0
    return clip((value - limit) / (top - limit)) if value > limit else 0.0


def contradiction_monitor(scores, t, settings, anchor):
    out = []
    for i in range(scores.stages):
        found = anchor_of(scores, t, i, "consensus" if i == 0 else anchor)
        out.append(None if found is None else margin(found[1], settings.tau_cpm, 1.0, settings.map))
    return out


def cpm(scores, t, settings, anchor="both"):
    raw = [one(x) for x in scores.confidence[t]]
    if settings.monitor == "contradiction" or all(x is None for x in raw):
        return contradiction_monitor(scores, t, settings, anchor)
    p = [None if x is None else sigmoid(logit(clip(x, 0.01, 0.99)) / settings.temperature) for x in raw]
    alpha, beta = settings.prior
    level, total, last, out = alpha / (alpha + beta), 0.0, None, []
    for x in p:
        if x is None:
            out.append(None)
            continue
        if settings.monitor == "beta":
            mu = alpha / (alpha + beta)
            out.append(margin(x - mu, settings.delta, 1 - mu, settings.map))
            alpha, beta = alpha + x, beta + 1 - x
        elif settings.monitor == "difference":
            out.append(0.0 if last is None else margin(x - last, settings.delta, 1 - last, settings.map))
            last = x
        elif settings.monitor == "ewma":
            out.append(margin(x - level, settings.delta, 1 - level, settings.map))
            level = settings.ewma_lambda * x + (1 - settings.ewma_lambda) * level
        else:
            total = max(0.0, total + x - level - settings.cusum_k)
            out.append(margin(total, settings.cusum_h, 2 * settings.cusum_h, settings.map))
    return out


def vote(signals, settings):
    """Eq. 1 at one stage."""
    names = ("sfv", "csct", "cpm")
    given = [
        (w, a)
        for n, w, a in zip(names, settings.weights, signals, strict=True)
        if n in settings.components and a is not None
    ]
    if not given:
        return None
    p = sum(w * a for w, a in given)
    return p / sum(w for w, _ in given) if settings.renormalise else p


def algorithm_1(stage_id, sfv_score, csct_score, cpm_score, theta=0.55):
    """The listing of the paper, line by line."""
    p = 0.4 * sfv_score + 0.4 * csct_score + 0.2 * cpm_score
    if p < theta:
        return False, None
    if stage_id <= 2:
        return True, "CRR"
    if sfv_score > 0.7 and csct_score > 0.7:
        return True, "PVA"
    if stage_id >= 4:
        return True, "PRR"
    return True, "SCT"


def as_numbers(rows):
    return [[math.nan if x is None else x for x in row] for row in rows]
