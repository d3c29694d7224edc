"""The seam as a LangChain chat model, so that an agent graph calls it under our cache, limits and budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from faultline.chat.messages import Message, Reply, Request, Role, ToolCall

_ROLES: dict[str, Role] = {"system": "system", "human": "user", "ai": "assistant", "tool": "tool"}


class SeamModel(BaseChatModel):
    """A chat model for ``create_agent``.

    Attributes:
        ask: Answers a request.
        sample: Sample index of the trajectory.
        listen: Called with every reply, before the graph goes on.
        may_call: Whether tools are still on offer; without them the model must answer.
    """

    ask: Callable[[Request], Reply]
    listen: Callable[[Reply], None]
    may_call: Callable[[], bool]
    sample: int = 0

    @property
    def _llm_type(self) -> str:
        return "faultline"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        """The model with these tools on offer."""
        named = [t for t in tools if isinstance(t, BaseTool)]
        return self.bind(tools=[convert_to_openai_tool(tool)["function"] for tool in named])

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        tools = tuple(kwargs.get("tools", ())) if self.may_call() else ()
        reply = self.ask(Request(tuple(_message(m) for m in messages), tools=tools, sample=self.sample))
        self.listen(reply)
        # One action a step (ReAct): only the first call of a turn is made. A failed reply ends the graph.
        calls = reply.tool_calls[:1] if reply.missing is None else ()
        told = [{"id": c.id, "name": c.name, "args": dict(c.arguments)} for c in calls]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(reply.text, tool_calls=told))])


def _message(message: BaseMessage) -> Message:
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return Message(
        _ROLES[message.type],
        str(message.text),
        tuple(ToolCall(str(c["id"] or ""), c["name"], c["args"]) for c in calls),
        str(getattr(message, "tool_call_id", "")),
    )
