"""ReAct with a Search tool (paper 1, VI-A): LangChain's ``create_agent``, its free trace mapped to stages."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from faultline.chat.messages import Reply
from faultline.errors import ConfigError, Missing
from faultline.policies.llm import Llm, sureness
from faultline.records import ConfidenceSource, Environment, Hit, Policy, Stage, StageKind, Task

INSTRUCTIONS = (
    "Answer the question with the Search tool, which returns paragraphs. Search for one fact at a time. "
    "Before each search, say in one sentence what you know and what is still missing. Use only what the "
    "paragraphs say. When you know the answer, or nothing more can be found, reply without searching: one or "
    "two sentences with the chain of facts, and then a last line 'Final answer: X', X as short as possible; "
    "X is 'unknown' if the paragraphs do not say it."
)
_ANSWER = re.compile(r"^\W*final answer\W*?:\s*(.+?)\s*$", re.IGNORECASE | re.MULTILINE)


class React:
    """Implements :class:`faultline.records.Agent` for the ``llm`` policy.

    The first search is the ``retrieval`` stage, with the thought that led to it; every later search is a
    ``tool_call``, and the thought before it a ``reasoning`` stage; the reply without a search is the
    ``synthesis``.

    Args:
        top_k: Paragraphs a search returns.
        max_searches: After that many no tool is on offer any more, and the model must answer.
    """

    version = 2

    def __init__(self, top_k: int = 5, max_searches: int = 4) -> None:
        if top_k < 1 or max_searches < 1:
            raise ConfigError(f"agent.top_k={top_k}, max_searches={max_searches}: must be at least 1")
        self.top_k = top_k
        self.max_searches = max_searches
        self.instructions = INSTRUCTIONS

    def run(
        self, task: Task, environment: Environment, policy: Policy, *, sample: int = 0
    ) -> tuple[Stage, ...]:
        """The stages of one trajectory; the last one carries the answer.

        Raises:
            ConfigError: The policy is no language model.
        """
        if not isinstance(policy, Llm):
            raise ConfigError(f"agent=react: needs policy=llm or policy=local, not {policy.backbone}")
        from langchain.agents import create_agent
        from langchain_core.tools import tool

        from faultline.chat.langchain_model import SeamModel

        trace = _Trace(environment, self.top_k, self.max_searches)

        @tool("search")
        def search(query: str) -> str:
            """Search for paragraphs that say something about a query."""
            return trace.search(query)

        model = SeamModel(
            ask=policy.client.ask, listen=trace.replied, may_call=trace.may_search, sample=sample
        )
        graph = create_agent(model, [search], system_prompt=INSTRUCTIONS)
        graph.invoke(
            {"messages": [{"role": "user", "content": f"Question: {task.question}"}]},
            {"recursion_limit": 2 * self.max_searches + 6},
        )
        return tuple(trace.stages)


@dataclass(slots=True)
class _Trace:
    """Collects the stages while the graph runs."""

    environment: Environment
    top_k: int
    max_searches: int
    stages: list[Stage] = field(default_factory=list)
    searches: int = 0

    def may_search(self) -> bool:
        return self.searches < self.max_searches

    def replied(self, reply: Reply) -> None:
        if reply.missing is None and reply.tool_calls:
            if self.stages and reply.text.strip():
                self._add("reasoning", reply)
            return
        answer = None if reply.missing is not None else _answer(reply.text)
        missing = reply.missing or (Missing.PARSE_ERROR if answer is None else None)
        if answer is not None and answer.lower().rstrip(".") == "unknown":
            answer, missing = None, Missing.NO_SPAN
        self._add("synthesis", reply, answer, missing)

    def search(self, query: str) -> str:
        index = len(self.stages) + 1
        hits = self.environment.search(query, self.top_k, index)
        kind: StageKind = "retrieval" if self.searches == 0 else "tool_call"
        self.searches += 1
        self.stages.append(Stage(index, kind, hits[0].passage.rendered if hits else "", query, hits))
        told = [_numbered(hit) for hit in hits] or ["Nothing was found."]
        return "\n".join([*told, *(hint.text for hint in self.environment.hints(index))])

    def _add(
        self, kind: StageKind, reply: Reply, answer: str | None = None, missing: Missing | None = None
    ) -> None:
        text = _without_answer_line(reply.text) if kind == "synthesis" else reply.text.strip()
        sure, tokens = sureness(reply, text)
        source: ConfidenceSource = "none" if sure is None else "logprobs"
        self.stages.append(
            Stage(
                len(self.stages) + 1,
                kind,
                text,
                answer=answer,
                confidence=sure,
                confidence_source=source,
                token_logprobs=tokens,
                missing=missing,
            )
        )


def _answer(text: str) -> str | None:
    found = _ANSWER.findall(text)
    return str(found[-1]).strip().strip("'\"") if found else None


def _without_answer_line(text: str) -> str:
    """The chain of facts; the answer line itself where there is nothing else."""
    chain = _ANSWER.sub("", text).strip()
    return chain or text.strip()


def _numbered(hit: Hit) -> str:
    return f"[{hit.rank}] {hit.passage.rendered}"
