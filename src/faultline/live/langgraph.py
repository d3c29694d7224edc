"""CHARM around the nodes of any LangGraph graph: ``graph.add_node("search", guarded(search, watch, ...))``.

The guard of a thread is kept in this process (the agent middleware keeps it in the graph's state instead).
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import get_runtime
from langgraph.types import interrupt

from faultline.charm.routing import HUMAN
from faultline.charm.verdict import Verdict
from faultline.live.human import Checkpoint, Decision, decided, remember
from faultline.live.human import question as human_question
from faultline.live.langchain import has_checkpointer, thread_id
from faultline.live.watch import Seen, Watch
from faultline.records import Hit, Passage, Stage, StageKind

Node = Callable[..., Any]
Change = Callable[[Any, Verdict], Any]
"""(state, verdict) to the state that the node runs on again."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Where a stage stands in a node's update.

    Attributes:
        kind: Of the stage.
        text: Key of the update that holds the stage text; a retrieval may leave it empty (top-1 passage).
        passages: Key of the update that holds what was retrieved: Passages, LangChain documents or texts.
        query: Key of the state that holds the query.
        confidence: Key of the update that holds a confidence from log-probabilities.
    """

    kind: StageKind
    text: str = ""
    passages: str = ""
    query: str = ""
    confidence: str = ""

    def stage(self, state: Any, update: Any) -> Stage:
        """The stage that a node finished."""
        found = _get(update, self.passages) if self.passages else None
        hits = _hits(found if isinstance(found, Sequence) and not isinstance(found, str) else [])
        text = _get(update, self.text) if self.text else (hits[0].passage.rendered if hits else "")
        sure = _get(update, self.confidence) if self.confidence else None
        known = isinstance(sure, int | float) and 0.0 <= sure <= 1.0
        return Stage(
            0,
            self.kind,
            "" if text is None else str(text),
            query=str(_get(state, self.query) or "") if self.query else "",
            hits=hits,
            confidence=float(sure) if known and sure is not None else None,
            confidence_source="logprobs" if known else "none",
        )


def guarded(
    node: Node,
    watch: Watch,
    reading: Reading,
    *,
    begins: bool = False,
    again: Change | None = None,
    retries: int = 1,
    checkpoint: Checkpoint | None = None,
    verdict_key: str = "",
) -> Node:
    """A node that is judged when it is finished.

    A flag that is not for a person runs the node again on a changed state (CRR), if ``again`` is given; a
    high-confidence one interrupts the graph. A rejected text is replaced by the checkpoint's safe answer, and
    so is the text of a node that cannot be judged under ``fail_closed``, unless a person says otherwise.

    The stages of a thread make one trajectory. A graph that is run anew without a checkpointer forgets the
    stages of the steps that run again; one that is sent back, with :func:`rollback_config`. Runs side by side
    need thread ids.

    Args:
        node: A node of a graph, synchronous or not; the wrapper is as it is.
        watch: Guards, failure policy, audit log.
        reading: Where the stage stands.
        begins: The node begins a question: the thread's trajectory is opened anew. Give it to the first
            guarded node of a graph whose threads hold several questions.
        again: Changes the state for a second run, None for none.
        retries: Runs after the first at most.
        checkpoint: How a person is asked, None for never: then flags only leave a mark.
        verdict_key: Key of the state that receives the verdict as JSON, empty for none.
    """
    judge = _Judge(watch, reading, begins, again, retries, checkpoint, verdict_key)

    @functools.wraps(node)
    def run(state: Any, *arguments: Any, **named: Any) -> Any:
        steps = judge.steps(state)
        asked = next(steps, None)
        while isinstance(asked, _Run):
            try:
                update = node(asked.state, *arguments, **named)
            except Exception:
                if asked.first:
                    raise
                update = _BROKE
            asked = steps.send(update)
        return asked

    @functools.wraps(node)
    async def arun(state: Any, *arguments: Any, **named: Any) -> Any:
        steps = judge.steps(state)
        asked = await asyncio.to_thread(next, steps, None)
        while isinstance(asked, _Run):
            try:
                update = await node(asked.state, *arguments, **named)
            except Exception:
                if asked.first:
                    raise
                update = _BROKE
            asked = await asyncio.to_thread(steps.send, update)
        return asked

    return arun if inspect.iscoroutinefunction(node) else run


@dataclass(frozen=True, slots=True)
class _Run:
    """The node is to run on this state; its own error counts only the first time."""

    state: Any
    first: bool = False


_BROKE = object()
"""What stands for the update of a second run that failed: the first one is kept."""


@dataclass
class _Judge:
    """What happens around one node; a generator that asks for runs of the node and ends with the update."""

    watch: Watch
    reading: Reading
    begins: bool
    again: Change | None
    retries: int
    checkpoint: Checkpoint | None
    verdict_key: str
    waiting: dict[str, tuple[Any, Seen, dict[str, Any]]] = field(default_factory=dict)

    def steps(self, state: Any) -> Generator[Any, Any, None]:
        """Yields :class:`_Run` for each run of the node, then the update."""
        thread = thread_id()
        kept = self.waiting.get(thread)
        # Resumed: neither the node nor the judgement runs again.
        update = kept[0] if kept else (yield _Run(state, first=True))
        seen = kept[1] if kept else None
        try:
            if seen is None:
                self._begin(thread)
                seen = self.watch.observe(thread, self.reading.stage(state, update))
                for _ in range(self.retries if self.again is not None else 0):
                    if seen.verdict is None or not seen.verdict.flagged or seen.verdict.human:
                        break
                    assert self.again is not None
                    other = yield _Run(self.again(state, seen.verdict))
                    if other is _BROKE:
                        self.watch.failed(thread, "retry")
                        break
                    update, seen = other, self._second(thread, state, other, seen.verdict)
            update = self._settled(thread, update, seen, kept[2] if kept else {})
        except GraphBubbleUp:  # the interrupt itself
            raise
        except Exception as error:  # noqa: BLE001 - the node did its work: the monitor must not break it
            if self.watch.failed(thread, type(error).__name__):
                update = _applied(update, self.reading.text, Decision("reject"), self.checkpoint)
        yield update

    def _begin(self, thread: str) -> None:
        if self.begins:
            self.watch.close(thread)
        step = graph_step()
        if step is not None:
            self.watch.rewind(thread, *step)

    def _second(self, thread: str, state: Any, update: Any, verdict: Verdict) -> Seen:
        self.watch.note("mitigation", thread, {"stage": verdict.stage, "mitigation": "retry"})
        self.watch.guard(thread).rollback(verdict.stage - 1)
        return self.watch.observe(thread, self.reading.stage(state, update))

    def _settled(self, thread: str, update: Any, seen: Seen, asked: dict[str, Any]) -> Any:
        """The update after a person's decision, with the verdict beside it."""
        if seen.action == HUMAN and self.checkpoint is not None:
            stages = self.watch.guard(thread).stages
            asked = asked or human_question(self.checkpoint, thread, seen, stages)
            remember(self.waiting, thread, (update, seen, asked))
            decision = _decision(self.checkpoint, asked)
            self.waiting.pop(thread, None)
            fields = {"decision": decision.kind, "by": decision.by, "reason": decision.why}
            self.watch.note("human", thread, fields, {"edit": decision.text})
            update = _applied(update, self.reading.text, decision, self.checkpoint)
        elif seen.held:
            update = _applied(update, self.reading.text, Decision("reject"), self.checkpoint)
        if self.verdict_key and isinstance(update, Mapping):
            told = None if seen.verdict is None else seen.verdict.record()
            return {**update, self.verdict_key: told}
        return update


