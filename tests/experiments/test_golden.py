"""Trajectories of a few synthetic questions, by digest: output that changes without a new version fails."""

import hashlib
from functools import partial

from faultline.agents.five_stage import FiveStage
from faultline.agents.trajectories import Job, generate
from faultline.codec import encode
from faultline.corpora.synthetic import Synthetic
from faultline.faults.retrieval import RetrievalFault, SpanSwap
from faultline.policies.reader import ReaderSettings
from faultline.records import Prepared, State
from faultline.retrieval.bm25 import Bm25
from faultline.retrieval.environment import Environments
from faultline.store import AppendStore

VERSIONS = {"Synthetic": 1, "Bm25": 1, "FiveStage": 1, "ReaderSettings": 2, "RetrievalFault": 1}
GOLDEN = {
    "clean": "72726b66199bb89ed0011e91e9fa6d8afdbcff6f983a7bb4e6120b675f42a4c0",
    "call": "a14f21017d8116a245511b583352a96eb3fe3da20fb0abd8321fe84ce66dfc2e",
    "corpus": "7f2b78cce68ba202bdc7798c139df81e1e0ad04cd346166181e896311620c02e",
}


def digests(folder):
    corpus = Synthetic(0, {"2hop": 12, "comparison": 6, "3hop": 2}).load()
    environments, agent, policy = Environments(corpus, Bm25()), FiveStage(), ReaderSettings().build(corpus)
    found = {}
    for condition in GOLDEN:
        swap = None if condition == "clean" else SpanSwap(corpus, RetrievalFault(scope=condition))

        def prepare(task, swap=swap):
            clean = environments.clean(task)
            if swap is None:
                return Prepared(clean)
            return swap.prepare(task, clean, policy.act("query", State(task)).text, agent.top_k)

        store = AppendStore(folder / f"{condition}.jsonl")
        jobs = [Job(task, condition, 0, partial(prepare, task)) for task in corpus.tasks]
        generate(store, jobs, agent, policy, corpus.name)
        found[condition] = hashlib.sha256(encode(rounded(store.read()))).hexdigest()
    return found


def rounded(records):
    """Retrieval scores to 4 decimals: their last bits are the machine's."""
    for record in records.values():
        for stage in record.get("trajectory", {}).get("stages", ()):
            for hit in stage["hits"]:
                hit["score"] = round(hit["score"], 4)
    return records


def test_output_and_versions_change_together(tmp_path):
    parts = (Synthetic, Bm25, FiveStage, ReaderSettings(), RetrievalFault())
    versions = {getattr(p, "__name__", type(p).__name__): p.version for p in parts}
    told = f"versions {versions}: output changed: bump `version` of what changed it, then update the digest"
    assert digests(tmp_path) == GOLDEN, told
    assert versions == VERSIONS, "a new version: update VERSIONS and the digests"
