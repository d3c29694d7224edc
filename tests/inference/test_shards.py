from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from faultline.errors import ConfigError, DataError
from faultline.inference.checkpoints import load_classifier
from faultline.inference.nli import NliScorer
from faultline.inference.shards import NamedPair, read_shards, write_shards
from tests.inference import tiny
from tests.inference.test_nli import RULE, some_pairs


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny.save(tmp_path_factory.mktemp("bert"), "bert")


@pytest.fixture(scope="module")
def scorer(folder):
    return NliScorer(load_classifier(tiny.resolved(folder)), token_budget=200, rule=RULE)


def named(count=30):
    base = some_pairs()
    return [NamedPair(f"p{n}", *base[n % len(base)]) for n in range(count)]


def files(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.glob("part-*"))}


def test_shards_hold_the_scores_by_id_in_order(scorer, tmp_path):
    pairs = named()
    assert write_shards(scorer, iter(pairs), tmp_path, 8) == 4
    table = read_shards(tmp_path)
    assert table["id"].to_pylist() == [pair.id for pair in pairs]
    expected = scorer.verify([(p.premise, p.hypothesis) for p in pairs])
    found = np.stack([table[name] for name in ("entailment", "neutral", "contradiction")], axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_stopped_run_goes_on_with_the_bytes_of_one_run(scorer, tmp_path):
    write_shards(scorer, named(), tmp_path / "whole", 8)

    def dies():
        yield from named()[:20]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_shards(scorer, dies(), tmp_path / "part", 8)
    assert len(files(tmp_path / "part")) == 2
    (tmp_path / "part" / "part-00001.parquet").write_bytes(b"PAR1 torn")
    assert write_shards(scorer, named(), tmp_path / "part", 8) == 3
    assert files(tmp_path / "part") == files(tmp_path / "whole")
    assert write_shards(scorer, named(), tmp_path / "part", 8) == 0


def test_other_pairs_or_fewer_leave_nothing_old(scorer, tmp_path):
    write_shards(scorer, named(), tmp_path, 8)
    other = [pair._replace(hypothesis="w1 w2 w3") if pair.id == "p1" else pair for pair in named(12)]
    assert write_shards(scorer, other, tmp_path, 8) == 2
    assert read_shards(tmp_path).num_rows == 12


RANK = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import torch, torch.distributed as dist
torch.set_num_threads(1)
from faultline.inference.checkpoints import load_classifier
from faultline.inference.nli import NliScorer
from faultline.inference.shards import write_shards
from tests.inference import test_shards, tiny
rank = int(sys.argv[4])
dist.init_process_group("gloo", init_method="file://" + sys.argv[3] + "/meet", rank=rank, world_size=2)
scorer = NliScorer(load_classifier(tiny.resolved(Path(sys.argv[2]))), token_budget=200, rule=test_shards.RULE)
done = torch.tensor([write_shards(
    scorer, test_shards.named(), Path(sys.argv[3]) / "two", 8, dist.get_rank(), dist.get_world_size()
)])
dist.all_reduce(done)
assert done.item() == 4, done
"""


@pytest.mark.slow
def test_two_gloo_processes_write_the_tables_of_one(scorer, folder, tmp_path):
    here = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", RANK, here, str(folder), str(tmp_path)]
    ranks = [subprocess.Popen([*command, str(rank)], stderr=subprocess.PIPE, text=True) for rank in range(2)]
    errors = [process.communicate()[1] for process in ranks]
    assert [process.returncode for process in ranks] == [0, 0], errors
    write_shards(scorer, named(), tmp_path / "one", 8)
    assert files(tmp_path / "two").keys() == files(tmp_path / "one").keys()
    assert read_shards(tmp_path / "two").equals(read_shards(tmp_path / "one"))


def test_bad_inputs_are_one_line(scorer, tmp_path):
    with pytest.raises(DataError, match="'p0' occurs twice"):
        write_shards(scorer, [*named(2), *named(1)], tmp_path / "a", 8)
    write_shards(scorer, [*named(2), *named(1)], tmp_path / "b", 2)
    with pytest.raises(DataError, match="'p0' occurs twice"):
        read_shards(tmp_path / "b")
    (tmp_path / "b" / "part-00000.parquet").unlink()
    with pytest.raises(DataError, match=r"part-00000\.parquet is missing"):
        read_shards(tmp_path / "b")
    with pytest.raises(DataError, match="no shards"):
        read_shards(tmp_path / "none")
    for wrong in ({"shard_pairs": 0}, {"rank": 2, "world": 2}):
        with pytest.raises(ConfigError, match="out of range"):
            write_shards(scorer, named(1), tmp_path / "c", **wrong)
    assert write_shards(scorer, [], tmp_path / "empty", 8) == 0