def graph_step() -> tuple[int, str] | None:
    """Number and checkpoint of the running step of a graph; None in a subgraph, which counts for itself."""
    config = get_config()
    told, configurable = config.get("metadata", {}), config.get("configurable", {})
    step, place = told.get("langgraph_step"), str(told.get("langgraph_checkpoint_ns", ""))
    if not isinstance(step, int) or "|" in place:
        return None
    info = getattr(get_runtime(), "execution_info", None)  # not in every release
    name = "" if info is None else info.checkpoint_id
    return step, str(name or configurable.get("checkpoint_id") or "")


def _decision(checkpoint: Checkpoint, asked: Mapping[str, Any]) -> Decision:
    if not has_checkpointer():
        return Decision(checkpoint.default, by="default", why="no_checkpointer")
    return decided(checkpoint, asked, interrupt(dict(asked)))


def _applied(update: Any, key: str, decision: Decision, checkpoint: Checkpoint | None) -> Any:
    checkpoint = checkpoint or Checkpoint()
    if decision.kind == "approve" or not key or not isinstance(update, Mapping):
        return update
    return {**update, key: decision.text if decision.kind == "edit" else checkpoint.safe_answer}


def rollback_config(
    graph: Any, config: Mapping[str, Any], steps: int, watch: Watch | None = None
) -> dict[str, Any]:
    """PRR through the checkpointer: the configuration from which the graph runs again.

    Args:
        graph: A compiled graph with a checkpointer.
        config: With the thread's id.
        steps: How many checkpoints to go back, at least 1.
        watch: Of the graph's guarded nodes: forgets the stages that run again.

    Returns:
        For ``graph.invoke(None, config)``; the history after that checkpoint stays readable.

    Raises:
        IndexError: The thread has fewer checkpoints.
    """
    history = list(graph.get_state_history(dict(config)))
    if watch is not None:
        step = int(dict(history[steps].metadata or {}).get("step", 0))
        watch.rewind(str(dict(config)["configurable"]["thread_id"]), step + 1, "rollback")
    return dict(history[steps].config)


def expire(graph: Any, config: Mapping[str, Any], now: float) -> bool:
    """Resume an interrupted graph with the safe default once its time is over.

    Args:
        graph: A compiled graph with a checkpointer.
        config: With the thread's id.
        now: Unix time.

    Returns:
        Whether a checkpoint had expired.
    """
    from langgraph.types import Command

    from faultline.live.human import KIND

    tasks = graph.get_state(dict(config)).tasks
    asked = [i.value for task in tasks for i in task.interrupts]
    late = [a for a in asked if isinstance(a, Mapping) and a.get("kind") == KIND and now > a["deadline"]]
    if late:
        graph.invoke(Command(resume={"decision": str(late[0]["default"])}), dict(config))
    return bool(late)


def _hits(found: Sequence[Any]) -> tuple[Hit, ...]:
    made = []
    for rank, item in enumerate(found, start=1):
        if isinstance(item, Hit):
            passage = item.passage
        elif isinstance(item, Passage):
            passage = item
        else:
            passage = Passage(str(rank), "", (str(getattr(item, "page_content", item)),))
        made.append(Hit(passage, float(-rank), rank))
    return tuple(made)


def _get(holder: Any, key: str) -> Any:
    return holder.get(key) if isinstance(holder, Mapping) else getattr(holder, key, None)
