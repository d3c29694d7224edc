"""A finished run whose every text tries to become markup, code or a path."""

from __future__ import annotations

from pathlib import Path

import orjson
import pandas as pd

from faultline import results
from faultline.records import Certificate, Edit, Hit, Passage, Stage, Trajectory
from faultline.results import Row
from faultline.store import AppendStore

HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\">",
    "</script><script>document.title='owned'</script>",
    "<svg/onload=document.title='owned'>",
    "');document.title='owned';//",
    "{{ 7*7 }}{% raw %}\u2028\u2029\u202e`${document.title='owned'}`",
    "<a href=\"javascript:document.title='owned'\">click</a><style>*{display:none}</style>",
    "=cmd|' /C calc'!A0",
)


def text(number: int) -> str:
    return HOSTILE[number % len(HOSTILE)]


def trajectory(number: int) -> Trajectory:
    passage = Passage(
        f"__proto__{text(number)}", f"{text(number + 1)} Berlin", (" ", f"In Berlin. {text(number)}")
    )
    before = Edit("title", len(text(number + 1)) + 1, len(text(number + 1)) + 6, "Paris", "Berlin")
    edited = Edit("sentences[1]", 3, 8, "Paris", "Berlin")
    fault = Certificate(text(3), "retrieval", "call", 1, passage.id, (before, edited), text(4), text(5))
    stages = (
        Stage(
            1, "retrieval", text(number), query=text(number + 2), hits=(Hit(passage, 1.5, 1),), answer=text(1)
        ),
        Stage(2, "synthesis", text(number + 3), answer=text(number)),
    )
    injected = number % 2 == 1
    return Trajectory(
        id=f"{text(0)}/{number}",
        dataset=text(1) if number % 3 else "plain",
        task_id=f"q{number // 2}",
        condition="fault=x" if injected else "clean",
        sample=0,
        question=f"{number}: {text(number)}",
        stages=stages,
        answer=text(number + 1),
        backbone=text(2),
        certificate=fault if injected else None,
    )


def build(root: Path, count: int) -> Path:
    """``runs/charm_eval/key`` with ``count`` trajectories and no signals; returns the run's folder."""
    home = root / "charm_demo" / "0123456789abcdef"
    home.mkdir(parents=True)
    store = AppendStore(root / "stores" / "trajectories" / "hostile.jsonl")
    made = [trajectory(number) for number in range(count)]
    store.append([(t.id, {"trajectory": t}) for t in made])
    row = Row(
        *("charm", "charm_demo", "VI", "cdr_strict", "charm", text(0), f"fault={text(1)};scope=call"),
        *(text(2), text(3), text(4), False, 0.5, 0.4, 0.6, "rate", count, count, 0, text(5)),
    )
    results.write(results.frame([row]), home / "results.parquet")
    outcomes = [
        {"trajectory_id": t.id, "correct": False, "answers": orjson.dumps(HOSTILE).decode()} for t in made
    ]
    pd.DataFrame(outcomes).to_parquet(home / "outcomes.parquet")
    chain = [
        {"trajectory_id": made[1].id, "position": n, "from": text(n), "to": text(n + 1), "text": text(n + 2)}
        for n in (1, 0)
    ]
    pd.DataFrame(chain).assign(note=None, raw=text(3)).to_parquet(home / "envelopes.parquet")
    manifest = {"stores": ["trajectories/hostile.jsonl"], "note": HOSTILE, "cost": {"usd": 0.0, "calls": 0}}
    (home / "manifest.json").write_bytes(orjson.dumps(manifest))
    (home / "config.yaml").write_text(f"experiment: charm_eval\nnote: {orjson.dumps(text(1)).decode()}\n")
    (home / "timings.json").write_text('{"total_s": 1.5}')
    (home / "DONE").touch()
    return home
