"""CHARM in a LangChain agent: ``create_agent(model, tools, middleware=[CharmMiddleware(watch)])``.

Tool results and model turns are judged in the graph's own hooks, and the guard's state is part of the
graph's: a checkpointer keeps it, another process can resume it, a rolled-back graph has a rolled-back guard.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.types import interrupt

from faultline.charm.options import require_choice
from faultline.errors import ConfigError
from faultline.live import mitigate
from faultline.live.human import Checkpoint, Decision, decided, remember
from faultline.live.human import question as human_question
from faultline.live.messages import model_stage, query_of, question, tool_stage
from faultline.live.watch import Seen, Watch
from faultline.records import Stage

HANDLINGS: Mapping[str, tuple[str, ...]] = {
    "CRR": ("retry", "note"),
    "SCT": ("gate", "note"),
    "PVA": ("verify", "note"),
    "PRR": ("rollback", "note"),
    "HITL": ("interrupt", "note"),
}
"""What may be done about each action; the first is the default."""

GATED = "[monitor: not supported by the evidence that was retrieved]"
Independent = Callable[[str, str], float | None]
"""(question, claim) to P(supported) from a separate model and a separate read-only corpus; None: unknown."""


class CharmState(AgentState[Any]):
    """The agent's state with the guard's beside it."""

    charm: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]


class CharmMiddleware(AgentMiddleware[CharmState, Any, Any]):
    """Watches an agent and, by policy, notes, retries, gates, verifies, rolls back or asks a person.

    Args:
        watch: Guards, failure policy, audit log.
        policy: Handling by action, of :data:`HANDLINGS`; what is not named keeps its default. The word
            ``note`` alone only marks messages.
        checkpoint: How a person is asked. Without a checkpointer nobody can be, and its default counts.
        independent: The verifier of PVA; without one PVA only notes.
        tools: Names of the tools that bring evidence; all by default.
        retries: Re-retrievals and rollbacks a trajectory at most, so that no flag loops.
        change: Makes CRR's next query.

    Raises:
        ConfigError: An unknown action or handling.
    """

    state_schema = CharmState

    def __init__(
        self,
        watch: Watch,
        *,
        policy: Mapping[str, str] | str | None = None,
        checkpoint: Checkpoint | None = None,
        independent: Independent | None = None,
        tools: Collection[str] | None = None,
        retries: int = 2,
        change: mitigate.Requery = mitigate.requery,
    ) -> None:
        super().__init__()
        self.tools = ()
        self.watch, self.checkpoint = watch, checkpoint or Checkpoint()
        self.policy = handlings(policy)
        self.retries = retries
        self._independent, self._change = independent, change
        self._evidence_tools = None if tools is None else frozenset(tools)
        self._asked: dict[tuple[str, str], dict[str, Any]] = {}

    def before_agent(self, state: CharmState, runtime: Any) -> dict[str, Any] | None:
        """A question begins: a trajectory of its own; what was said before it is not judged again."""
        name = f"{thread_id()}/{uuid.uuid4().hex[:8]}"
        return {"charm": {"trajectory": name, "stages": [], "tries": 0, "guard": ""}}

    @hook_config(can_jump_to=["tools", "end"])
    def before_model(self, state: CharmState, runtime: Any) -> dict[str, Any] | None:
        """Judge the tool results that came since the last model turn."""
        return self._safely(state, self._tool_results)

    @hook_config(can_jump_to=["tools", "model", "end"])
    def after_model(self, state: CharmState, runtime: Any) -> dict[str, Any] | None:
        """Judge the model turn."""
        return self._safely(state, self._model_turn)

    async def abefore_agent(self, state: CharmState, runtime: Any) -> dict[str, Any] | None:
        """:meth:`before_agent`."""
        return self.before_agent(state, runtime)

    @hook_config(can_jump_to=["tools", "end"])
    async def abefore_model(self, state: CharmState, runtime: Any) -> dict[str, Any] | None:
        """:meth:`before_model` in a worker thread."""
        return await asyncio.to_thread(self.before_model, state, runtime)

    @hook_config(can_jump_to=["tools", "model", "end"])
    async def aafter_model(self, state: CharmState, runtime: Any) -> dict[str, Any] | None:
        """:meth:`after_model` in a worker thread."""
        return await asyncio.to_thread(self.after_model, state, runtime)

    def _safely(
        self, state: CharmState, hook: Callable[[list[BaseMessage], dict[str, Any]], dict[str, Any] | None]
    ) -> dict[str, Any] | None:
        """Run a hook; its own failure is handled by the policy, never by the user's pipeline."""
        own: dict[str, Any] = dict(state.get("charm") or {})
        try:
            if not own:
                own = self.before_agent(state, None)["charm"]  # type: ignore[index]
            if own["guard"]:
                self.watch.load(own["trajectory"], own["guard"])
            else:
                self.watch.close(own["trajectory"])
            return hook(list(state["messages"]), own)
        except GraphBubbleUp:  # the interrupt itself
            raise
        except Exception as error:  # noqa: BLE001 - see above
            self.watch.failures += 1
            fields = {"reason": type(error).__name__, "policy": self.watch.on_failure}
            self.watch.note("failure", str(own.get("trajectory", "")), fields)
            if self.watch.on_failure == "fail_open":
                return None
            return {"messages": [AIMessage(self.checkpoint.safe_answer)], "jump_to": "end"}
        finally:
            # The graph's state holds the guard; nothing stays here for a question that is never resumed.
            self.watch.close(str(own.get("trajectory", "")))

    def _observe(self, message: BaseMessage, stage: Stage, own: dict[str, Any]) -> Seen:
        """Judge a message; a resumed hook runs again, which is no second decision in the audit log."""
        again = (own["trajectory"], str(message.id)) in self._asked
        seen = self.watch.observe(own["trajectory"], stage, record=not again)
        own["stages"] = [*own["stages"], [str(message.id), len(own["stages"]) + 1]]
        return seen

    def _tool_results(self, messages: list[BaseMessage], own: dict[str, Any]) -> dict[str, Any] | None:
        known = {name for name, _ in own["stages"]}
        start = mitigate.call_before(messages)
        new = [
            m
            for m in messages[start or 0 :]
            if isinstance(m, ToolMessage) and m.id not in known and self._brings_evidence(m)
        ]
        update: dict[str, Any] | None = None
        for message in new:
            stage = tool_stage(message, query_of(messages, message), not own["stages"])
            seen = self._observe(message, stage, own)
            update = self._act(messages, message, seen, own)
            if update is not None and "jump_to" in update:
                break
        return self._kept(update, own) if new else None

    def _model_turn(self, messages: list[BaseMessage], own: dict[str, Any]) -> dict[str, Any] | None:
        message = messages[-1] if messages else None
        if not isinstance(message, AIMessage) or not own["stages"]:
            return None  # a thought before the first evidence has nothing to be judged by
        stage = model_stage(message)
        if not stage.text:
            return None
        seen = self._observe(message, stage, own)
        return self._kept(self._act(messages, message, seen, own), own)

    def _kept(self, update: dict[str, Any] | None, own: dict[str, Any]) -> dict[str, Any]:
        guard = self.watch.guard(own["trajectory"])
        return {**(update or {}), "charm": {**own, "guard": guard.dump().decode()}}

    def _brings_evidence(self, message: ToolMessage) -> bool:
        return self._evidence_tools is None or message.name in self._evidence_tools

    def _act(
        self, messages: list[BaseMessage], message: BaseMessage, seen: Seen, own: dict[str, Any]
    ) -> dict[str, Any] | None:
        """What the policy does about one judged message."""
        if not seen.flagged:
            return None
        handling = self.policy[seen.action]
        if handling == "interrupt":
            return self._ask(message, seen, own)
        verdict = seen.verdict
        if verdict is None:  # held without a verdict, and the policy only notes
            return None
        update: dict[str, Any] | None = None
        if handling in ("retry", "rollback") and own["tries"] >= self.retries:
            self._mitigation(own, seen, "exhausted")
        elif handling == "retry":
            update = self._retry(messages, seen, own)
        elif handling == "rollback":
            update = self._roll_back(messages, seen, own)
        elif handling == "verify" and self._independent is not None:
            return self._verify(messages, message, seen, own)
        elif handling == "gate":
            self._mitigation(own, seen, "gate")
            return {"messages": [mitigate.marked(message, verdict, GATED)]}
        return update or {"messages": [mitigate.marked(message, verdict)]}

    def _retry(self, messages: list[BaseMessage], seen: Seen, own: dict[str, Any]) -> dict[str, Any] | None:
        assert seen.verdict is not None
        found = mitigate.retrieve_again(messages, question(messages), seen.verdict, self._change)
        if found is None:
            return None
        update, index = found
        self._forget(own, {str(m.id) for m in messages[: index + 1]})
        self._mitigation(own, seen, "retry")
        own["tries"] += 1
        return update

    def _roll_back(self, messages: list[BaseMessage], seen: Seen, own: dict[str, Any]) -> dict[str, Any]:
        assert seen.verdict is not None
        clean = self.watch.guard(own["trajectory"]).last_clean()
        kept = {name for name, stage in own["stages"] if stage <= clean}
        last = max((i for i, m in enumerate(messages) if str(m.id) in kept), default=-1)
        # A model turn that called tools stays with all of their results, as providers demand.
        turn = messages[last] if last >= 0 else None
        if isinstance(turn, AIMessage) and turn.tool_calls:
            last += len(turn.tool_calls)
        keep = last + 1 or next((i + 1 for i, m in enumerate(messages) if m.type == "human"), 0)
        self._forget(own, {str(m.id) for m in messages[:keep]})
        self._mitigation(own, seen, "rollback")
        own["tries"] += 1
        return mitigate.roll_back(messages, keep, mitigate.hint(seen.verdict))

    def _forget(self, own: dict[str, Any], kept: Collection[str]) -> None:
        """Drop the stages of messages that go, in the guard too."""
        own["stages"] = [entry for entry in own["stages"] if entry[0] in kept]
        self.watch.guard(own["trajectory"]).rollback(len(own["stages"]))

    def _verify(
        self, messages: list[BaseMessage], message: BaseMessage, seen: Seen, own: dict[str, Any]
    ) -> dict[str, Any]:
        """PVA (M3): only the question and the claim leave; unknown is not support."""
        assert seen.verdict is not None and self._independent is not None
        supported = self._independent(question(messages), str(message.text))
        agreed = supported is not None and supported >= self.watch.options.settings.sfv.tau
        self._mitigation(own, seen, "verified" if agreed else "not_verified", supported)
        return {"messages": [mitigate.marked(message, seen.verdict, "" if agreed else GATED)]}

    def _ask(self, message: BaseMessage, seen: Seen, own: dict[str, Any]) -> dict[str, Any] | None:
        name = (own["trajectory"], str(message.id))
        # The hook runs again from its start when the graph is resumed: the clock must not.
        asked = self._asked.get(name)
        if asked is None:
            stages = self.watch.guard(own["trajectory"]).stages
            asked = human_question(self.checkpoint, own["trajectory"], seen, stages)
            remember(self._asked, name, asked)
            self.watch.note("human_asked", own["trajectory"], {"stage": len(stages), "reason": seen.failure})
        if has_checkpointer():
            decision = decided(self.checkpoint, asked, interrupt(asked))
        else:
            decision = Decision(self.checkpoint.default, by="default", why="no_checkpointer")
        self._asked.pop(name, None)
        fields = {"decision": decision.kind, "by": decision.by, "reason": decision.why}
        self.watch.note(
            "human",
            own["trajectory"],
            {**fields, "stage": len(own["stages"])},
            {"claim": str(message.text), "edit": decision.text},
        )
        return mitigate.by_decision(message, decision, self.checkpoint.safe_answer)

    def _mitigation(self, own: dict[str, Any], seen: Seen, what: str, value: float | None = None) -> None:
        assert seen.verdict is not None
        fields = {"stage": seen.verdict.stage, "action": seen.action, "mitigation": what, "value": value}
        self.watch.note("mitigation", own["trajectory"], {**fields, "tries": own["tries"]})


def handlings(policy: Mapping[str, str] | str | None) -> dict[str, str]:
    """Handling by action.

    Raises:
        ConfigError: An unknown action or handling.
    """
    if isinstance(policy, str):
        require_choice("charm.policy", policy, ("note",))
        return dict.fromkeys(HANDLINGS, policy)
    given = dict(policy or {})
    for action, handling in given.items():
        if action not in HANDLINGS:
            raise ConfigError(f"charm.policy: {action!r} is none of {', '.join(HANDLINGS)}")
        require_choice(f"charm.policy.{action}", handling, HANDLINGS[action])
    return {action: given.get(action, known[0]) for action, known in HANDLINGS.items()}


def has_checkpointer() -> bool:
    """Whether the running graph can be interrupted and resumed."""
    try:
        return get_config().get("configurable", {}).get("__pregel_checkpointer") is not None
    except RuntimeError:
        return False


def thread_id() -> str:
    """Id of the thread that the running graph belongs to."""
    try:
        return str(get_config().get("configurable", {}).get("thread_id", "agent"))
    except RuntimeError:
        return "agent"
