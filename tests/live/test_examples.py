"""The examples run offline as they stand in the documentation, and end as they say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("langgraph_reretrieve", ["unguarded: Founder of Arvenholm", "guarded:   The town", ", [])"]),
        ("langgraph_human", ["held:    Founder of Arvenholm", "answer:  Mira Tolk, by three", ", [])"]),
        ("llama_index_query", ["watched: Founder", "'CRR', 'CRR', 'SCT'", "guarded: The town of Arvenholm"]),
    ],
)
def test_an_example(name, expected, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(ROOT / "docs" / "examples" / f"{name}.py")],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    for text in expected:
        assert text in done.stdout, done.stdout
