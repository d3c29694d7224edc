"""Released runs of ProbTree (Cao et al. 2023): a question's tree with an answer at each node."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultline.errors import DataError

MUSIQUE = "traces/probtree/musique_roht_released_500.json.gz"


@dataclass(frozen=True, slots=True)
class AnswerNode:
    """One node.

    Attributes:
        template: Its question, ``#k`` standing for the answer of the k-th node (1-based) of its parent.
        question: As it was asked, with answers put in.
        answer: None where the system gave none, or said ``Unknown``.
        leaf: Whether it was not decomposed further.
    """

    template: str
    question: str
    answer: str | None
    leaf: bool


@dataclass(frozen=True, slots=True)
class AnswerTree:
    """One question: its nodes in the order they were answered, the root last."""

    nodes: tuple[AnswerNode, ...]

    @property
    def root(self) -> AnswerNode:
        """The question itself."""
        return self.nodes[-1]

    @property
    def steps(self) -> tuple[AnswerNode, ...]:
        """The nodes below the root."""
        return self.nodes[:-1]

    @property
    def flat(self) -> bool:
        """Whether every node below the root is a leaf, so that ``#k`` is the k-th step."""
        return all(node.leaf for node in self.steps)


def read_trees(path: Path) -> tuple[AnswerTree, ...]:
    """Every tree of a released file.

    Raises:
        DataError: The file is not there, is no JSON list, or a node lacks a field; the message names it.
    """
    if not path.is_file():
        raise DataError(f"{path}: not there; set FAULTLINE_DATA_DIR to the folder that holds traces/probtree")
    try:
        raw = json.loads(gzip.decompress(path.read_bytes()))
    except (OSError, EOFError, ValueError) as error:
        raise DataError(f"{path}: {error}; give the released gzipped JSON list") from error
    if not isinstance(raw, list):
        raise DataError(f"{path}: holds a {type(raw).__name__}; give the released list of trees")
    return tuple(_tree(nodes, f"{path}, tree {number}") for number, nodes in enumerate(raw))


def _tree(nodes: Any, where: str) -> AnswerTree:
    if not isinstance(nodes, list) or not nodes:
        raise DataError(f"{where}: not a list of nodes; give the released file")
    return AnswerTree(tuple(_node(node, f"{where}, node {place}") for place, node in enumerate(nodes)))


def _node(node: Any, where: str) -> AnswerNode:
    if not isinstance(node, Mapping):
        raise DataError(f"{where}: not an object; give the released file")
    for name in ("question_text", "sons"):
        if name not in node:
            raise DataError(f"{where}, field {name}: missing; give the released file")
    given = node.get("answer") or [None]
    said = None if given[0] is None else str(given[0]).strip()
    known = said if said and said.rstrip(".").lower() != "unknown" else None
    template = str(node["question_text"]).strip()
    return AnswerNode(template, str(node.get("question", template)), known, not node["sons"])
