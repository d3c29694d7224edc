"""Frozen records that pass between the rooms, and the Protocols that the rooms meet through.

A :class:`Task` is all that agents, policies and detectors see. :class:`Gold`, a record of its own, goes to
metrics, faults, the reader, and whatever declares ``needs_gold``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from faultline.errors import Missing

StageKind = Literal["retrieval", "reasoning", "tool_call", "synthesis"]
ActionKind = Literal["query", "read", "reason", "conclude"]
Scope = Literal["call", "corpus", "context"]
ConfidenceSource = Literal["logprobs", "stated", "none"]


@dataclass(frozen=True, slots=True)
class Passage:
    """One paragraph of a corpus.

    Attributes:
        id: Stable within the corpus (a title is not a key: titles repeat).
        title: May be empty.
        sentences: With their own leading spaces; blank sentences are kept, since annotations count them.
    """

    id: str
    title: str
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """The sentences joined as they stand."""
        return "".join(self.sentences)

    @property
    def rendered(self) -> str:
        """What an agent shows and a verifier reads: title and text."""
        return f"{self.title}: {self.text}" if self.title else self.text

    @property
    def content_hash(self) -> str:
        """A digest of title and text: near-copies under one id differ in it."""
        return hashlib.sha256("\x1f".join((self.title, *self.sentences)).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Task:
    """What the system under test is asked.

    Attributes:
        id: Stable id, unique in the data set.
        question: The question as published.
        corpus_ref: Name of the pool that the question is asked against (a key of ``LoadedCorpus.pools``).
        plan: Sub-questions that were published WITH the question, if any (not an annotation: those are gold).
    """

    id: str
    question: str
    corpus_ref: str
    plan: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hop:
    """One step of the annotated reasoning (gold).

    Attributes:
        query: The sub-question or relation; ``#k`` stands for what was read at hop k (1-based).
        entity: What the passage must be about, ``#k`` allowed; empty if unknown.
        passage_id: The supporting passage, or None where the annotation names none.
        answer: The annotated answer of the hop.
        span: Where the answer stands in ``Passage.text`` of the supporting passage (start, end), or None.
        kind: Coarse type of the answer (person, place, date, number, ...), for donors of the same kind.
        depends_on: 1-based hops whose values this hop's query needs.
    """

    query: str
    entity: str
    passage_id: str | None
    answer: str
    span: tuple[int, int] | None
    kind: str = "entity"
    depends_on: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Gold:
    """The annotation of a task: scores, makes faults, guides the reader.

    Attributes:
        task_id: The task.
        answers: Accepted answers, the first being the canonical one.
        hops: The annotated reasoning, in order; empty where the data set has none.
        support: Ids of the supporting passages.
        question_type: The data set's own type (bridge, comparison, 3hop1, ...).
        answer_hop: 1-based hop whose value answers the question; None if no span answers it (yes/no).
    """

    task_id: str
    answers: tuple[str, ...]
    hops: tuple[Hop, ...]
    support: tuple[str, ...]
    question_type: str
    answer_hop: int | None = None


@dataclass(frozen=True, slots=True)
class LoadedCorpus:
    """A data set, whole. ``limit`` and ``seed`` select tasks later; they never change the pool.

    Attributes:
        name: The data set.
        version: Of the loader; bumped when its output changes.
        tasks: In a fixed order.
        gold: By task id.
        passages: By passage id.
        pools: Pool name to its passage ids.
        digest: Content hash of tasks, gold, passages and pools.
        skipped: Records that could not be used, counted by reason.
    """

    name: str
    version: int
    tasks: tuple[Task, ...]
    gold: Mapping[str, Gold]
    passages: Mapping[str, Passage]
    pools: Mapping[str, tuple[str, ...]]
    digest: str
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hit:
    """One retrieved passage: ``rank`` counts from 1, ``score`` is the retriever's own (higher is better)."""

    passage: Passage
    score: float
    rank: int


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement, exact: ``where`` names the field; offsets are those in the text before the edit."""

    where: str
    start: int
    end: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a fault did, exactly enough to undo it.

    Attributes:
        fault: Name of the fault (``retrieval``, ...).
        cascade_type: CHARM's type (retrieval, inference, poisoning, inflation).
        scope: Where it lives (this call, the corpus, a stage's context).
        stage: 1-based stage at which it enters.
        target: Id of the passage or text that was edited.
        edits: The replacements.
        generator: Which generator made it, with its version.
        donor: Id of the example that lent the replacement, if one did.
        search: What a search for the edit took and reached (candidates tried, cosine, rank), by name.
    """

    fault: str
    cascade_type: str
    scope: Scope
    stage: int
    target: str
    edits: tuple[Edit, ...]
    generator: str
    donor: str | None = None
    search: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Action:
    """What a policy does: a query, a reading, a reasoning note or a conclusion.

    Attributes:
        text: The words that go on the record.
        answer: The value that was read or concluded, None if there is none.
        confidence: In [0, 1], None if the policy states none.
        token_logprobs: Of the generated tokens, empty if the backbone gives none.
        missing: Why there is no answer.
        source: Content hash of the passage that was read, if one was.
    """

    kind: ActionKind
    text: str
    answer: str | None = None
    confidence: float | None = None
    token_logprobs: tuple[float, ...] = ()
    missing: Missing | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class State:
    """What a policy sees when it acts.

    Attributes:
        task: What was asked.
        evidence: By retrieval so far, oldest first: the hits of each call.
        thoughts: The texts of the stages so far.
        notes: What was read at each hop so far (None where nothing could be read).
        hints: Assertions in the context (a misleading cue, a false premise), each naming a value for a hop.
        hop: 1-based hop at hand.
        query: The query of the retrieval at hand.
        sample: Sample index (0 for the first).
    """

    task: Task
    evidence: tuple[tuple[Hit, ...], ...] = ()
    thoughts: tuple[str, ...] = ()
    notes: tuple[str | None, ...] = ()
    hints: tuple[Hint, ...] = ()
    hop: int = 1
    query: str = ""
    sample: int = 0

    @property
    def question(self) -> str:
        """The question of the task."""
        return self.task.question


