import json
from dataclasses import replace

import numpy as np
import pytest

from faultline.charm import calibration_file
from faultline.charm.calibration_file import Calibration, Fitted, load, same_weights, save
from faultline.charm.csct import CsctSettings
from faultline.charm.decide import CharmSettings, decide
from faultline.charm.routing import RoutingSettings
from faultline.charm.trigger import TriggerSettings
from faultline.errors import DataError, ModelError
from tests.charm.cases import random_scores

NLI, EMBEDDER = "a" * 64, "b" * 64
FITTED = Fitted(
    ("hotpotqa",), "train", ("c" * 64,), ("fault=retrieval;scope=call",), 80, 120, "n", NLI, "e", EMBEDDER,
    "reader", "f1",
)  # fmt: skip
SETTINGS = replace(
    CharmSettings(),
    csct=CsctSettings(drift_threshold=0.31),
    trigger=TriggerSettings(weights=(0.7, 0.1, 0.2), theta=0.45),
)


def written(tmp_path, **changes):
    path = tmp_path / "calibration.json"
    save(Calibration.of(SETTINGS, replace(FITTED, **changes)), path)
    return path


def test_what_is_loaded_decides_as_what_was_saved(tmp_path):
    found = load(written(tmp_path), nli_sha256=NLI, embedder_sha256=EMBEDDER[:12])
    assert found.fitted == FITTED
    scores = random_scores(1, 50)
    before, after = decide(scores, SETTINGS), decide(scores, found.settings())
    assert np.array_equal(before.p, after.p, equal_nan=True)
    assert np.array_equal(before.flagged, after.flagged) and before.flagged.any()
    mine = found.settings(CharmSettings(routing=RoutingSettings(gate=0.9)))
    assert mine.routing.gate == 0.9 and mine.trigger.theta == 0.45


@pytest.mark.parametrize(
    ("given", "role"),
    [
        ({"nli_sha256": "d" * 64}, "nli"),
        ({"embedder_sha256": "d" * 12}, "embedder"),
        ({"nli_sha256": "a" * 11}, "nli"),
    ],
)
def test_other_weights_are_refused(tmp_path, given, role):
    models = {"nli_sha256": NLI, "embedder_sha256": EMBEDDER, **given}
    with pytest.raises(ModelError, match=f"{role}_sha256: fitted for weights .*charm_calibrate"):
        load(written(tmp_path), **models)


@pytest.mark.parametrize("change", [{"split": "test"}, {"data_sha256": ()}, {"nli_sha256": "ab"}])
def test_an_origin_that_cannot_be_trusted_is_not_even_saved(tmp_path, change):
    with pytest.raises(DataError, match=next(iter(change))):
        written(tmp_path, **change)


def test_edited_broken_and_foreign_files_are_one_line(tmp_path):
    path = written(tmp_path)
    record = json.loads(path.read_text())

    def refuses(text, match):
        path.write_text(text)
        with pytest.raises(DataError, match=match) as told:
            load(path, nli_sha256=NLI, embedder_sha256=EMBEDDER)
        assert "\n" not in str(told.value) and str(path) in str(told.value)

    edited = json.loads(json.dumps(record))
    edited["calibration"]["trigger"]["theta"] = 0.1
    refuses(json.dumps(edited), "was changed after")
    tested = json.loads(json.dumps(record))
    tested["calibration"]["fitted"]["split"] = "test"
    tested["sha256"] = calibration_file.key_of(tested["calibration"], 64)
    refuses(json.dumps(tested), "train files only")
    outside = json.loads(json.dumps(record))
    outside["calibration"]["trigger"]["theta"] = 7
    outside["sha256"] = calibration_file.key_of(outside["calibration"], 64)
    refuses(json.dumps(outside), "theta=7")
    unknown = json.loads(json.dumps(record))
    unknown["calibration"]["extra"] = 1
    unknown["sha256"] = calibration_file.key_of(unknown["calibration"], 64)
    refuses(json.dumps(unknown), "extra")
    refuses(json.dumps({**record, "version": 9}), "version 1")
    refuses("[1]", "not a JSON object")
    refuses("{", "not JSON")
    path.unlink()
    with pytest.raises(DataError, match="cannot be read"):
        load(path, nli_sha256=NLI, embedder_sha256=EMBEDDER)


def test_digests_match_by_their_beginning_but_not_by_too_little():
    assert same_weights("a" * 64, "A" * 12)
    assert not same_weights("a" * 64, "a" * 11)
    assert not same_weights("", "")
    assert not same_weights("a" * 64, "a" * 12 + "b")
