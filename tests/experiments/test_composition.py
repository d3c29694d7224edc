"""Composing the configuration: one-line errors, what the user set, and what belongs to the key."""

import hydra.utils
import pytest
from omegaconf import OmegaConf

from experiments.catalogue import CONF
from experiments.composition import OUTSIDE_KEY, compose, content, set_options
from faultline.codec import encode, key_of
from faultline.errors import ConfigError

GROUPS = sorted(
    f"{path.parent.name}={path.stem}"
    for path in CONF.glob("*/*.yaml")
    if path.parent.name not in ("exp", "claims", "layouts", "preset", "hydra")
)


def test_the_bare_configuration_composes():
    cfg = compose([])
    assert cfg.experiment is None and cfg.seed == 0 and cfg.overwrite == "never"


@pytest.mark.parametrize("choice", GROUPS)
def test_every_file_composes_and_names_what_exists(choice):
    optional = choice.startswith("ths=")  # only experiments of paper 3 compose it
    cfg = compose([f"+{choice}" if optional else choice])
    encode(OmegaConf.to_container(cfg, resolve=True))
    stack = [OmegaConf.to_container(cfg)[choice.split("=")[0]]]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            if "_target_" in node and not node["_target_"].startswith("lightning."):
                assert callable(hydra.utils.get_object(node["_target_"]))
            stack.extend(node.values())


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("limits=3", "limits"),
        ("charm.trigger.thetta=0.4", "thetta"),
        ("corpora=hotpot", "hotpot"),
        ("+exp=charm_hotpott", "charm_hotpott"),
        ("nli=gpt9", "gpt9"),
        ("limit=[1", r"limit=\[1"),
        ("nonsense", "nonsense"),
        ("seed=${nowhere}", "nowhere"),
        ("corpora.seed=${nowhere}", "nowhere"),
        ("corpora=3", "string or a list"),
        ("limit=ten", "limit=ten: must be a whole number"),
        ("limit=1.5", r"limit=1\.5: must be a whole number"),
        ("limit=true", "limit=True: must be a whole number"),
        ("limit=0", "limit=0: must be at least 1"),
        ("seed=null", "seed=None: must be a whole number"),
        ("repeats=0", "repeats=0: must be at least 1"),
        ("resamples=-5", "resamples=-5: must be at least 1"),
        ("paired=maybe", "paired=maybe: must be true or false"),
        ("dry_run=1", "dry_run=1: must be true or false"),
    ],
)
def test_a_wrong_override_is_one_line_that_names_it(override, words):
    with pytest.raises(ConfigError, match=words) as caught:
        content(compose([override]))
    message = str(caught.value)
    assert "\n" not in message and len(message) < 600


def test_an_unknown_file_lists_those_there_are():
    with pytest.raises(ConfigError, match=r"hotpotqa; .*synthetic.*--help and --list"):
        compose(["corpora=hotpot"])


@pytest.mark.parametrize(
    ("overrides", "options"),
    [
        (["limit=3", "seed=1"], {"limit": "3", "seed": "1"}),
        (["+exp=charm_demo"], {"exp": "charm_demo"}),
        (["charm.trigger.theta=0.4"], {"charm": "0.4"}),
        (["++policy.trust=[0,1]"], {"policy": "[0,1]"}),
        (["~faults"], {"faults": ""}),
        (["/corpora=hotpotqa", "corpora@corpora=x"], {"corpora": "x"}),
        ([], {}),
    ],
)
def test_what_the_user_set(overrides, options):
    assert set_options(overrides) == options


def key(*overrides):
    return key_of(content(compose(["+exp=charm_demo", *overrides])))


@pytest.mark.parametrize(
    "override",
    ["runs_dir=/elsewhere", "overwrite=always", "dry_run=true", "tracking=off", "tracking.project=x"],
)
def test_paths_and_tracking_are_in_no_key(override):
    assert key(override) == key()


@pytest.mark.parametrize(
    "override",
    [
        "limit=10",
        "seed=1",
        "repeats=2",
        "paired=true",
        "resamples=100",
        "charm.trigger.theta=0.4",
        "retrieval=dense",
        "retrieval.index.k1=1.2",
        "policy.trust=[1.0]",
        "faults.scope=[call]",
        "agent.top_k=3",
        "nli=deberta_v3_base",
        "embedder=mpnet",
        "corpora.pool_size=8",
        "trainer=a100",
    ],
)
def test_everything_else_is_in_the_key(override):
    assert key(override) != key()


def test_the_precision_of_the_trainer_counts_and_nothing_else_of_it():
    assert content(compose([]))["precision"] == "32-true"
    assert key("trainer.devices=2") == key()
    assert not set(OUTSIDE_KEY) & set(content(compose([])))
