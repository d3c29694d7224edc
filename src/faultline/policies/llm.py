"""A language model that acts: one request an action, confidence from the log-probs of its last sentence."""

from __future__ import annotations

from typing import Any

from faultline.chat import local
from faultline.chat.client import ChatClient
from faultline.chat.logprobs import aligned, confidence, last_sentence
from faultline.chat.messages import Reply
from faultline.chat.spec import ChatSpec
from faultline.errors import Missing
from faultline.policies import prompts
from faultline.records import Action, ActionKind, State


class LlmSettings:
    """What an LLM policy's trajectories depend on: the model with its weights, and the prompts.

    Args:
        chat: The model.
    """

    version = 1

    def __init__(self, chat: ChatSpec) -> None:
        self._spec = chat
        self._digest = local.weights_sha256(local.weights(chat)) if chat.provider == "local" else ""
        self.model: dict[str, Any] = chat.identity(self._digest)
        self.prompts = prompts.DIGEST

    @property
    def spec(self) -> ChatSpec:
        """The model."""
        return self._spec

    @property
    def digest(self) -> str:
        """sha256 of local weights, empty for a remote model."""
        return self._digest

    def build(self, client: ChatClient) -> Llm:
        """The policy over a client of this model."""
        return Llm(client)


class Llm:
    """Implements :class:`faultline.records.Policy` over a chat client.

    A reply that is refused, cut, late or unparsable gives an action without text and answer, with the
    reason: nothing takes its place.
    """

    needs_gold = False

    def __init__(self, client: ChatClient) -> None:
        self.client = client
        self.backbone = client.spec.model

    def act(self, kind: ActionKind, state: State) -> Action:
        """One action, from one request (two if the reply had to be repaired)."""
        reply = self.client.ask(prompts.request(kind, state))
        if reply.missing is not None or reply.data is None:
            return Action(kind, "", missing=reply.missing)
        field, has_answer = prompts.FIELDS[kind]
        text = str(reply.data[field]).strip()
        answer = reply.data.get("answer") if has_answer else None
        probability, tokens = sureness(reply, str(reply.data[field]))
        said = None if answer is None or not str(answer).strip() else str(answer).strip()
        # A null answer is what the model says: no passage holds the value.
        missing = Missing.NO_SPAN if has_answer and said is None else None
        return Action(kind, text, said, probability, tokens, missing)


def sureness(reply: Reply, text: str) -> tuple[float | None, tuple[float, ...]]:
    """Stage confidence and the log-probs of the stage text's tokens (paper 1, IV-B 3).

    Returns:
        ``clip(exp(mean log-prob of the last sentence), .01, .99)``, not yet temperature-scaled, and the
        log-probs of the whole text; None and () without log-probs.
    """
    return confidence(aligned(reply.logprobs, last_sentence(text))), aligned(reply.logprobs, text)
