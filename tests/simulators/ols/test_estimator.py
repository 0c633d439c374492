"""The private linear regression: scikit-learn's checks, its budget, its noise, and what an opponent tries."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from dpbounds import AccuracyError, DomainError
from dpbounds.private import LinearRegression
from simulators import opendp
from simulators.ols.estimator import MOST_ROUNDED
from simulators.sources import OpenDPSource

N = 400
# Checks of scikit-learn that fail, with the reason.
FAILING = {
    "check_estimators_unfitted": "a DomainError, not scikit-learn's own class, which may not be there",
    "check_complex_data": "refused in other words",
    "check_dtype_object": "refused in other words",
    "check_supervised_y_2d": "outcomes of shape (n, 1) are refused, not reshaped with a warning",
}


def records(seed: int = 0, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 10, (n, 2))
    return X, 3 + X @ [1.0, -0.5] + rng.uniform(-1, 1, n)


def model(**changed: Any) -> LinearRegression:
    known = {"epsilon": 3.0, "delta": 1e-6, "ranges": (0, 10), "outcome_range": (-5, 15), "seed": 1}
    return LinearRegression(**{**known, **changed})


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks():
    wide = model(epsilon=50.0, delta=1e-3, ranges=(-5, 5), outcome_range=(-100, 100))
    found = check_estimator(wide, on_fail=None, on_skip=None)
    assert {row["check_name"] for row in found if row["status"] == "failed"} == set(FAILING)
    assert sum(row["status"] == "passed" for row in found) >= 40


def test_it_fits_predicts_and_scores_in_the_records_units():
    X, y = records(n=20_000)
    fitted = model().fit(X, y)
    assert fitted.coef_ == pytest.approx([1.0, -0.5], abs=0.05) and fitted.intercept_ == pytest.approx(3.0, abs=0.3)
    assert fitted.predict(X[:3]) == pytest.approx(X[:3] @ fitted.coef_ + fitted.intercept_)
    assert fitted.score(X, y) > 0.95 and not fitted.private_ and fitted.noise_ == "numpy"
    assert cross_val_score(model(), X, y, cv=3).min() > 0.9
    flat = model(fit_intercept=False).fit(X, y)
    assert len(flat.theta_) == 2 and flat.intercept_ == pytest.approx(5.0 - 5.0 * flat.coef_.sum())


def test_data_frames_and_ranges_by_name():
    pandas = pytest.importorskip("pandas")
    X, y = records()
    table = pandas.DataFrame(X, columns=["a", "b"])
    fitted = model(ranges={"b": (0, 10), "a": (0, 10), "other": (0, 1)}).fit(table, y)
    assert fitted.feature_names_in_.tolist() == ["a", "b"] and fitted.coef_ == pytest.approx(model().fit(X, y).coef_)
    with pytest.raises(DomainError, match="in their order"):
        fitted.predict(table[["b", "a"]])
    with pytest.raises(DomainError, match="b too"):
        model(ranges={"a": (0, 10)}).fit(table, y)


@pytest.mark.skipif(not opendp.installed(), reason="needs the extra opendp")
def test_a_private_fit_draws_from_opendp_and_is_not_repeated():
    X, y = records()
    first, again = (model(seed=None).fit(X, y) for _ in range(2))
    assert first.private_ and first.noise_ == "opendp" and first.coef_.tolist() != again.coef_.tolist()
    before = first.coef_.tolist()
    for spent in (first, first.set_params(epsilon=9.0), pickle.loads(pickle.dumps(first))):
        with pytest.raises(DomainError, match="budget is spent"):
            spent.fit(X, y)
    assert first.coef_.tolist() == before and not hasattr(clone(first), "coef_")


def test_floats_are_said_where_they_draw():
    with pytest.warns(UserWarning, match="floats"):
        fitted = model(seed=None, noise="numpy").fit(*records())
    assert fitted.private_ and fitted.noise_ == "numpy"


def test_a_run_that_breaks_off_has_spent_the_budget(monkeypatch):
    def full(*_: Any) -> np.ndarray:
        raise MemoryError

    broken = model(seed=None)
    monkeypatch.setattr("simulators.ols.estimator.tail_release", full)
    with pytest.raises(MemoryError):
        broken.fit(*records())
    with pytest.raises(DomainError, match="budget is spent"):
        broken.fit(*records())


def test_bad_parameters_spend_nothing():
    unspent = model(seed=None, epsilon=-1.0)
    with pytest.raises(DomainError, match="epsilon"):
        unspent.fit(*records())
    assert not getattr(unspent, "private_", False)


def test_nothing_that_is_kept_tells_the_noise():
    """No generator, no records, no digest of them: what is pickled holds the release and the parameters alone."""
    X, y = records()
    text = pickle.dumps(model(seed=None).fit(X, y) if opendp.installed() else model().fit(X, y))
    for word in (b"default_rng", b"PCG64", b"LeastSquares", b"digest", b"Source", X.tobytes()[:64], y.tobytes()[:64]):
        assert word not in text


def test_the_saved_content_is_json_and_names_what_is_public():
    content = json.loads(json.dumps(model().fit(*records()).content(), allow_nan=False))
    assert content["private"] is False and content["seed"] == 1 and content["records"] == N
    assert content["event"] == {"kind": "gaussian", "noise_multiplier": 1 / content["mu"], "steps": 1}
    with pytest.raises(DomainError, match="content"):
        model().content()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"ranges": None}, "ranges"),
        ({"outcome_range": None}, "outcome_range"),
        ({"ranges": (10, 0)}, "low < high"),
        ({"ranges": [(0, 10)]}, "one for each of 2"),
        ({"ranges": {"a": (0, 10)}}, "X has no names"),
        ({"ranges": (0, np.nan)}, "ranges|columns"),
        ({"ranges": 3}, "ranges"),
        ({"outcome_range": (0, 1, 2)}, "outcome"),
        ({"delta": None}, "delta"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"epsilon": np.inf}, "epsilon"),
        ({"adjacency": "add-remove"}, "adjacency"),
        ({"beyond": "keep"}, "beyond"),
        ({"noise": "laplace", "seed": None}, "noise"),
        ({"noise": "opendp"}, "seed"),
        ({"seed": -1}, "seed"),
    ],
)
def test_parameters_that_are_refused(changed, words):
    with pytest.raises(DomainError, match=words):
        model(**changed).fit(*records())


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (np.full((9, 2), np.nan), np.zeros(9), "inf or NaN"),
        (np.zeros((9, 2)), np.full(9, np.inf), "inf or NaN"),
        (np.zeros(9), np.zeros(9), "Reshape"),
        (np.zeros((9, 2)), np.zeros(8), "one outcome a row"),
        (np.zeros((2, 2)), np.zeros(2), "n_samples"),
        (np.zeros((0, 2)), np.zeros(0), "0 sample"),
        (np.zeros((9, 2)), None, "requires y"),
        ([["a", "b"]] * 9, np.zeros(9), "X"),
    ],
)
def test_records_that_are_refused(X, y, words):
    with pytest.raises(DomainError, match=words):
        model().fit(X, y)


def test_records_beyond_their_ranges_are_clipped_or_refused():
    X, y = records()
    far, inside = X.copy(), X.copy()
    far[0], inside[0] = (1e9, -1e9), (10.0, 0.0)
    assert model().fit(far, y).coef_.tolist() == model().fit(inside, y).coef_.tolist()
    with pytest.raises(DomainError, match="1 records beyond"):
        model(beyond="refuse").fit(far, y)


@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("case", ["constant", "zero", "few", "collinear"])
def test_odd_records_give_finite_models(case, epsilon):
    X, y = records()
    if case == "constant":
        y = np.full(N, 15.0)
    elif case == "zero":
        X, y = np.full((N, 2), 5.0), np.full(N, 5.0)
    elif case == "few":
        X, y = X[:3], y[:3]
    else:
        X = X[:, [0, 0]]
    fitted = model(epsilon=epsilon).fit(X, y)
    assert np.isfinite(fitted.coef_).all() and np.isfinite(fitted.intercept_)
    assert fitted.excess_ is None or fitted.excess_ >= 0.0
    json.dumps(fitted.content(), allow_nan=False)


@pytest.mark.skipif(not opendp.installed(), reason="needs the extra opendp")
def test_sums_that_opendp_would_round_too_coarsely_are_refused():
    assert isinstance(model(seed=None).source(1000, 4), OpenDPSource)
    with pytest.raises(DomainError, match="noise = opendp"):
        model(seed=None).source(int(MOST_ROUNDED), 4)


def test_the_forecast_from_records_that_stand_in_needs_no_fit():
    X, y = records(1, 3000)
    rows = np.column_stack([X, np.ones(len(X))])
    plain = rows @ np.linalg.lstsq(rows, y, rcond=None)[0]
    forecast = model().expected_excess(X, y)
    excess = []
    for seed in range(20):
        fitted = model(seed=seed).fit(X, y)
        excess.append(np.mean((fitted.predict(X) - plain) ** 2))
    assert np.mean(excess) == pytest.approx(forecast, rel=0.6)
    assert model(adjacency="replace-one").expected_excess(X, y) > 1.5 * forecast


def test_noise_intervals_are_in_the_records_units_and_of_each_prediction():
    X, y = records(n=3000)
    fitted = model().fit(X, y)
    ends, coefficients = fitted.noise_interval(X[:5]), fitted.coef_noise_interval()
    assert ends.shape == (5, 2) and coefficients.shape == (3, 2)
    middle = coefficients.mean(axis=1)
    assert ends.mean(axis=1) == pytest.approx(X[:5] @ middle[:2] + middle[2])
    assert (ends[:, 0] < fitted.predict(X[:5])).all() and (fitted.predict(X[:5]) < ends[:, 1]).all()
    at_zero = fitted.noise_interval(np.zeros((1, 2)), 0.95)[0]
    assert at_zero == pytest.approx(coefficients[2])
    wider = np.diff(fitted.noise_interval(X[:5], 0.999)) / np.diff(ends)
    assert (wider > 1.6).all() and (wider < 2.0).all()
    assert fitted.content(0.5)["noise_intervals"] == fitted.coef_noise_interval(0.5).tolist()
    assert (np.diff(model(adjacency="replace-one").fit(X, y).noise_interval(X[:5])) > 1.8 * np.diff(ends)).all()


def test_noise_intervals_are_refused_where_no_law_is_known():
    X, y = records(n=3000)
    for spent, words in (
        (model(ranges=[(0, 10), (-1e6, 1e6)]), "hides a direction"),
        (model(epsilon=0.01), "hides a direction"),
        (model(fit_intercept=False, ranges=[(0, 10), (0, 10)], epsilon=0.4), "clipped"),
    ):
        few = words == "clipped"
        fitted = spent.fit(X[:300], y[:300]) if few else spent.fit(X, y)
        with pytest.raises(AccuracyError, match=words):
            fitted.noise_interval(X[:2], 0.2 if few else 0.95)
        assert fitted.content()["noise_intervals"] is None and fitted.content()["noise_intervals_missing"]
    fitted = model().fit(X, y)
    for level in (0.0, 1.0, float("nan"), "95 %"):
        with pytest.raises(DomainError, match="level"):
            fitted.noise_interval(X[:2], level)  # pyright: ignore
    with pytest.raises(DomainError, match="features"):
        fitted.noise_interval(X[:2, :1])
    with pytest.raises(DomainError, match="before fit"):
        model().coef_noise_interval()
