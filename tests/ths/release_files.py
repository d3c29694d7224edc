"""A small release in the published layout: 310 prompts and 93 items with synthetic numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from faultline.ths import release

COLUMNS = list(release.KPI_COLUMNS)


def kpis(seed: int = 0) -> pd.DataFrame:
    """310 rows whose KPIs are multiples of .01."""
    rng = np.random.default_rng(seed)
    n = release.N_PROMPTS
    table = pd.DataFrame({"promptid": range(n), "subset": ["realistic"] * 217 + ["stress"] * 93})
    for stage in release.STAGES:
        for name in release.KPIS:
            table[f"{stage}_{name}"] = rng.integers(5, 96, n) / 100
        table[f"{stage}_cache_hit"] = rng.integers(0, 2, n)
        table[f"{stage}_len_words"] = rng.integers(14, 600, n)
        table[f"{stage}_sha256_12"] = [f"{stage}{k}" for k in rng.integers(0, 150, n)]
    table["evaluator_substituted"] = (np.arange(n) % 40 == 0).astype(int)
    return table[COLUMNS]


def judge(seed: int, failing: int = 0) -> pd.DataFrame:
    """930 rows; the last ``failing`` prompts have no scores and an ``outcome`` column says so."""
    rng = np.random.default_rng(seed)
    rows = [(p, s) for p in range(release.N_PROMPTS) for s in release.STAGES]
    table = pd.DataFrame(rows, columns=["promptid", "stage"])
    table = table.assign(judge="toy", digest="d" * 64, seed=1, num_ctx=64)
    if failing:
        table = table.assign(instrument="original", system_mode="original", forced_schema=0)
    for name in release.JUDGED:
        table[name] = rng.integers(0, 101, len(table)) / 100
    table = table.assign(clamped=0, approx_tokens=10, latency_s=0.1, attempts=1)
    if failing:
        lost = table["promptid"] >= release.N_PROMPTS - failing
        table.loc[lost, list(release.JUDGED)] = np.nan
        table["outcome"] = np.where(lost, "missing_keys", "ok")
    return table


def labels(seed: int = 0) -> pd.DataFrame:
    """93 items of the stress prompts, three coders, resolved by the median."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 5, (release.N_ITEMS, 3))
    table = pd.DataFrame({"item_id": [f"IT{i:04d}" for i in range(1, 94)], "promptid": range(217, 310)})
    table = table.assign(stage="ThirdLevelReviewer", is_fallback=False)
    for i, name in enumerate(release.CODERS):
        table[name] = codes[:, i]
    table["ECS"] = rng.integers(0, 101, len(table)) / 100
    table["final"] = np.median(codes, axis=1).astype(int)
    return table


def write(folder: Path) -> Path:
    """Write the whole release under ``folder`` and return the data directory."""
    home = folder / release.FOLDER
    home.mkdir()
    kpis().to_csv(home / "kpi_per_prompt.csv", index=False)
    for i, name in enumerate(release.JUDGE_FILES.values()):
        judge(i, failing=5 if "orig" in name else 0).to_csv(home / name, index=False)
    sheet = labels()
    sheet.to_csv(home / "REF3_scored.csv", index=False)
    for name in release.CODERS:
        coder = sheet[["item_id", name]].rename(columns={name: "REF"})
        coder.to_excel(home / f"labels_coder_{name}.xlsx", sheet_name="Annotation", index=False)
    return folder
