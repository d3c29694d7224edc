"""From token log-probs on the wire to the confidence monitor: each step literal (paper 1, IV-B 3, Eq. 4)."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from faultline.agents.five_stage import FiveStage
from faultline.charm.cpm import CpmSettings, cpm_signal
from faultline.charm.scoring import assemble, requests
from faultline.records import Trajectory
from tests.chat.wire import Answer, serving, with_logprobs
from tests.policies.test_llm import TASK, Everything, policy

FIRST, LAST = -2.5, (-0.05, -0.4)
"""Log-probs of the first sentence, and of the two tokens of the last one."""


def speaking(number: int, body: dict[str, Any]) -> Answer:
    """Every text has two sentences; only the last one's two tokens may count."""
    wanted = body["response_format"]["json_schema"]["schema"]["properties"]
    if "query" in wanted:
        return with_logprobs([('{"query": "Faust author"}', -0.7)])
    field = next(name for name in wanted if name != "answer")
    tail = ', "answer": "Goethe"}' if "answer" in wanted else "}"
    pieces = [
        (f'{{"{field}": "', -3.0),
        ("Faust is old.", FIRST),
        (" It is", LAST[0]),
        (" by Goethe.", LAST[1]),
    ]
    assert json.loads("".join(p for p, _ in pieces) + '"' + tail)
    return with_logprobs([*pieces, ('"' + tail, -1.5)])


def literal(temperature: float, stages: int) -> list[float]:
    """The signal at the stages that state a confidence, in plain arithmetic."""
    p = min(0.99, max(0.01, math.exp(sum(LAST) / len(LAST))))
    scaled = 1 / (1 + math.exp(-math.log(p / (1 - p)) / temperature))
    alpha, beta, found = 2.0, 2.0, []
    for _ in range(stages):
        mu = alpha / (alpha + beta)
        found.append(min(1.0, max(0.0, (scaled - mu - 0.15) / (1 - 0.15 - mu))))
        alpha, beta = alpha + scaled, beta + 1 - scaled
    return found


@pytest.mark.parametrize("temperature", [1.0, 1.4, 2.37])
def test_last_sentence_to_monitor(temperature: float) -> None:
    with serving(speaking) as wire:
        stages = FiveStage(top_k=2).run(TASK, Everything(), policy(wire, logprobs=True))
    stated = [s for s in stages if s.confidence is not None]
    assert [s.index for s in stated] == [2, 3, 4, 5]
    assert {s.confidence_source for s in stated} == {"logprobs"}
    assert all(s.confidence == pytest.approx(math.exp(-0.225)) for s in stated)
    made = Trajectory("i", "d", "t", "c", 0, TASK.question, stages, "Goethe", "m")
    asked = requests([made], ["Faust is by Goethe."])
    judged = np.tile([0.6, 0.3, 0.1], (len(asked.pairs), 1))
    scores = assemble([made], asked, judged, np.eye(len(asked.texts), 64, dtype=np.float32), "logprobs")
    signal = cpm_signal(scores, CpmSettings(temperature=temperature))[0]
    assert math.isnan(signal[0]), "a passage states no confidence"
    assert signal[1:].tolist() == pytest.approx(literal(temperature, 4), abs=1e-12)
