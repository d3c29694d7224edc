"""What is drawn equals the tables, on a synthetic release."""

import numpy as np
import pytest

from faultline.errors import DataError
from faultline.reporting import figure_style, figures_ths
from faultline.results import frame
from faultline.ths import released, score, tables
from faultline.ths.release import STAGES
from tests.ths import release_files

KPIS = release_files.kpis()


@pytest.fixture(scope="module")
def source():
    return frame(tables.compute(KPIS)), released.per_prompt(KPIS)


def heights(axes):
    return [[bar.get_height() for bar in group] for group in axes.containers if hasattr(group, "patches")]


def test_figure_six_draws_table_three(source):
    figure = figures_ths.figures(*source)["figure6"]()
    drawn = heights(figure.axes[0])
    for stage, bars in zip(STAGES, drawn, strict=True):
        assert bars == pytest.approx([KPIS[f"{stage}_{kpi}"].mean() for kpi in score.KPIS])


def test_figure_seven_ends_at_all_hits(source):
    figure = figures_ths.figures(*source)["figure7"]()
    running = figure.axes[0].lines[0].get_ydata()
    hits = KPIS[[f"{s}_cache_hit" for s in STAGES]].to_numpy()
    assert running[-1] == hits.sum()
    rate = figure.axes[1].lines[0].get_ydata()
    assert rate[-1] == pytest.approx(hits[-10:].mean())


def test_figure_eight_and_nine_draw_table_seven(source):
    rows, prompts = source
    by_name = rows.set_index(["metric", "system", "condition"])["value"]
    bars = figures_ths.figures(rows, prompts)["figure8"]().axes[1].patches
    change = np.mean([bar.get_height() for bar in bars])
    assert change == pytest.approx(by_name["ths_change", "Baseline", "step=first;subset=all"])
    drawn = heights(figures_ths.figures(rows, prompts)["figure9"]().axes[0])
    for stage, group in zip(STAGES, drawn, strict=True):
        expected = [by_name["ths_mean", name, f"stage={stage};subset=all"] for name in score.WEIGHTINGS]
        assert group == pytest.approx(expected)


@pytest.mark.parametrize(("number", "weighting"), figures_ths.DISTRIBUTIONS.items())
def test_distributions_draw_the_steps_and_every_prompt(source, number, weighting):
    rows, prompts = source
    by_name = rows.set_index(["metric", "system", "condition"])["value"]
    panels = figures_ths.figures(rows, prompts)[f"figure{number}"]().axes
    steps = [bar.get_height() for bar in panels[1].patches[1:3]]
    names = [("ths_change", weighting, f"step={s};subset=all") for s in ("first", "second")]
    assert steps == pytest.approx([by_name[name] for name in names])
    assert sum(bar.get_height() for bar in panels[2].patches) == len(prompts)
    assert panels[3].lines[0].get_xdata().tolist() == sorted(prompts[f"{weighting}_front"])


def test_tables_of_two_runs_are_refused(source):
    rows, prompts = source
    other = prompts.assign(Baseline_third=prompts["Baseline_third"] + 1)
    with pytest.raises(DataError, match="Baseline_third averages"):
        figures_ths.figures(rows, other)["figure8"]()
    fewer = prompts.assign(third_cache_hit=0)
    with pytest.raises(DataError, match="cache hits"):
        figures_ths.figures(rows, fewer)["figure7"]()
    with pytest.raises(DataError, match="no row table7/ths_mean"):
        figures_ths.figures(rows[rows["table"] != "table7"], prompts)["figure9"]()


def test_the_same_data_give_the_same_bytes(source, tmp_path):
    for name in ("a", "b"):
        with figure_style.style():
            written = figure_style.save(figures_ths.figures(*source)["figure9"](), tmp_path / name, "figure9")
        assert [p.suffix for p in written] == [".png", ".pdf"]
    for suffix in ("png", "pdf"):
        first, second = ((tmp_path / n / f"figure9.{suffix}").read_bytes() for n in ("a", "b"))
        assert first == second


def relative_luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_stages_differ_without_colour():
    assert len(set(figures_ths.LINES.values())) == 3
    assert len(set(figures_ths.HATCHES.values())) == 3
    shades = sorted(relative_luminance(c) for c in figures_ths.COLOURS.values())
    assert np.diff(shades).min() > 0.05
