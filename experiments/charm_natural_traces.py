"""Errors nobody injected: when does a wrong hop of a released ProbTree run make the next hop wrong?

No model is called: the nodes' answers are joined to MuSiQue's gold hop answers, where tree and plan align.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
from omegaconf import DictConfig

from experiments.charm_population import load_corpus
from experiments.charm_rows import Names, Sheet
from faultline.corpora.probtree import MUSIQUE, AnswerNode, AnswerTree, read_trees
from faultline.corpora.spans import mentions, normalise
from faultline.records import Gold, LoadedCorpus
from faultline.reporting.run_context import Outcome, RunContext, required_data_dir
from faultline.stats import Estimate, wilson

OPTIONS = frozenset({"corpora", "seed"})
BACKBONE = "probtree:released"
Matcher = Callable[[str, str], bool]
Pair = tuple[AnswerTree, Gold]


def exact(answer: str, gold: str) -> bool:
    """Equal after SQuAD normalisation."""
    return normalise(answer) == normalise(gold)


def named(answer: str, gold: str) -> bool:
    """One names the other, in whole words: released answers are longer than gold ones."""
    return mentions(answer, gold) or mentions(gold, answer)


MATCHERS: Mapping[str, Matcher] = {"exact": exact, "named": named}


def inputs(cfg: DictConfig) -> dict[str, Any]:
    """The data set and the released file."""
    released = (required_data_dir() / MUSIQUE).read_bytes()
    return {"corpus": load_corpus(cfg).digest, "released": hashlib.sha256(released).hexdigest()}


def plan(cfg: DictConfig) -> list[str]:
    """What a run would do."""
    return [f"join: {len(read_trees(required_data_dir() / MUSIQUE))} trees to the gold hops; no model"]


def run(cfg: DictConfig, context: RunContext) -> Outcome:
    """Join, count, and give intervals."""
    corpus = load_corpus(cfg)
    pairs, lost = joined(read_trees(required_data_dir() / MUSIQUE), corpus)
    sheet = Sheet(Names(context.experiment, corpus.name, BACKBONE, "", ""))
    size = Estimate(float(len(pairs)), None, None, len(pairs))
    sheet.add("natural_population", "aligned", "none", "fault=none", size, "count", lost)
    for name, same in MATCHERS.items():
        _rates(sheet, pairs, name, same)
    return Outcome(rows=sheet.rows, manifest={"data": {"name": corpus.name, "sha256": corpus.digest}})


def summary(table: pd.DataFrame) -> Mapping[str, pd.DataFrame]:
    """Every rate with its interval and counts."""
    rates = table[table["unit"] == "rate"]
    lines = [
        {
            "rate": r["metric"],
            "match": str(r["condition"]).partition("match=")[2],
            "value": "-"
            if pd.isna(r["value"])
            else f"{100 * r['value']:.1f} [{100 * r['low']:.1f}, {100 * r['high']:.1f}]",
            "n": r["n_scored"],
        }
        for r in rates.to_dict("records")
    ]
    size = table[table["metric"] == "aligned"].iloc[0]
    title = f"Errors of {BACKBONE} on {size['n_scored']} of {size['n_total']} trees ({size['note']})"
    return {title: pd.DataFrame(lines)}


def joined(trees: Sequence[AnswerTree], corpus: LoadedCorpus) -> tuple[list[Pair], Counter[str]]:
    """Trees with the gold plan of the same shape, and the others by reason.

    Aligned means: the question is in the data set, the tree is flat, it has one step a gold hop, and each
    step refers to the same earlier steps as its hop does. The wording of the steps is not compared.
    """
    by_question = {" ".join(task.question.lower().split()): task.id for task in corpus.tasks}
    pairs: list[Pair] = []
    lost: Counter[str] = Counter()
    for tree in trees:
        name = by_question.get(" ".join(tree.root.template.lower().split()))
        if name is None:
            lost["question_not_here"] += 1
        elif not tree.flat or not tree.steps:
            lost["nested"] += 1
        elif not _same_shape(tree, corpus.gold[name]):
            lost["other_plan"] += 1
        else:
            pairs.append((tree, corpus.gold[name]))
    return pairs, lost


def _same_shape(tree: AnswerTree, gold: Gold) -> bool:
    wanted = [set(hop.depends_on) for hop in gold.hops]
    return wanted == [{int(k) for k in re.findall(r"#(\d+)", node.template)} for node in tree.steps]


def _rates(sheet: Sheet, pairs: Sequence[Pair], name: str, same: Matcher) -> None:
    """How often a hop is wrong after a wrong one it depends on, and the answer after any wrong hop."""
    after: dict[bool, list[bool]] = {True: [], False: []}
    final: dict[bool, list[bool]] = {True: [], False: []}
    independent: list[bool] = []
    for tree, gold in pairs:
        wrong = [_wrong(node, (hop.answer,), same) for node, hop in zip(tree.steps, gold.hops, strict=True)]
        for hop, failed in zip(gold.hops, wrong, strict=True):
            if hop.depends_on:
                after[any(wrong[k - 1] for k in hop.depends_on)].append(failed)
            else:
                independent.append(failed)
        final[any(wrong[:-1])].append(_wrong(tree.root, gold.answers, same))
    for metric, found in (
        ("hop_wrong_without_dependence", independent),
        ("hop_wrong_after_wrong", after[True]),
        ("hop_wrong_after_right", after[False]),
        ("final_wrong_after_wrong", final[True]),
        ("final_wrong_after_right", final[False]),
    ):
        rate = wilson(sum(found), len(found))
        sheet.add("natural_propagation", metric, "none", f"fault=none;match={name}", rate)


def _wrong(node: AnswerNode, accepted: Sequence[str], same: Matcher) -> bool:
    """No answer is wrong too: it is not the gold one."""
    return node.answer is None or not any(same(node.answer, answer) for answer in accepted)
