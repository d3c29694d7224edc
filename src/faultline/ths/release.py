"""The released measurements of paper 3, read strictly: an error names the file, the row and the column.

The layout is that of ``FAULTLINE_DATA_DIR/ths_release``: per-prompt KPIs, four judge files of 930 rows (310
prompts times three stages), three coders' labels, and the resolved sheet. The texts are withheld.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from faultline.annotation.agreement import CODES
from faultline.errors import DataError
from faultline.ths.score import KPIS

FOLDER = "ths_release"
STAGES = ("front", "second", "third")
SUBSETS = ("realistic", "stress")
JUDGED = KPIS[:4]
CODERS = ("A", "B", "C")
N_PROMPTS, N_ITEMS = 310, 93
JUDGE_FILES: Mapping[str, str] = {
    "l-spec": "judge_llama3_1_latest_930.csv",
    "g-spec": "judge_gemma4_12b_930.csv",
    "q-spec": "judge_qwen3_8b_930.csv",
    "g-orig": "judge_gemma4_12b_orig_930.csv",
}
"""Judge configuration to file; ``l-orig`` is the evaluator of ``kpi_per_prompt.csv`` itself."""

_STAGE_COLUMNS = (*KPIS, "cache_hit", "len_words", "sha256_12")
KPI_COLUMNS = (
    "promptid",
    "subset",
    *(f"{stage}_{name}" for stage in STAGES for name in _STAGE_COLUMNS),
    "evaluator_substituted",
)
_JUDGE_START = ("promptid", "stage", "judge", "digest", "seed", "num_ctx")
_JUDGE_END = (*JUDGED, "clamped", "approx_tokens", "latency_s", "attempts")
COMMON_COLUMNS = (*_JUDGE_START, *_JUDGE_END)
ORIGINAL_COLUMNS = (
    *_JUDGE_START,
    "instrument",
    "system_mode",
    "forced_schema",
    *_JUDGE_END,
    "outcome",
)
RESOLVED_COLUMNS = ("item_id", "promptid", "stage", "is_fallback", *CODERS, "ECS", "final")


@dataclass(frozen=True, slots=True)
class Release:
    """Everything that was released, checked.

    Attributes:
        kpis: 310 rows in prompt order, :data:`KPI_COLUMNS`.
        judges: Configuration to 930 rows, sorted by prompt and stage; KPIs are NaN where the judge failed.
        labels: 93 items: ``item_id``, ``promptid``, coders A, B, C, ``final``, ``ECS``.
    """

    kpis: pd.DataFrame
    judges: Mapping[str, pd.DataFrame]
    labels: pd.DataFrame


def load(data_dir: Path) -> Release:
    """Read and check every released file.

    Raises:
        DataError: A file, column, row or value that is not as documented; a coder file that disagrees with
            the resolved sheet; ids that do not match across files.
    """
    folder = data_dir / FOLDER
    if not folder.is_dir():
        raise DataError(f"{folder}: not there; run `python -m experiments.fetch {FOLDER}`")
    kpis = read_kpis(folder / "kpi_per_prompt.csv")
    judges = {name: read_judge(folder / file) for name, file in JUDGE_FILES.items()}
    resolved = folder / "REF3_scored.csv"
    labels = read_resolved(resolved)
    for coder in CODERS:
        _same_labels(labels, read_coder(folder / f"labels_coder_{coder}.xlsx"), coder, resolved)
    stress = set(kpis.loc[kpis["subset"] == "stress", "promptid"])
    if set(labels["promptid"]) != stress:
        raise DataError(f"{resolved}: column promptid is not the set of the {len(stress)} stress prompts")
    return Release(kpis, judges, labels)


def read_kpis(path: Path) -> pd.DataFrame:
    """The per-prompt KPIs, in prompt order.

    Raises:
        DataError: As for :func:`load`.
    """
    table = _columns(_csv(path), KPI_COLUMNS, path)
    _unique(table, ["promptid"], path)
    _ids(table["promptid"], N_PROMPTS, path)
    _among(table, "subset", SUBSETS, path)
    _between(table, [f"{s}_{k}" for s in STAGES for k in KPIS], 0.0, 1.0, path)
    for name in ("evaluator_substituted", *(f"{s}_cache_hit" for s in STAGES)):
        _among(table, name, (0, 1), path)
    return table.sort_values("promptid", ignore_index=True)


def read_judge(path: Path) -> pd.DataFrame:
    """One judge's scores, sorted by prompt and stage; NaN only where ``outcome`` is not ``ok``.

    Raises:
        DataError: As for :func:`load`.
    """
    table = _csv(path)
    has_outcome = "outcome" in table.columns
    table = _columns(table, ORIGINAL_COLUMNS if has_outcome else COMMON_COLUMNS, path)
    _among(table, "stage", STAGES, path)
    _unique(table, ["promptid", "stage"], path)
    _ids(table["promptid"], N_PROMPTS, path, each=len(STAGES))
    failed = table["outcome"] != "ok" if has_outcome else pd.Series(data=False, index=table.index)
    _between(table.loc[~failed], list(JUDGED), 0.0, 1.0, path)
    filled = table.loc[failed, list(JUDGED)].notna().any(axis=1)
    if bool(filled.any()):
        raise DataError(f"{path}: row {_line(filled)}: a failed reply has a KPI value; leave it empty")
    return table.sort_values(["promptid", "stage"], ignore_index=True)


def read_resolved(path: Path) -> pd.DataFrame:
    """The resolved annotation sheet, in item order.

    Raises:
        DataError: As for :func:`load`.
    """
    table = _columns(_csv(path), RESOLVED_COLUMNS, path)
    _unique(table, ["item_id"], path)
    _unique(table, ["promptid"], path)
    for name in (*CODERS, "final"):
        _among(table, name, CODES, path)
    _between(table, ["ECS"], 0.0, 1.0, path)
    if len(table) != N_ITEMS:
        raise DataError(f"{path}: {len(table)} rows, expected {N_ITEMS}")
    return table.sort_values("item_id", ignore_index=True)


def read_coder(path: Path) -> pd.DataFrame:
    """One coder's sheet (``Annotation``): ``item_id`` and the label ``REF``, in item order.

    Raises:
        DataError: No such sheet, or as for :func:`load`.
    """
    if not path.is_file():
        raise DataError(f"{path}: not there; run `python -m experiments.fetch {FOLDER}`")
    try:
        table = pd.read_excel(path, sheet_name="Annotation")
    except (ValueError, OSError, KeyError) as error:
        raise DataError(f"{path}: no readable sheet Annotation ({error}); is it a coder's file?") from error
    table = _columns(table, ("item_id", "REF"), path)
    _unique(table, ["item_id"], path)
    _among(table, "REF", CODES, path)
    return table.sort_values("item_id", ignore_index=True)


def stage_kpis(kpis: pd.DataFrame, stage: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """The five KPIs of a stage, shape (n, 5)."""
    return kpis[[f"{stage}_{name}" for name in KPIS]].to_numpy(dtype=np.float64)


def in_subset(kpis: pd.DataFrame, subset: str) -> pd.DataFrame:
    """The prompts of ``realistic``, ``stress``, or ``all`` of them."""
    return kpis if subset == "all" else kpis.loc[kpis["subset"] == subset]


def _same_labels(labels: pd.DataFrame, coder: pd.DataFrame, name: str, path: Path) -> None:
    if list(coder["item_id"]) != list(labels["item_id"]):
        raise DataError(
            f"labels_coder_{name}.xlsx: column item_id does not match {path.name}; is it another sheet?"
        )
    wrong = coder["REF"].to_numpy() != labels[name].to_numpy()
    if bool(wrong.any()):
        item = labels["item_id"].iloc[int(wrong.argmax())]
        raise DataError(
            f"labels_coder_{name}.xlsx: item {item}: REF differs from column {name} of {path.name}"
        )


def _csv(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise DataError(f"{path}: not there; run `python -m experiments.fetch {FOLDER}`")
    try:
        return pd.read_csv(path)
    except (ValueError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not a CSV table ({error}); fetch it again") from error


def _columns(table: pd.DataFrame, expected: Sequence[str], path: Path) -> pd.DataFrame:
    missing = [name for name in expected if name not in table.columns]
    extra = [str(name) for name in table.columns if name not in expected]
    if missing or extra:
        raise DataError(
            f"{path}: columns missing {missing}, unexpected {extra}; fetch the pinned revision again"
        )
    return table


def _unique(table: pd.DataFrame, keys: list[str], path: Path) -> None:
    twice = table.duplicated(subset=keys)
    if bool(twice.any()):
        raise DataError(f"{path}: row {_line(twice)}: {'/'.join(keys)} occurs twice; remove the copy")


def _ids(column: pd.Series, n: int, path: Path, each: int = 1) -> None:
    if sorted(column) != [i for i in range(n) for _ in range(each)]:
        raise DataError(f"{path}: column promptid is not 0..{n - 1}, {each} row(s) each ({len(column)} rows)")


def _among(table: pd.DataFrame, name: str, allowed: Sequence[object], path: Path) -> None:
    wrong = ~table[name].isin(list(allowed))
    if bool(wrong.any()):
        value = table.loc[wrong, name].iloc[0]
        raise DataError(
            f"{path}: row {_line(wrong)}: {name} is {_plain(value)!r}, expected one of {list(allowed)}"
        )


def _between(table: pd.DataFrame, names: list[str], low: float, high: float, path: Path) -> None:
    for name in names:
        numbers = pd.to_numeric(table[name], errors="coerce")
        wrong = ~numbers.between(low, high)
        if bool(wrong.any()):
            value = table.loc[wrong, name].iloc[0]
            expected = f"expected a number in [{low}, {high}]"
            raise DataError(f"{path}: row {_line(wrong)}: {name} is {_plain(value)!r}, {expected}")


def _line(flags: pd.Series) -> int:
    """Line in the file of the first flagged row: the header is line 1."""
    return int(flags.index[int(flags.to_numpy().argmax())]) + 2


def _plain(value: object) -> object:
    """A numpy scalar as Python prints it."""
    return value.item() if isinstance(value, np.generic) else value
