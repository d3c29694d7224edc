"""An extractive model over a small store: it says what the first passage says. No network, no weights."""

import numpy as np
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from pydantic import Field

from faultline.charm.guard_models import Models
from tests.charm.test_guard import Words


class Extract(BaseChatModel):
    """Searches once for its topic, then repeats the first passage; ``says`` overrides answers by turn."""

    topic: str = "founder"
    says: list = Field(default_factory=list)
    sure: float | None = None
    turns: list = Field(default_factory=list)

    @property
    def _llm_type(self):
        return "extract"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.turns.append([m.type for m in messages])
        last = messages[-1]
        found = [m for m in messages if isinstance(m, ToolMessage)]
        if not found:
            call = {"name": "search", "args": {"query": self.topic}, "id": "c1"}
            message = AIMessage("", tool_calls=[call])
        else:
            text = self.says.pop(0) if self.says else (found[-1].text if last else "").split("\n")[0]
            metadata = {}
            if self.sure is not None:
                token = {"token": text, "bytes": list(text.encode()), "logprob": float(np.log(self.sure))}
                metadata = {"logprobs": {"content": [token]}}
            message = AIMessage(text, response_metadata=metadata)
        return ChatResult(generations=[ChatGeneration(message=message)])


def search_tool(answers):
    """A tool that returns what ``answers(query)`` says, and notes every query."""
    asked = []

    @tool("search")
    def search(query: str) -> str:
        """Search the store."""
        asked.append(query)
        return answers(query)

    return search, asked


def words():
    return Models(Words(), Words())
