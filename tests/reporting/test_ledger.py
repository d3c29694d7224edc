from pathlib import Path

import pytest
import yaml

from faultline.errors import ConfigError
from faultline.reporting import ledger

CLAIMS = Path(__file__).parents[2] / "conf" / "claims"
GOOD = {
    "id": "a",
    "where": "Table 1",
    "text": "a number",
    "printed": "0.5",
    "kind": "recompute",
    "expected": "reproduced",
}
GOOD["evidence"] = {"metric": "m", "system": "s", "condition": ""}


def write(folder, *records):
    (folder / "ths.yaml").write_text(yaml.safe_dump({"claims": list(records)}))
    return folder


def test_a_claim_is_read(tmp_path):
    (claim,) = ledger.load(write(tmp_path, {**GOOD, "unit": "percent"}), ["ths"])
    assert (claim.paper, claim.id, claim.expected) == ("ths", "a", ("reproduced",))
    assert claim.number is not None
    assert claim.number.value == pytest.approx(0.005)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"printed": 0.5}, "quote it exactly"),
        ({"printed": "half"}, "not a number"),
        ({"kind": "guess"}, "'guess'"),
        ({"expected": ["reproduced", "fine"]}, "unknown"),
        ({"evidence": {}}, "needs evidence"),
        ({"colour": "red"}, r"unknown \['colour'\]"),
    ],
)
def test_a_broken_claim_is_named(tmp_path, change, message):
    with pytest.raises(ConfigError, match=message) as caught:
        ledger.load(write(tmp_path, {**GOOD, **change}), ["ths"])
    assert "claim a" in str(caught.value)


def test_an_id_occurs_once(tmp_path):
    with pytest.raises(ConfigError, match="claim a occurs twice"):
        ledger.load(write(tmp_path, GOOD, GOOD), ["ths"])


def test_files_that_are_no_claims(tmp_path):
    with pytest.raises(ConfigError, match="no such claims file"):
        ledger.load(tmp_path, ["fp"])
    (tmp_path / "ths.yaml").write_text("claims: {a: 1")
    with pytest.raises(ConfigError, match="not YAML"):
        ledger.load(tmp_path, ["ths"])
    (tmp_path / "ths.yaml").write_text("numbers: []")
    with pytest.raises(ConfigError, match="expected a list"):
        ledger.load(tmp_path, ["ths"])


def test_the_shipped_claims_load_and_are_many():
    claims = ledger.load(CLAIMS)
    sizes = {paper: sum(c.paper == paper for c in claims) for paper in ledger.PAPERS}
    assert sizes["ths"] >= 300
    assert sizes["charm"] >= 110
    assert sizes["fp"] >= 100
    second_hand = [c for c in claims if "second-hand" in c.note]
    assert len(second_hand) >= 20
