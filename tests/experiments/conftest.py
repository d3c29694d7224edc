"""Running the entry point as a user does: a process of its own, its output, its exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., subprocess.CompletedProcess[str]]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "experiments.run", *arguments]


def environment(**extra: str) -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", **extra}


@pytest.fixture
def run() -> Run:
    def call(*arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(*arguments),
            cwd=ROOT,
            env=environment(**extra),
            capture_output=True,
            text=True,
            timeout=600,
        )

    return call
