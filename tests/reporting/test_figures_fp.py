import pandas as pd
import pytest

from faultline import results
from faultline.errors import DataError
from faultline.reporting import figure_style, figures_fp
from faultline.results import Row


def row(table, metric, system, condition, value, n=10, unit="rate"):
    ends = (max(0.0, value - 0.1), min(1.0, value + 0.1)) if unit == "rate" else (None, None)
    names = ("fp", "fp_content", table, metric, system, "musique", condition, "reader", "", "", False)
    return Row(*names, value, *ends, unit, n, n, 0)


def study(where):
    rest = f"{where};{figures_fp.DEFAULT}"
    rows = []
    for system, per_depth in (("changepoint", 1.0), ("jaccard_gate", 0.25)):
        for at in (1, 2, 3):
            rows.append(row("accuracy", "exact_hop", system, f"depth={at};{rest}", per_depth / at))
            suffix = rest.replace(where, f"{where};suffix={at}")
            rows.append(row("suffix", "exact_hop", system, suffix, 0.5))
    for at in (1, 2, 3):
        for metric, value in (("resisted", 0.5), ("absorbed", 0.3), ("derailed", 0.2), ("recovery", 0.5)):
            rows.append(row("outcomes", metric, "all", f"depth={at};{rest}", value))
    return results.frame(rows)


def test_depth_curves_draw_the_rows_and_nothing_else():
    figure = figures_fp.depth_curves({"fp_content": study("family=content;scope=call")})
    (axes,) = figure.axes
    lines = {c.get_label(): c.lines[0] for c in axes.containers}
    drawn = [float(y) for y in lines["changepoint (ours)"].get_ydata()]
    assert drawn == pytest.approx([1, 1 / 2, 1 / 3])
    assert [t.get_text() for t in axes.get_xticklabels()] == ["1\nn=10", "2\nn=10", "3\nn=10"]
    assert set(lines) == {"changepoint (ours)", "coverage gate (paper)"}


def test_outcome_bars_stack_to_one():
    figure = figures_fp.outcomes({"fp_content": study("family=content;scope=call")})
    tops = [patch.get_y() + patch.get_height() for patch in figure.axes[0].patches]
    assert max(tops) == pytest.approx(1)
    assert len(figure.axes[0].patches) == 9


def test_cost_is_probes_and_placebos_and_versions_are_in_order_of_cost():
    where = "depth=2;family=content;scope=call;pool=question;noise=0.1;trust=1"
    rows = []
    for system, exact, probes, placebo in (
        ("changepoint_50", 0.6, 100, 30),
        ("changepoint_90", 0.9, 300, 30),
        ("suffix_regen_x1", 0.1, 90, 0),
        ("suffix_regen_random_x1", 0.3, 95, 0),
    ):
        rows.append(row("accuracy", "exact_hop", system, where, exact))
        rows.append(row("accuracy", "probe_tokens", system, where, probes, unit="tokens"))
        rows.append(row("accuracy", "placebo_tokens", system, where, placebo, unit="tokens"))
    figure = figures_fp.cost_accuracy(results.frame(rows))
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    assert list(lines["changepoint (ours)"].get_xdata()) == [130, 330]
    assert list(lines["changepoint (ours)"].get_ydata()) == [0.6, 0.9]
    assert list(lines["Suf-Regen (paper)"].get_xdata()) == [90]
    assert list(lines["Suf-Regen, random order"].get_xdata()) == [95]


def test_a_table_without_the_rows_says_what_to_run():
    other = study("family=content;scope=call")
    other["condition"] = other["condition"].str.replace("trust=1", "trust=0")
    with pytest.raises(DataError, match="no accuracy/exact_hop rows"):
        figures_fp.depth_curves({"fp_content": other})


def test_only_what_has_run_is_drawn():
    assert list(figures_fp.figures({})) == []
    drawn = figures_fp.figures({"fp_content": study("family=content;scope=call")})
    assert list(drawn) == ["depth_curves", "outcomes", "suffix_or_position"]


def test_the_same_rows_give_the_same_bytes(tmp_path):
    runs = {"fp_content": study("family=content;scope=call")}
    for folder in ("a", "b"):
        with figure_style.style():
            figure_style.save(figures_fp.figures(runs)["depth_curves"](), tmp_path / folder, "depth_curves")
    for kind in ("png", "pdf"):
        first, second = (tmp_path / f / f"depth_curves.{kind}" for f in ("a", "b"))
        assert first.read_bytes() == second.read_bytes()


def test_it_reads_runs_newest_first(tmp_path):
    from paper_figures import fp

    with pytest.raises(DataError, match="no finished run of fp_structural"):
        fp.load(tmp_path)
    home = tmp_path / "fp_content" / "k"
    home.mkdir(parents=True)
    results.write(study("family=content;scope=call"), home / "results.parquet")
    (home / "DONE").touch()
    source, wrong = fp.load(tmp_path)
    assert (list(source), wrong) == (["fp_content"], [])
    written = list(fp.make(source, tmp_path / "out", ["outcomes"]))
    assert [p.name for p in written] == ["outcomes.png", "outcomes.pdf"]
    assert isinstance(source["fp_content"], pd.DataFrame)
