"""A LlamaIndex query engine over the poisoned store: watched by its instrumentation, its retriever wrapped.

Run it: python docs/examples/llama_index_query.py (offline, no key; models from the package index).
"""

from __future__ import annotations

from typing import Any

from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from store import QUESTION, ranked

from faultline.charm.decide import CharmSettings
from faultline.charm.guard import GuardOptions
from faultline.charm.routing import RoutingSettings
from faultline.charm.trigger import TriggerSettings
from faultline.live.llama_index import GuardedRetriever, watching
from faultline.live.watch import Watch
from faultline.reporting.console import Terminal


class Store(BaseRetriever):
    """The user's retriever."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = ranked(query_bundle.query_str)[:4]
        return [NodeWithScore(node=TextNode(text=t), score=1.0 / i) for i, t in enumerate(found, 1)]


class FirstPassage(CustomLLM):
    """Stands where your language model does: it repeats the first passage of its prompt."""

    @property
    def metadata(self) -> LLMMetadata:
        """Defaults."""
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """The first line between the rulers of the library's prompt."""
        return CompletionResponse(text=prompt.split("---------------------\n")[1].split("\n", maxsplit=1)[0])

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        """Not used."""
        raise NotImplementedError


def main() -> tuple[str, str]:
    """The answers of the watched and of the guarded engine."""
    settings = CharmSettings(
        trigger=TriggerSettings(theta=0.5, components=("sfv",), renormalise=True),
        routing=RoutingSettings(gate_on="off"),
    )
    watch = Watch("fail_open", options=GuardOptions(settings, "others"), timeout_s=60.0)
    terminal = Terminal()
    synthesizer = get_response_synthesizer(llm=FirstPassage())
    with watching(watch) as handler:
        plain = RetrieverQueryEngine(Store(), synthesizer)
        first = str(plain.query("founder of Arvenholm"))
        flags = [seen.action or "ok" for said in handler.seen.values() for seen in said]
        terminal.print(f"watched: {first} {flags}")
    safe = GuardedRetriever(Store(), watch, lambda query, verdict: f"{QUESTION} {query}")
    second = str(RetrieverQueryEngine(safe, synthesizer).query("founder of Arvenholm"))
    terminal.print(f"guarded: {second}")
    return first, second


if __name__ == "__main__":
    main()
