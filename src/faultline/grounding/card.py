"""The model card: measured rows as tables between fixed texts."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from faultline.errors import DataError
from faultline.grounding.evaluate import BUCKET_NAMES

BEGIN, END = "<!-- measured -->", "<!-- /measured -->"

_COLUMNS = {"accuracy": "accuracy", "auc_entailment": "AUC", "ece": "ECE", "majority": "majority"}


def cell(row: pd.Series) -> str:
    """``.812 [.790, .832]``; a dash where a value is missing."""
    if pd.isna(row["value"]):
        return "-"
    value = f"{row['value']:.3f}".removeprefix("0")
    if pd.isna(row["low"]):
        return value
    low, high = (f"{row[end]:.3f}".removeprefix("0") for end in ("low", "high"))
    return f"{value} [{low}, {high}]"


def table(results: pd.DataFrame, length: str = "all") -> str:
    """A Markdown table, one line a set, for one premise-length bucket."""
    part = results[results["condition"] == f"premise_words={length}"]
    lines = ["| set | n | " + " | ".join(_COLUMNS.values()) + " |", "| --- " * (len(_COLUMNS) + 2) + "|"]
    for name, group in part.groupby("dataset", sort=False):
        by_metric = {row["metric"]: row for _, row in group.iterrows()}
        cells = [cell(by_metric[metric]) if metric in by_metric else "-" for metric in _COLUMNS]
        lines.append(f"| {name} | {int(group['n_total'].max())} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def single(results: pd.DataFrame, metric: str) -> str:
    """A Markdown list of one metric over all lengths, set by set."""
    part = results[(results["metric"] == metric) & results["condition"].isin(["premise_words=all", "all"])]
    return "\n".join(f"- {row['dataset']}: {cell(row)} (n = {row['n_total']})" for _, row in part.iterrows())


def by_length(results: pd.DataFrame) -> str:
    """AUC by premise length: one line a set, one column a bucket."""
    lengths = [name for name in BUCKET_NAMES if (results["condition"] == f"premise_words={name}").any()]
    lines = ["| set | " + " | ".join(lengths) + " |", "| --- " * (len(lengths) + 1) + "|"]
    part = results[results["metric"] == "auc_entailment"]
    for name, group in part.groupby("dataset", sort=False):
        found = {str(row["condition"]).partition("=")[2]: row for _, row in group.iterrows()}
        cells = [
            f"{cell(found[size])} ({found[size]['n_total']})" if size in found else "-" for size in lengths
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write_card(results: pd.DataFrame, folder: Path) -> None:
    """Replace the measured part of the model card, between its two marks.

    Raises:
        DataError: The card has no such part.
    """
    path = folder / "README.md"
    text = path.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise DataError(f"{path}: no {BEGIN} ... {END}; put both marks where the figures belong")
    path.write_text(before + BEGIN + "\n" + measured(results) + "\n" + END + after, encoding="utf-8")


def measured(results: pd.DataFrame) -> str:
    """The measured part of the card."""
    int8 = results[results["metric"].str.startswith("int8")]
    lines = [
        f"- {row['metric']}, {row['condition']}: {cell(row)} ({row['note']})" for _, row in int8.iterrows()
    ]
    parts = [
        "All premise lengths. Accuracy is three-class (entailment against the rest for wice, scitail and "
        "negation_rte); AUC is that of P(entailment) against the rest; ECE over 15 bins; 95 % intervals.",
        table(results),
        "FEVER-symmetric, forced choice between entailment and contradiction:",
        single(results, "two_way_accuracy"),
        "AUC of P(entailment), true texts against the same with one value replaced:",
        single(results, "auc_swapped_value"),
        "AUC by premise length in words (pairs in parentheses):",
        by_length(results),
        "int8 copy (dynamic quantisation) against fp32 at the threshold:",
        "\n".join(lines),
    ]
    return "\n\n".join(parts)


def learning_curve(path: Path, figure: Path) -> None:
    """Draw the held-out metrics of a training run over its steps.

    Raises:
        DataError: The run has no curve.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file; train before you evaluate")
    from matplotlib.figure import Figure

    curve = pd.read_csv(path)
    drawn = Figure(figsize=(6.0, 3.6), layout="constrained")
    axes = drawn.add_subplot()
    for name, label in (("accuracy", "accuracy, three-class"), ("auc", "AUC of entailment")):
        axes.plot(curve["step"], curve[name], marker="o", label=label)
    axes.set_xlabel("training step")
    axes.set_ylabel("held-out train-side pairs")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.parent.mkdir(parents=True, exist_ok=True)
    drawn.savefig(figure, dpi=150, metadata={"Software": None})
