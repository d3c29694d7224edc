import numpy as np
import pytest
from scipy.stats import spearmanr

from faultline.results import frame
from faultline.ths import coding, rejudged
from faultline.ths.release import Release

from . import release_files


@pytest.fixture(scope="module")
def release():
    judges = {name: release_files.judge(i) for i, name in enumerate(("l-spec", "g-spec", "q-spec"))}
    judges["g-orig"] = release_files.judge(9, failing=5)
    return Release(release_files.kpis(), judges, release_files.labels())


def test_table_8_against_scipy_and_missing_replies_are_counted(release):
    rows = frame(rejudged.compute(release)).set_index(["metric", "system", "condition"])
    at = "against=resolved;kpi=ECS;subset=stress"
    third = release.judges["q-spec"].query("stage == 'third'").set_index("promptid")["ECS"]
    reference = spearmanr(third.reindex(release.labels["promptid"]), release.labels["final"])
    assert rows.loc[("spearman", "q-spec", at), "value"] == pytest.approx(reference.statistic)
    failed = rows.loc[("spearman", "g-orig", at)]
    assert (failed["n_scored"], failed["n_missing"], failed["note"]) == (88, 5, "missing: parse_error=5")


def test_a_constant_judge_is_undefined(release):
    flat = release.judges["q-spec"].assign(FDF=0.0)
    changed = Release(release.kpis, {**release.judges, "q-spec": flat}, release.labels)
    rows = frame(rejudged.compute(changed)).set_index(["metric", "system", "condition"])
    found = rows.loc[("spearman", "q-spec", "against=resolved;kpi=FDF;subset=stress")]
    assert np.isnan(found["value"])
    assert found["note"] == "undefined: constant"


def test_table_9_is_the_mean_of_paired_differences(release):
    rows = frame(rejudged.compute(release)).set_index(["metric", "system", "condition"])["value"]
    wide = release.judges["l-spec"].pivot_table(index="promptid", columns="stage", values="FGR")
    stress = wide.loc[217:]
    found = rows[("judge_change", "l-spec", "kpi=FGR;step=total;subset=stress")]
    assert found == pytest.approx((stress["third"] - stress["front"]).mean())


def test_coding_counts_and_ties(release):
    rows = frame(coding.compute(release)).set_index(["metric", "system", "condition"])
    codes = release.labels[["A", "B", "C"]].to_numpy()
    ties = sum(len(set(row)) == 3 for row in codes)
    strict = rows.loc[("endorse_rate", "majority", "interval=wilson;subset=stress")]
    assert strict["n_missing"] == ties
    assert "worst case" in strict["note"]
    groups = [rows.loc[(f"{g}_count", "resolved", "subset=stress"), "value"] for g in coding.GROUPS]
    assert sum(groups) == len(codes)
