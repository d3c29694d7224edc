"""What a CHARM run prints: its part of Table VI, and who was in it."""

from __future__ import annotations

import pandas as pd

COLUMNS = {
    "cdr_strict": "CDR strict",
    "cdr_windowed": "CDR windowed",
    "cdr_liberal": "CDR liberal",
    "cdd": "CDD",
}


def summary(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Tables to print, by title, from a results table."""
    main = table[(table["table"] == "VI") & ~table["condition"].str.contains("repeats=")]
    where = (
        f"{', '.join(sorted(set(table['dataset'])))}, backbone {', '.join(sorted(set(table['backbone'])))}"
    )
    models = f"{table['nli'].iloc[0]}, {table['embedder'].iloc[0]}"
    return {
        "Who was in it": _population(table[table["table"] == "population"]),
        f"Detection (paper 1, Table VI) on {where}; {models}": _detection(main),
    }


def _detection(main: pd.DataFrame) -> pd.DataFrame:
    rows = []
    injected = main[main["metric"] == "cdr_strict"]
    for record in injected.to_dict("records"):
        options = dict(part.split("=", 1) for part in str(record["condition"]).split(";"))
        same = main[(main["system"] == record["system"]) & (main["condition"] == record["condition"])]
        clean = "fault=none" + "".join(
            f";{key}={value}" for key, value in options.items() if key not in ("fault", "scope")
        )
        alarms = main[
            (main["system"] == record["system"]) & (main["condition"] == clean) & (main["metric"] == "fpr")
        ]
        row = {"system": record["system"], **options, "n": record["n_scored"]}
        for metric, title in COLUMNS.items():
            row[title] = _shown(same[same["metric"] == metric])
        rows.append({**row, "FPR": _shown(alarms), "n clean": int(alarms["n_scored"].sum())})
    return pd.DataFrame(rows)


def _population(rows: pd.DataFrame) -> pd.DataFrame:
    first = rows[rows["condition"] == rows["condition"].iloc[0]] if len(rows) else rows
    return pd.DataFrame(
        [
            {
                "questions": r["metric"],
                "n": r["n_scored"],
                "of": r["n_total"],
                "left out": r["note"].removeprefix("missing: "),
            }
            for r in first.to_dict("records")
        ]
    )


def _shown(rows: pd.DataFrame) -> str:
    """A value with its interval, percent for rates; the reason where there is none."""
    if len(rows) == 0:
        return "-"
    row = rows.iloc[0]
    if pd.isna(row["value"]):
        return "undefined" if not row["note"] else str(row["note"]).split("missing: ")[-1].split("=")[0]
    if row["unit"] == "rate":
        return f"{100 * row['value']:.1f} [{100 * row['low']:.1f}, {100 * row['high']:.1f}]"
    span = "" if pd.isna(row["low"]) else f" [{row['low']:.2f}, {row['high']:.2f}]"
    return f"{row['value']:.2f}{span}"
