"""Fixtures of all rooms: the real data where it is, and two small worlds."""

import os
from pathlib import Path

import pytest

from faultline.corpora.synthetic import Synthetic
from tests import small_corpus


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the real data sets."""
    named = os.environ.get("FAULTLINE_DATA_DIR")
    if not named:
        pytest.skip("FAULTLINE_DATA_DIR is not set: no real data")
    return Path(named)


@pytest.fixture(scope="session")
def small():
    """Three bridges and a comparison, written by hand."""
    return small_corpus.build()


@pytest.fixture(scope="session")
def synthetic():
    """A few questions of each shape of the synthetic world."""
    return Synthetic(0, {"2hop": 30, "comparison": 20, "3hop": 5}).load()
