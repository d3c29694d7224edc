"""CHARM around a LlamaIndex pipeline: its instrumentation tells the stages, a wrapped retriever mitigates.

``watching(watch)`` listens to every query of the process; instrumentation can only look on, so what must act
(re-retrieval, a withheld answer) is a wrapper: :class:`GuardedRetriever`, :func:`settle`.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.llm import LLMChatEndEvent, LLMPredictEndEvent
from llama_index.core.instrumentation.events.query import QueryStartEvent
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent
from llama_index.core.instrumentation.events.synthesis import SynthesizeEndEvent
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index_instrumentation import get_dispatcher
from pydantic import PrivateAttr

from faultline.charm.verdict import Verdict
from faultline.live.human import Checkpoint, question, wait
from faultline.live.watch import Seen, Watch
from faultline.records import Hit, Passage, Stage

_current: ContextVar[str] = ContextVar("faultline_query", default="")


class CharmHandler(BaseEventHandler):
    """Turns events into stages: retrievals, model turns between them, and the synthesis.

    Args:
        watch: Guards, failure policy, audit log.
        keep: Queries whose verdicts are kept; older ones are closed and forgotten.
    """

    _watch: Watch = PrivateAttr()
    _seen: OrderedDict[str, list[Seen]] = PrivateAttr(default_factory=OrderedDict)
    _keep: int = PrivateAttr()
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    def __init__(self, watch: Watch, keep: int = 1000) -> None:
        super().__init__()
        self._watch, self._keep = watch, max(1, keep)

    @classmethod
    def class_name(cls) -> str:
        """As the library names it."""
        return "CharmHandler"

    @property
    def seen(self) -> dict[str, list[Seen]]:
        """What was said of each query's stages, by trajectory id."""
        return self._seen

    def handle(self, event: Any, **kwargs: Any) -> None:
        """One event of the pipeline; other kinds pass."""
        if isinstance(event, QueryStartEvent):
            if not event.tags.get("trajectory"):
                _current.set(uuid.uuid4().hex[:12])
            return
        name = str(event.tags.get("trajectory") or _current.get() or "query")
        stage = self._stage(event, name)
        if stage is not None:
            seen = self._watch.observe(name, stage)
            with self._lock:
                self._seen.setdefault(name, []).append(seen)
                while len(self._seen) > self._keep:
                    self._watch.close(self._seen.popitem(last=False)[0])

    def _stage(self, event: Any, name: str) -> Stage | None:
        if isinstance(event, RetrievalEndEvent):
            first = not self._seen.get(name)
            hits = hits_of(event.nodes)
            text = hits[0].passage.rendered if hits else ""
            query = _text(event.str_or_query_bundle)
            return Stage(0, "retrieval" if first else "tool_call", text, query=query, hits=hits)
        if not self._seen.get(name):
            return None  # before the first evidence there is nothing to judge by
        if isinstance(event, SynthesizeEndEvent):
            return Stage(0, "synthesis", str(event.response))
        if isinstance(event, LLMPredictEndEvent):
            return Stage(0, "reasoning", str(event.output))
        if isinstance(event, LLMChatEndEvent) and event.response is not None:
            return Stage(0, "reasoning", str(event.response.message.content or ""))
        return None


@contextmanager
def watching(watch: Watch, keep: int = 1000) -> Iterator[CharmHandler]:
    """Listen to every LlamaIndex query of this process while the block runs."""
    handler = CharmHandler(watch, keep)
    root = get_dispatcher()
    root.add_event_handler(handler)
    try:
        yield handler
    finally:
        root.event_handlers = [h for h in root.event_handlers if h is not handler]


class GuardedRetriever(BaseRetriever):
    """A retriever that searches again when its result is flagged (CRR, M1).

    A failure inside the monitor leaves the nodes as they were found; under ``fail_closed`` none go out.

    Args:
        inner: The user's retriever.
        watch: Guards, failure policy, audit log.
        change: (query, verdict) to the next query.
        retries: Searches after the first at most.
    """

    def __init__(
        self, inner: BaseRetriever, watch: Watch, change: Callable[[str, Verdict], str], retries: int = 1
    ) -> None:
        super().__init__()
        self._inner, self._watch, self._change, self._retries = inner, watch, change, retries

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query, nodes = query_bundle.query_str, self._inner.retrieve(query_bundle)
        name = f"retriever/{uuid.uuid4().hex[:12]}"
        try:
            for attempt in range(self._retries + 1):
                hits = hits_of(nodes)
                text = hits[0].passage.rendered if hits else ""
                seen = self._watch.observe(name, Stage(0, "retrieval", text, query=query, hits=hits))
                if seen.held:
                    return []
                if seen.verdict is None or not seen.verdict.flagged or attempt == self._retries:
                    break
                fields = {"stage": 1, "mitigation": "retry", "tries": attempt + 1}
                self._watch.note("mitigation", name, fields)
                self._watch.guard(name).rollback(0)
                query = self._change(query, seen.verdict)
                nodes = self._inner.retrieve(query)
        except Exception as error:  # noqa: BLE001 - the first search succeeded: what came after it must not break it
            if self._watch.failed(name, type(error).__name__):
                return []
        finally:
            self._watch.close(name)
        return list(nodes)


def settle(
    handler: CharmHandler, trajectory: str, answer: str, watch: Watch, ask: Any, checkpoint: Checkpoint
) -> str:
    """The answer that may leave: the person's decision where the last stage is a high-confidence cascade.

    Args:
        handler: Of :func:`watching`.
        trajectory: Its id.
        answer: Of the pipeline.
        watch: The same as the handler's.
        ask: Shows the question and returns the answer (see :func:`faultline.live.human.wait`).
        checkpoint: How long, and what then.
    """
    said = handler.seen.get(trajectory, [])
    if not said or said[-1].action != "HITL":
        return answer
    asked = question(checkpoint, trajectory, said[-1], watch.guard(trajectory).stages)
    decision = wait(checkpoint, asked, ask)
    fields = {"decision": decision.kind, "by": decision.by, "reason": decision.why}
    watch.note("human", trajectory, fields, {"claim": answer, "edit": decision.text})
    return {"approve": answer, "edit": decision.text}.get(decision.kind, checkpoint.safe_answer)


def hits_of(nodes: Sequence[NodeWithScore]) -> tuple[Hit, ...]:
    """Retrieved nodes as hits, in their order."""
    return tuple(
        Hit(
            Passage(n.node.node_id, str(n.node.metadata.get("title") or ""), (n.node.get_content(),)),
            float(n.score or 0.0),
            rank,
        )
        for rank, n in enumerate(nodes, start=1)
    )


def _text(query: Any) -> str:
    return str(getattr(query, "query_str", query))
