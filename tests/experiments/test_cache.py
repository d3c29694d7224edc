"""The cache verb."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from experiments.cache import main
from faultline.chat.messages import Message, Reply, Request
from faultline.chat.reply_cache import FILE, KEY_LENGTH, ReplyCache
from faultline.codec import key_of
from faultline.inference.cache import ScoreCache, namespace


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    cache = ReplyCache(tmp_path / "stores" / FILE)
    for number in range(3):
        asked = {"request": Request((Message("user", str(number)),))}
        cache.put(key_of(asked, KEY_LENGTH), f"m{number % 2}", asked, Reply("x"), replace=False)
    return tmp_path


def test_stats_verify_and_prune(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = ["--runs-dir", str(runs)]
    assert main(["stats", *place]) == 0
    assert "m1" in capsys.readouterr().out
    assert main(["verify", *place]) == 0
    assert main(["prune", *place]) == 2
    assert main(["prune", *place, "--model", "m0"]) == 0
    assert "2 replies deleted, 1 left" in capsys.readouterr().out


def test_verify_finds_damage(runs: Path) -> None:
    with sqlite3.connect(runs / "stores" / FILE) as connection:
        connection.execute("UPDATE replies SET reply = X'00' WHERE model = 'm1'")
    assert main(["verify", "--runs-dir", str(runs)]) == 1


def test_no_cache(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", "--runs-dir", str(tmp_path)]) == 2
    assert "no reply cache" in capsys.readouterr().err


def test_the_score_cache_has_the_same_verbs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = ["--scores", "--runs-dir", str(tmp_path)]
    assert main(["stats", *place]) == 2
    assert "no score cache" in capsys.readouterr().err
    cache = ScoreCache(tmp_path / "stores" / "scores.sqlite")
    for digest in "ab":
        space = namespace("nli", digest * 64, "fp32@cpu", "p" * 64)
        cache.put_many(space, {f"k{n}": np.ones(3, np.float32) for n in range(2)})
    assert main(["stats", *place]) == 0
    assert "nli/aaaaaaaaaaaa/fp32@cpu" in capsys.readouterr().out
    assert main(["verify", *place]) == 0
    assert main(["prune", *place]) == 2
    assert main(["prune", *place, "--max-mb", "-1"]) == 2
    capsys.readouterr()
    assert main(["prune", *place, "--model", "aaa"]) == 0
    assert "2 scores deleted, 2 left" in capsys.readouterr().out
    with sqlite3.connect(cache.path) as connection:
        connection.execute("UPDATE scores SET value = X'00' WHERE key = 'k1'")
    assert main(["verify", *place]) == 1
    assert "1 damaged" in capsys.readouterr().out
