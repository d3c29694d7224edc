import numpy as np
import pytest

from faultline.errors import ConfigError
from faultline.memory.reuse import default_check
from faultline.memory.semantic import SemanticMemory

SIZE = 256


def bag(texts):
    """Unit rows of word counts: the cosine is the share of common words."""
    rows = np.zeros((len(texts), SIZE), np.float32)
    for row, text in zip(rows, texts, strict=True):
        for word in text.lower().strip("?.").split():
            row[sum(ord(c) * 31**i for i, c in enumerate(word)) % SIZE] += 1
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def filled(eviction, bound=3):
    memory = SemanticMemory(bag, SIZE, bound=bound, eviction=eviction)
    for name in ("alpha", "beta", "gamma"):
        memory.put(name, name.upper())
    return memory


@pytest.mark.parametrize(("eviction", "gone"), [("fifo", "alpha"), ("lru", "beta"), ("lfu", "gamma")])
def test_who_gives_way(eviction, gone):
    """beta is used least recently of those used, gamma never: alpha, beta, then alpha twice."""
    memory = SemanticMemory(bag, SIZE, bound=3, eviction=eviction)
    for name in ("alpha", "beta"):
        memory.put(name, name.upper())
    assert [memory.get(n) for n in ("beta", "alpha", "alpha")] == ["BETA", "ALPHA", "ALPHA"]
    memory.put("gamma", "GAMMA")
    memory.put("delta", "DELTA")
    assert set(memory.entries) == {"alpha", "beta", "gamma", "delta"} - {gone}
    assert memory.get(gone) is None and memory.get("delta") == "DELTA"


def test_near_is_served_without_a_check_and_the_same_alone_with_one():
    good, bad = "is tea good for the old heart of a man", "is tea bad for the old heart of a man"
    again = "please is tea good for the old heart of a man"
    plain = SemanticMemory(bag, SIZE, tau=0.87)
    checked = SemanticMemory(bag, SIZE, tau=0.87, check=default_check())
    for memory in (plain, checked):
        memory.put(good, "yes")
    assert plain.get(bad) == "yes"
    assert checked.get(bad) is None
    assert checked.get(again) == plain.get(again) == "yes"
    assert checked.entries[good].uses == 1


def test_the_same_request_behind_its_opposite_is_found():
    """The nearest is the opposite; the check looks at the next ones too."""
    memory = SemanticMemory(bag, SIZE, tau=0.6, check=default_check())
    memory.put("is strong green tea bad for the heart", "no")
    memory.put("could you please tell me is strong green tea good for the heart", "yes")
    asked = "is strong green tea good for the heart"
    cosines = bag([asked]) @ bag(list(memory.entries)).T
    assert cosines[0, 0] > cosines[0, 1]
    assert memory.get(asked) == "yes"


def test_a_forgotten_request_is_a_miss_and_what_is_said_again_replaces():
    memory = filled("lru")
    memory.remove("beta")
    memory.remove("beta")
    assert memory.get("beta") is None
    memory.put("alpha", "anew")
    assert memory.get("alpha") == "anew" and len(memory.entries) == 2


@pytest.mark.parametrize("wrong", [{"eviction": "best"}, {"bound": 0}, {"tau": 1.5}])
def test_settings_that_mean_nothing_are_refused(wrong):
    with pytest.raises(ConfigError, match="memory: "):
        SemanticMemory(bag, SIZE, **wrong)
