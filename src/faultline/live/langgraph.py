"""CHARM around the nodes of any LangGraph graph: ``graph.add_node("search", guarded(search, watch, ...))``.

The guard of a thread is kept in this process (the agent middleware keeps it in the graph's state instead).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.types import interrupt

from faultline.charm.verdict import Verdict
from faultline.live.human import Checkpoint, Decision, decided
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
    again: Change | None = None,
    retries: int = 1,
    checkpoint: Checkpoint | None = None,
    verdict_key: str = "",
) -> Node:
    """A node that is judged when it is finished.

    A flag that is not for a person runs the node again on a changed state (CRR), if ``again`` is given; a
    high-confidence one interrupts the graph. A rejected text is replaced by the checkpoint's safe answer.

    Args:
        node: A synchronous node of a graph.
        watch: Guards, failure policy, audit log.
        reading: Where the stage stands.
        again: Changes the state for a second run, None for none.
        retries: Runs after the first at most.
        checkpoint: How a person is asked, None for never: then flags only leave a mark.
        verdict_key: Key of the state that receives the verdict as JSON, empty for none.
    """
    waiting: dict[str, tuple[Any, Seen, dict[str, Any]]] = {}

    @functools.wraps(node)
    def run(state: Any, *arguments: Any, **named: Any) -> Any:
        thread = thread_id()
        if thread in waiting:
            # Resumed: neither the node nor the judgement runs again.
            update, seen, asked = waiting[thread]
        else:
            update = node(state, *arguments, **named)
            seen = watch.observe(thread, reading.stage(state, update))
            for _ in range(retries if again is not None else 0):
                if seen.verdict is None or not seen.verdict.flagged or seen.verdict.human:
                    break
                watch.note("mitigation", thread, {"stage": seen.verdict.stage, "mitigation": "retry"})
                watch.guard(thread).rollback(seen.verdict.stage - 1)
                assert again is not None
                update = node(again(state, seen.verdict), *arguments, **named)
                seen = watch.observe(thread, reading.stage(state, update))
            asked = {}
        if seen.action == "HITL" and checkpoint is not None:
            asked = asked or human_question(checkpoint, thread, seen, watch.guard(thread).stages)
            waiting[thread] = (update, seen, asked)
            decision = _decision(checkpoint, asked)
            waiting.pop(thread, None)
            fields = {"decision": decision.kind, "by": decision.by, "reason": decision.why}
            watch.note("human", thread, fields, {"edit": decision.text})
            update = _applied(update, reading.text, decision, checkpoint)
        if verdict_key and isinstance(update, Mapping):
            told = None if seen.verdict is None else seen.verdict.record()
            return {**update, verdict_key: told}
        return update

    return run


def _decision(checkpoint: Checkpoint, asked: Mapping[str, Any]) -> Decision:
    if not has_checkpointer():
        return Decision(checkpoint.default, by="default", why="no_checkpointer")
    return decided(checkpoint, asked, interrupt(dict(asked)))


def _applied(update: Any, key: str, decision: Decision, checkpoint: Checkpoint) -> Any:
    if decision.kind == "approve" or not key or not isinstance(update, Mapping):
        return update
    return {**update, key: decision.text if decision.kind == "edit" else checkpoint.safe_answer}


def rollback_config(graph: Any, config: Mapping[str, Any], steps: int) -> dict[str, Any]:
    """PRR through the checkpointer: the configuration from which the graph runs again.

    Args:
        graph: A compiled graph with a checkpointer.
        config: With the thread's id.
        steps: How many checkpoints to go back, at least 1.

    Returns:
        For ``graph.invoke(None, config)``; the history after that checkpoint stays readable.

    Raises:
        IndexError: The thread has fewer checkpoints.
    """
    history = list(graph.get_state_history(dict(config)))
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