@dataclass(frozen=True, slots=True)
class Hint:
    """An assertion in a stage's context: ``text`` as written, ``value`` what it asserts for ``hop``."""

    text: str
    value: str
    hop: int


@dataclass(frozen=True, slots=True)
class Stage:
    """One finished stage of a trajectory.

    Attributes:
        index: 1-based.
        text: The stage output, the hypothesis of the checks.
        query: What was searched for, in stages that retrieve.
        hits: What came back, best first.
        answer: The value that the stage read or concluded.
        confidence: Stated or derived confidence in [0, 1].
        missing: Why the stage has no value.
    """

    index: int
    kind: StageKind
    text: str
    query: str = ""
    hits: tuple[Hit, ...] = ()
    answer: str | None = None
    confidence: float | None = None
    confidence_source: ConfidenceSource = "none"
    token_logprobs: tuple[float, ...] = ()
    missing: Missing | None = None


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One finished run of an agent on a task.

    Attributes:
        id: ``dataset/task/condition/sample``; stable.
        condition: What was done to it, ``clean`` or the fault's condition.
        answer: The final answer, None with ``missing`` saying why.
        backbone: Who acted.
        certificate: The injected fault, None for a clean run.
    """

    id: str
    dataset: str
    task_id: str
    condition: str
    sample: int
    question: str
    stages: tuple[Stage, ...]
    answer: str | None
    backbone: str
    missing: Missing | None = None
    certificate: Certificate | None = None


class Corpus(Protocol):
    """A data set that can be loaded."""

    name: str
    version: int

    def load(self) -> LoadedCorpus:
        """Read everything, or stop with an error that names the file, record and field."""
        ...


class Retriever(Protocol):
    """Ranks the passages of one pool."""

    def search(self, query: str, k: int) -> tuple[Hit, ...]:
        """The k best passages, best first; ties by passage id, so that the order is total."""
        ...

    def replaced(self, passage: Passage) -> Retriever:
        """The same pool with one passage (by id) replaced: the index itself is corrupted, this one is not."""
        ...

    def added(self, passage: Passage) -> Retriever:
        """The same pool with one passage more: a poisoned index, this one is not."""
        ...


class Environment(Protocol):
    """What an agent calls. Faults wrap it."""

    def search(self, query: str, k: int, stage: int) -> tuple[Hit, ...]:
        """Retrieve for a stage (1-based)."""
        ...

    def hints(self, stage: int) -> tuple[Hint, ...]:
        """Assertions that stand in the context of a stage."""
        ...


@dataclass(frozen=True, slots=True)
class Prepared:
    """A task ready to run.

    Attributes:
        environment: What the agent calls.
        certificate: Of the fault in it, None if it is clean.
        met: Whether the finished stages met the fault: an agent that chooses its own searches may pass it by.
            None where it cannot be missed.
        policy: Who acts in place of the run's policy, where the fault sits between a stage and the next.
    """

    environment: Environment
    certificate: Certificate | None = None
    met: Callable[[tuple[Stage, ...]], bool] | None = None
    policy: Policy | None = None


class Policy(Protocol):
    """Who acts."""

    backbone: str

    def act(self, kind: ActionKind, state: State) -> Action:
        """One action, from what the state shows."""
        ...


class Agent(Protocol):
    """Runs a task to its end."""

    def run(
        self, task: Task, environment: Environment, policy: Policy, *, sample: int = 0
    ) -> tuple[Stage, ...]:
        """The stages of one trajectory."""
        ...


class Embedder(Protocol):
    """Maps texts to unit vectors."""

    digest: str

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Rows of unit length, shape (n, d)."""
        ...


class Verifier(Protocol):
    """Judges a claim by evidence."""

    digest: str

    def verify(self, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.float64]:
        """(evidence, claim) pairs to probabilities, shape (n, 3): entailment, neutral, contradiction."""
        ...


def describe(component: Any) -> dict[str, Any]:
    """The part of a component that its products depend on: class, version and public settings."""
    if is_dataclass(component) and not isinstance(component, type):
        settings = asdict(component)
    else:
        settings = {k: v for k, v in vars(component).items() if not k.startswith("_")}
    return {"class": type(component).__name__, "version": getattr(component, "version", 0), **settings}
