"""A chat model as a verifier: the log-odds of "yes" against "no" when asked whether a claim is supported."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import numpy as np
import numpy.typing as npt

from faultline.errors import Missing, ModelError

PROMPT = (
    "Evidence:\n{evidence}\n\nClaim:\n{claim}\n\n"
    "Is the claim supported by the evidence? Answer with one word, yes or no.\nAnswer:"
)
CANDIDATES = ("yes", "no")


class YesNoBackend(Protocol):
    """Gives the log-probabilities of two first tokens."""

    digest: str

    def logprobs(self, prompt: str, candidates: tuple[str, str]) -> tuple[float, float]:
        """Natural logs, each <= 0, of the two candidates as the next word.

        Raises:
            Unanswered: With the reason, if the model gave none.
        """
        ...


class Unanswered(Exception):  # noqa: N818 - a missing value with its reason, no error
    """A value that the model did not give.

    Args:
        reason: Why.
        detail: One line.
    """

    def __init__(self, reason: Missing, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Judgement:
    """Support of one claim: ``probability`` in [0, 1], or None with ``missing`` saying why."""

    probability: float | None
    missing: Missing | None = None


@dataclass(frozen=True, slots=True)
class LlmVerifier:
    """Support as P(yes) / (P(yes) + P(no)); neutral and contradiction are not told apart.

    Attributes:
        backend: Where log-probabilities come from.
        prompt: With ``{evidence}`` and ``{claim}``.
    """

    backend: YesNoBackend
    prompt: str = PROMPT

    @property
    def digest(self) -> str:
        """Backend, prompt and candidates."""
        text = "\x1f".join((self.backend.digest, self.prompt, *CANDIDATES))
        return hashlib.sha256(text.encode()).hexdigest()

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Judgement]:
        """One judgement a pair of (evidence, claim); a pair without an answer is missing, never scored."""
        return [self._one(evidence, claim) for evidence, claim in pairs]

    def verify(self, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.float64]:
        """Probabilities, shape (n, 3): support, the rest, and zero.

        A yes/no model says nothing of contradiction: what is not support stands under neutral.

        Raises:
            ModelError: A pair has no answer. Use :meth:`judge` where missing values are to be counted.
        """
        judged = self.judge(pairs)
        probs = np.zeros((len(judged), 3))
        for row, one in enumerate(judged):
            if one.probability is None:
                raise ModelError(
                    f"llm_verifier: pair {row} has no answer ({one.missing}); use judge() instead"
                )
            probs[row, :2] = one.probability, 1.0 - one.probability
        return probs

    def _one(self, evidence: str, claim: str) -> Judgement:
        # Replaced one by one: braces in a text are no fields.
        before, _, after = self.prompt.partition("{claim}")
        prompt = before.replace("{evidence}", evidence) + claim + after
        try:
            yes, no = self.backend.logprobs(prompt, CANDIDATES)
        except Unanswered as error:
            return Judgement(None, error.reason)
        return Judgement(support(yes, no))


def support(yes: float, no: float) -> float:
    """P(yes) / (P(yes) + P(no)) from natural logs, without overflow."""
    if yes >= no:
        return 1.0 / (1.0 + math.exp(no - yes))
    odds = math.exp(yes - no)
    return odds / (1.0 + odds)


def candidate_logprob(found: Mapping[str, float], candidate: str) -> float | None:
    """Log of the summed probability of all tokens that are a candidate, letter case and blanks aside.

    Args:
        found: Natural logs by token, as the server gives them (`` Yes``, ``yes``, ``Ġyes``).
        candidate: Lower case.

    Returns:
        None if no token is the candidate.
    """
    same = [p for token, p in found.items() if token.strip(" \n\t▁Ġ").lower() == candidate]
    if not same:
        return None
    top = max(same)
    return top + math.log(sum(math.exp(p - top) for p in same)) if top > -math.inf else -math.inf


@dataclass(frozen=True, slots=True)
class HttpYesNo:
    """An OpenAI-compatible server with log-probabilities.

    Attributes:
        base_url: Up to and without ``/completions`` (``http://127.0.0.1:8080/v1``).
        model: As the server names it.
        chat: Ask ``/chat/completions`` instead of ``/completions``.
        top: Alternatives a token; servers allow 5 to 20.
        timeout: Seconds.
        api_key: Sent as a bearer token, if any.
        revision: Digest of the model's weights if known; part of the verifier's digest.
    """

    base_url: str
    model: str
    chat: bool = True
    top: int = 20
    timeout: float = 60.0
    api_key: str = ""
    revision: str = ""

    @property
    def digest(self) -> str:
        """Model, revision and the kind of request; the address and the key do not change an answer."""
        return f"{self.model}@{self.revision}:{'chat' if self.chat else 'text'}:{self.top}"

    def logprobs(self, prompt: str, candidates: tuple[str, str]) -> tuple[float, float]:
        """See :class:`YesNoBackend`.

        Raises:
            Unanswered: Timeout, a reply that cannot be read, a refusal, or a candidate that is not offered.
            ModelError: The server cannot be reached, or turns the request down.
        """
        found = self.alternatives(self._post(prompt))
        first, second = (candidate_logprob(found, candidate) for candidate in candidates)
        if first is None or second is None:
            absent = candidates[0] if first is None else candidates[1]
            raise Unanswered(Missing.TRUNCATED, f"{absent!r} is not among {len(found)} alternatives")
        return first, second

    def alternatives(self, reply: Mapping[str, Any]) -> dict[str, float]:
        """First token's alternatives with their natural logs, from either kind of reply.

        Raises:
            Unanswered: A reply without log-probabilities, or a refusal.
        """
        try:
            choice = reply["choices"][0]
            if self.chat and choice.get("message", {}).get("refusal"):
                raise Unanswered(Missing.REFUSED, str(choice["message"]["refusal"])[:80])
            if self.chat:
                first = choice["logprobs"]["content"][0]["top_logprobs"]
                pairs = [(item["token"], item["logprob"]) for item in first]
            else:
                pairs = list(choice["logprobs"]["top_logprobs"][0].items())
            return {str(token): float(p) for token, p in pairs}
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise Unanswered(Missing.PARSE_ERROR, f"no log-probabilities in the reply ({error!r})") from error

    def _post(self, prompt: str) -> Mapping[str, Any]:
        body: dict[str, Any] = {"model": self.model, "max_tokens": 1, "temperature": 0.0}
        if self.chat:
            messages = [{"role": "user", "content": prompt}]
            body |= {"messages": messages, "logprobs": True, "top_logprobs": self.top}
        else:
            body |= {"prompt": prompt, "logprobs": self.top}
        url = f"{self.base_url.rstrip('/')}/{'chat/' if self.chat else ''}completions"
        headers = {"Content-Type": "application/json"}
        headers |= {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        try:
            with urlopen(Request(url, json.dumps(body).encode(), headers), timeout=self.timeout) as answer:
                reply = json.loads(answer.read())
        except HTTPError as error:
            raise ModelError(f"{url}: HTTP {error.code}; check model {self.model!r} and the key") from error
        except TimeoutError as error:
            raise Unanswered(Missing.TIMEOUT, f"no answer in {self.timeout:g} s") from error
        except URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise Unanswered(Missing.TIMEOUT, f"no answer in {self.timeout:g} s") from error
            raise ModelError(f"{url}: cannot be reached ({error.reason}); start the server") from error
        except json.JSONDecodeError as error:
            raise Unanswered(Missing.PARSE_ERROR, "the reply is no JSON") from error
        if not isinstance(reply, dict):
            raise Unanswered(Missing.PARSE_ERROR, "the reply is no JSON object")
        return reply
