import math

import pytest

from faultline.charm.cascade_types import Profiles
from faultline.charm.cpm import CpmSettings
from faultline.charm.csct import CsctSettings
from faultline.charm.routing import RoutingSettings
from faultline.charm.sfv import SfvSettings
from faultline.charm.trigger import TriggerSettings
from faultline.errors import ConfigError


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: SfvSettings(anchor="top3"), ["sfv.anchor", "'top3'", "both, top1, consensus"]),
        (lambda: SfvSettings(map="linear"), ["sfv.map", "deficit, hinge, step"]),
        (lambda: SfvSettings(tau=0.0), ["sfv.tau"]),
        (lambda: CsctSettings(reference="last"), ["csct.reference", "previous, first, running_mean"]),
        (lambda: CsctSettings(map="soft"), ["csct.map", "hinge, step, raw"]),
        (lambda: CsctSettings(drift_threshold=1.0), ["csct.drift_threshold"]),
        (
            lambda: CpmSettings(monitor="kalman"),
            ["cpm.monitor", "beta, difference, ewma, cusum, contradiction"],
        ),
        (lambda: CpmSettings(map="soft"), ["cpm.map", "margin, step"]),
        (lambda: CpmSettings(temperature=0.0), ["cpm.temperature"]),
        (lambda: CpmSettings(temperature=math.nan), ["cpm.temperature"]),
        (lambda: CpmSettings(prior=(0.0, 2.0)), ["cpm.prior"]),
        (lambda: CpmSettings(ewma_lambda=0.0), ["cpm.ewma_lambda"]),
        (lambda: TriggerSettings(weights=(0.6, 0.6, 0.2)), ["trigger.weights", "sum to 1.4"]),
        (lambda: TriggerSettings(weights=(0.0, 0.0, 0.0)), ["trigger.weights"]),
        (lambda: TriggerSettings(theta=1.5), ["trigger.theta"]),
        (lambda: TriggerSettings(components=()), ["trigger.components"]),
        (
            lambda: TriggerSettings(components=("sfv", "crt")),
            ["trigger.components", "'crt'", "sfv, csct, cpm"],
        ),
        (lambda: RoutingSettings(gate_on="p"), ["routing.gate_on", "confidence, score, off"]),
        (lambda: RoutingSettings(gate=2.0), ["routing.gate"]),
        (lambda: Profiles(names=("a",), vectors=((0.0, 0.0, 0.0),)), ["profiles.a"]),
        (lambda: Profiles(names=("a", "a"), vectors=((1.0, 0.0, 0.0),) * 2), ["profiles"]),
    ],
)
def test_a_wrong_option_is_named_with_its_choices(build, named):
    with pytest.raises(ConfigError) as caught:
        build()
    assert all(part in str(caught.value) for part in named)
    assert "\n" not in str(caught.value)


def test_defaults_are_the_papers():
    assert (SfvSettings().tau, CsctSettings().drift_threshold) == (0.72, 0.18)
    cpm, trigger, routing = CpmSettings(), TriggerSettings(), RoutingSettings()
    assert (cpm.delta, cpm.temperature, cpm.prior, cpm.tau_cpm) == (0.15, 1.4, (2.0, 2.0), 0.35)
    assert (trigger.weights, trigger.theta, trigger.strict) == ((0.4, 0.4, 0.2), 0.55, False)
    assert (routing.early_stage, routing.late_stage, routing.sfv, routing.csct) == (2, 4, 0.7, 0.7)
