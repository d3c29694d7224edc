import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.linear_model import LogisticRegression

from faultline.charm.confidence_fit import expected_calibration_error, fit, log_loss, logits_of
from faultline.charm.cpm import calibrated
from faultline.errors import ConfigError, DataError

RNG = np.random.default_rng(0)
CONFIDENCE = RNG.uniform(0.02, 0.98, 800)
CORRECT = (RNG.random(800) < 1 / (1 + np.exp(-(0.5 * logits_of(CONFIDENCE) - 0.4)))).astype(float)


def test_temperature_is_the_optimum_that_scipy_finds():
    found = fit("temperature", CONFIDENCE, CORRECT)

    def loss(t):
        return log_loss(calibrated(CONFIDENCE, t), CORRECT)

    best = minimize_scalar(loss, bounds=(0.2, 10), method="bounded").x
    assert found.parameters[0] == pytest.approx(best, rel=1e-3)
    assert found.apply(CONFIDENCE) == pytest.approx(calibrated(CONFIDENCE, found.parameters[0]))


def test_platt_is_sklearns_unpenalised_logistic_regression():
    found = fit("platt", CONFIDENCE, CORRECT)
    reference = LogisticRegression(C=1e8, tol=1e-10).fit(logits_of(CONFIDENCE)[:, None], CORRECT)
    assert found.parameters == pytest.approx((reference.coef_[0, 0], reference.intercept_[0]), abs=2e-3)


def test_each_method_lowers_the_loss_it_was_fitted_for():
    plain = log_loss(CONFIDENCE, CORRECT)
    for method in ("temperature", "platt", "isotonic"):
        assert log_loss(fit(method, CONFIDENCE, CORRECT).apply(CONFIDENCE), CORRECT) < plain
    isotonic = fit("isotonic", CONFIDENCE, CORRECT).apply(np.sort(CONFIDENCE))
    assert (np.diff(isotonic) >= 0).all() and isotonic.min() >= 0 and isotonic.max() <= 1


def test_calibration_error_by_hand():
    """Two in bin 7 (.75 stated, half right), two in bin 9 (.95, all right): (.25 * 2 + .05 * 2) / 4."""
    stated, right = np.array([0.75, 0.75, 0.95, 0.95]), np.array([1.0, 0.0, 1.0, 1.0])
    assert expected_calibration_error(stated, right) == pytest.approx(0.15)
    assert expected_calibration_error(np.array([1.0]), np.array([1.0])) == 0.0


def test_what_cannot_be_fitted_is_refused():
    with pytest.raises(ConfigError, match="choose one of"):
        fit("beta", CONFIDENCE, CORRECT)
    with pytest.raises(DataError, match="rarer outcome, 20 are needed"):
        fit("platt", CONFIDENCE[:30], np.ones(30))
    with pytest.raises(DataError, match="without NaN"):
        fit("platt", np.array([np.nan]), np.ones(1))
