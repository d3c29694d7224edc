"""LlamaIndex's own query engine over a real index, seen through its instrumentation."""

import time

import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index_instrumentation.dispatcher import instrument_tags

from faultline.charm.guard_models import Models
from faultline.live.human import Checkpoint
from faultline.live.llama_index import GuardedRetriever, settle, watching
from faultline.live.watch import Watch
from tests.charm.test_guard import Words
from tests.live.agents import words
from tests.live.test_langchain import BAD, GOOD, options


class Says(CustomLLM):
    text: str

    @property
    def metadata(self):
        return LLMMetadata()

    def complete(self, prompt, formatted=False, **kwargs):
        return CompletionResponse(text=self.text)

    def stream_complete(self, prompt, formatted=False, **kwargs):
        raise NotImplementedError


class WordsEmbedding(BaseEmbedding):
    def _get_text_embedding(self, text):
        return [float(x) for x in Words().encode([text])[0]]

    def _get_query_embedding(self, query):
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query):
        return self._get_text_embedding(query)


def engine(text):
    documents = [Document(text=GOOD, metadata={}), Document(text="It lies on a river.")]
    index = VectorStoreIndex.from_documents(documents, embed_model=WordsEmbedding())
    return index.as_query_engine(llm=Says(text=text))


def test_a_query_is_seen_as_stages():
    watch = Watch("fail_open", words(), options())
    with watching(watch) as handler, instrument_tags({"trajectory": "q1"}):
        response = engine(BAD).query("Who founded Arvenholm?")
    assert str(response) == BAD
    assert [s.kind for s in watch.guard("q1").stages] == ["retrieval", "reasoning", "synthesis"]
    assert watch.guard("q1").stages[0].text == GOOD
    assert [s.flagged for s in handler.seen["q1"]] == [False, True, True]


def test_nothing_is_seen_outside_the_block():
    watch = Watch("fail_open", words(), options())
    with watching(watch):
        pass
    engine(GOOD).query("Who founded Arvenholm?")
    assert watch.open_trajectories == 0
    assert not [h for h in get_dispatcher().event_handlers if h.class_name() == "CharmHandler"]


def test_queries_without_a_tag_are_kept_apart():
    watch = Watch("fail_open", words(), options())
    with watching(watch) as handler:
        for text in (BAD, GOOD):
            engine(text).query("Who founded Arvenholm?")
    assert [[s.flagged for s in seen] for seen in handler.seen.values()] == [
        [False, True, True],
        [False, False, False],
    ]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("approve", BAD), ({"decision": "edit", "text": "x"}, "x"), ("reject", Checkpoint().safe_answer)],
)
def test_the_answer_waits_for_a_person(answer, expected):
    watch = Watch("fail_open", words(), options(gate="score", value=0.6))
    with watching(watch) as handler, instrument_tags({"trajectory": "q"}):
        response = str(engine(BAD).query("Who founded Arvenholm?"))
    assert settle(handler, "q", response, watch, lambda asked: answer, Checkpoint()) == expected


def test_nobody_answers_in_time():
    watch = Watch("fail_open", words(), options(gate="score", value=0.6))
    with watching(watch) as handler, instrument_tags({"trajectory": "q"}):
        response = str(engine(BAD).query("Who founded Arvenholm?"))
    checkpoint = Checkpoint(limit_s=0.1)
    assert settle(handler, "q", response, watch, lambda asked: time.sleep(2), checkpoint) == (
        checkpoint.safe_answer
    )


class Store(BaseRetriever):
    """The first passage stands against the two after it, unless it is asked again."""

    def _retrieve(self, query_bundle):
        first = GOOD if "again" in query_bundle.query_str else BAD
        texts = [first, "Arvenholm was founded by Mira Tolk.", "Mira Tolk founded Arvenholm in 1900."]
        return [NodeWithScore(node=TextNode(text=t), score=1.0 / i) for i, t in enumerate(texts, 1)]


def test_a_flagged_retrieval_searches_again():
    class Sceptic(Words):
        def verify(self, pairs):
            return super().verify([(p.replace(BAD, ""), c) for p, c in pairs])

    watch = Watch("fail_open", Models(Sceptic(), Words()), options())
    retriever = GuardedRetriever(Store(), watch, lambda query, verdict: f"{query} again")
    assert retriever.retrieve("founder")[0].node.get_content() == GOOD


def test_a_long_process_keeps_the_newest_queries_only():
    watch = Watch("fail_open", words(), options())
    asked = engine(GOOD)
    with watching(watch, keep=2) as handler:
        for name in "abcd":
            with instrument_tags({"trajectory": name}):
                asked.query("Who founded Arvenholm?")
    assert list(handler.seen) == ["c", "d"]
    assert watch.open_trajectories == 2


@pytest.mark.parametrize(("policy", "found"), [("fail_open", [BAD]), ("fail_closed", [])])
def test_a_broken_change_of_the_query_does_not_break_the_search(policy, found):
    class Sceptic(Words):
        def verify(self, pairs):
            return super().verify([(p.replace(BAD, ""), c) for p, c in pairs])

    watch = Watch(policy, Models(Sceptic(), Words()), options())
    retriever = GuardedRetriever(Store(), watch, lambda query, verdict: 1 / 0)
    assert [n.node.get_content() for n in retriever.retrieve("founder")][:1] == found
    assert (watch.failures, watch.open_trajectories) == (1, 0)


def test_a_monitor_that_fails_withholds_the_evidence_only_if_it_is_told_to():
    class Broken(Words):
        def verify(self, pairs):
            raise RuntimeError

    for policy, count in (("fail_open", 3), ("fail_closed", 0)):
        watch = Watch(policy, Models(Broken(), Words()), options())
        assert len(GuardedRetriever(Store(), watch, lambda query, verdict: query).retrieve("x")) == count
