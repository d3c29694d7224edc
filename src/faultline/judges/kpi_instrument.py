"""LLM judges of the four KPIs of paper 3: the common instrument, and the original comparative one.

``common`` (section 8, Appendix C): one response a call, no stage, anchors, no preferred direction.
``original``: the user prompt with all three stage outputs, labelled, and the four polarity statements.
``original_stagewise``: the same under the evaluator's system prompt, of which the paper prints the stage-wise
OSR ranges and the fact that a fifth metric was in its vocabulary; the rest of that prompt is not published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from faultline.chat.messages import Message, Reply, Request
from faultline.codec import key_of
from faultline.errors import ConfigError, Missing

INSTRUMENTS = ("common", "original", "original_stagewise")
KPIS = ("FCD", "FGR", "FDF", "ECS")
STAGES = ("front", "second", "third")
RETRY_SAMPLES = 1000
"""A retry is another sample, so that the reply cache does not give back what failed."""
_PROMPTS = Path(__file__).parent / "prompts"
COMMON = (_PROMPTS / "common.txt").read_text(encoding="utf-8").strip()
ORIGINAL = (_PROMPTS / "original.txt").read_text(encoding="utf-8").strip()
STAGEWISE = """\
You evaluate three agents with five metrics: FCD, FGR, FDF, ECS, OSR.
Role-specific OSR expectations:
- 1st: 0.10-0.35 (brief)
- 2nd: 0.70-1.00 (detailed analysis role)
- 3rd: 0.35-0.65 (balanced and concise)"""
_FOUR: Mapping[str, Any] = {
    "type": "object",
    "properties": {name: {"type": "number", "minimum": 0.0, "maximum": 1.0} for name in KPIS},
    "required": list(KPIS),
    "additionalProperties": False,
}
_TWELVE: Mapping[str, Any] = {
    "type": "object",
    "properties": dict.fromkeys(STAGES, _FOUR),
    "required": list(STAGES),
    "additionalProperties": False,
}
DIGEST = key_of([COMMON, ORIGINAL, STAGEWISE, _FOUR, _TWELVE])
"""Version of the prompts."""


class Chat(Protocol):
    """What a judge asks: :class:`faultline.chat.client.ChatClient`."""

    def ask(self, request: Request) -> Reply:
        """The reply to one request."""
        ...


@dataclass(frozen=True, slots=True)
class KpiScores:
    """What a judge said of one response.

    Attributes:
        values: FCD, FGR, FDF, ECS in [0, 1]; None where ``missing`` says why. Never a substitute value.
        calls: Requests that it took, shared by the stages of a comparative call.
    """

    stage: str
    values: tuple[float, ...] | None
    missing: Missing | None = None
    calls: int = 0


@dataclass(frozen=True, slots=True)
class KpiJudge:
    """One instrument over one model.

    Attributes:
        retries: Further samples after a reply that fails the schema (which the seam repairs once itself).
        max_chars: Longest request; a longer one is ``too_long``, never cut.
    """

    chat: Chat
    instrument: str = "common"
    retries: int = 1
    max_chars: int | None = None

    version = 1

    def __post_init__(self) -> None:
        if self.instrument not in INSTRUMENTS:
            raise ConfigError(f"instrument={self.instrument}: choose one of {', '.join(INSTRUMENTS)}")
        if not 0 <= self.retries < RETRY_SAMPLES:
            raise ConfigError(f"retries={self.retries}: must be in 0..{RETRY_SAMPLES - 1}")

    def score(self, asked: str, responses: Mapping[str, str], sample: int = 0) -> tuple[KpiScores, ...]:
        """Scores of the responses of one prompt, by stage.

        Args:
            asked: The user's request.
            responses: Text by stage; the comparative instrument needs all three.
            sample: Index of a repeat.
        """
        if self.instrument == "common":
            return tuple(self._one(asked, stage, text, sample) for stage, text in responses.items())
        if set(responses) != set(STAGES):
            return tuple(KpiScores(stage, None, Missing.NOT_APPLICABLE) for stage in responses)
        outputs = "\n\n".join(f"[{stage}]\n{responses[stage]}" for stage in STAGES)
        turns = [Message("user", f"{ORIGINAL}\n\nUser prompt:\n{asked}\n\nAgent outputs:\n{outputs}")]
        if self.instrument == "original_stagewise":
            turns.insert(0, Message("system", STAGEWISE))
        data, calls = self._ask(turns, _TWELVE, sample)
        if isinstance(data, Missing):
            return tuple(KpiScores(stage, None, data, calls) for stage in STAGES)
        return tuple(KpiScores(stage, _values(data[stage]), None, calls) for stage in STAGES)

    def _one(self, asked: str, stage: str, text: str, sample: int) -> KpiScores:
        turns = [Message("system", COMMON), Message("user", f"Request:\n{asked}\n\nResponse:\n{text}")]
        data, calls = self._ask(turns, _FOUR, sample)
        if isinstance(data, Missing):
            return KpiScores(stage, None, data, calls)
        return KpiScores(stage, _values(data), None, calls)

    def _ask(
        self, turns: Sequence[Message], schema: Mapping[str, Any], sample: int
    ) -> tuple[Mapping[str, Any] | Missing, int]:
        if self.max_chars is not None and sum(len(turn.text) for turn in turns) > self.max_chars:
            return Missing.TOO_LONG, 0
        calls, why = 0, Missing.PARSE_ERROR
        for attempt in range(self.retries + 1):
            reply = self.chat.ask(Request(tuple(turns), schema, sample=sample + RETRY_SAMPLES * attempt))
            calls += reply.calls
            if reply.data is not None and reply.missing is None:
                return reply.data, calls
            why = reply.missing or Missing.PARSE_ERROR
            if why is not Missing.PARSE_ERROR:
                break
        return why, calls


def _values(data: Mapping[str, Any]) -> tuple[float, ...]:
    return tuple(float(data[name]) for name in KPIS)
