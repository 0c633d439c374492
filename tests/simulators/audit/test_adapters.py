"""Objects of other libraries, audited: OpenDP measurements, estimators, accountants' events."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.audit import Box, Pair, adapters, audit, gaussian, laplace

CALLS = 8.0


class NoisyRegression:
    """The moments X'y with Laplace noise, for numbers in [low, high]; `twice` uses the lower bound for both."""

    def __init__(self, epsilon, low, high, twice=False, random_state=None):
        self.epsilon, self.low, self.high = epsilon, low, high
        self.twice, self.random_state = twice, random_state

    def fit(self, X, y):
        rng = np.random.default_rng(self.random_state)
        X, y = np.clip(X, self.low, self.high), np.clip(y, self.low, self.high)
        widest = max(abs(self.low), abs(self.low if self.twice else self.high))
        scale = 2 * 2 * X.shape[1] * widest**2 / self.epsilon
        self.moments_ = X.T @ y + rng.laplace(scale=scale, size=X.shape[1])
        return self


@pytest.mark.parametrize(
    ("twice", "low", "verdict"), [(False, 0.5, "consistent"), (True, 0.5, "refuted"), (True, -1.0, "consistent")]
)
def test_estimators(twice, low, verdict):
    """A replaced record moves each moment by at most 2 high^2, their sum by twice the number of columns."""
    run = adapters.estimator(NoisyRegression(1.0, low, 1.0, twice), "moments_")
    box = {"X": Box(shape=(6, 2), low=low, high=1.0), "y": Box(shape=(6,), low=low, high=1.0)}
    found = audit(run, 0.5, adjacency="replace-one", domain=box, law=laplace(), seconds=CALLS)
    assert found.verdict == verdict, found.text
    assert (run({"X": np.ones((2, 2)), "y": np.ones(2)}, 3)["moments_"]).shape == (2,)


def test_estimators_of_scikit_learn():
    base = pytest.importorskip("sklearn.base")
    linear = pytest.importorskip("sklearn.linear_model")

    class Private(linear.LinearRegression):
        """Its coefficients with noise for rows of norm 1: none is enough, since they have no bound."""

        def __init__(self, random_state=None):
            super().__init__()
            self.random_state = random_state

        def fit(self, X, y):
            super().fit(X, y)
            self.coef_ = self.coef_ + np.random.default_rng(self.random_state).normal(size=self.coef_.shape)
            return self

    run = adapters.estimator(base.clone(Private()), "coef_")
    box = {"X": Box(shape=(8, 1), low=-1, high=1), "y": Box(shape=(8,), low=-1, high=1)}
    found = audit(run, (1.0, 1e-5), adjacency="replace-one", domain=box, law=gaussian(1.0), seconds=CALLS)
    assert found.verdict == "refuted" and found.epsilon[0] > 1.0
    with pytest.raises(DomainError, match="released"):
        adapters.estimator(Private())


def test_measurements_of_opendp():
    """They take no seed, and their claims are their own maps'; the maps are right, and a claim of half is refuted."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    plane = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)
    run, claim = adapters.measurement(plane >> dp.m.then_gaussian(scale=0.2), 1.0)
    assert claim.rho == pytest.approx(12.5)
    pair = [Pair(np.zeros(2), np.array([0.6, 0.8]), "a step of length 1")]
    found = audit(run, claim, adjacency="zero-out", domain=pair, law=gaussian(), seconds=CALLS)
    assert found.verdict in ("consistent", "unclear") and found.epsilon[0] < claim.rho  # unclear where it is slow
    half = replace(claim, rho=claim.rho / 2)
    found = audit(run, half, adjacency="zero-out", domain=pair, law=gaussian(), seconds=CALLS)
    assert found.verdict == "refuted" and found.witness["kind"] == "means"
    line = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    run, claim = adapters.measurement(line >> dp.m.then_laplace(scale=0.5), 1.0)
    assert claim.pure and claim.epsilon == pytest.approx(2.0)
    pair = [Pair(np.zeros(1), np.ones(1), "1 more")]
    found = audit(run, claim, adjacency="add-remove", domain=pair, law="unknown", seconds=CALLS)
    assert found.verdict == "consistent" and 1.0 < found.epsilon[0] < 2.0
    assert audit(run, 1.0, adjacency="add-remove", domain=pair, law="unknown", seconds=CALLS).verdict == "refuted"


def test_measures_of_opendp_that_are_no_claim():
    class Measured:
        output_measure = "RenyiDivergence"

        def map(self, d_in):
            return 1.0

    with pytest.raises(DomainError, match="RenyiDivergence"):
        adapters.measurement(Measured(), 1.0)


def test_events_of_accountants():
    """Their epsilon lies between the bounds that are decided, and 2 % less than the lower bound is refuted."""
    dp = pytest.importorskip("dp_accounting")
    pld = pytest.importorskip("dp_accounting.pld")
    told = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0)), 100)
    run = adapters.event(told)
    assert (run.kind, run.noise_multiplier, run.sampling_probability, run.steps) == ("poisson", 1.0, 0.01, 100)
    theirs = pld.PLDAccountant(dp.NeighboringRelation.ADD_OR_REMOVE_ONE).compose(told).get_epsilon(1e-5)
    found = audit(run, (theirs * 1.01, 1e-5), adjacency="add-remove")
    assert found.verdict == "consistent" and found.epsilon[0] <= theirs * 1.001 and theirs <= found.epsilon[1] * 1.001
    assert audit(run, (found.epsilon[0] * 0.98, 1e-5), adjacency="add-remove").verdict == "refuted"
    composed = dp.ComposedDpEvent([dp.SelfComposedDpEvent(dp.GaussianDpEvent(2.0), 4)])
    spent = audit(adapters.event(composed), {"mu": 1.0}, adjacency="zero-out")
    assert spent.verdict == "consistent" and spent.epsilon == (1.0, 1.0)


def test_histories_of_accountants():
    one = adapters.event(SimpleNamespace(history=[(1.1, 0.02, 50)]))
    assert (one.kind, one.noise_multiplier, one.sampling_probability, one.steps) == ("poisson", 1.1, 0.02, 50)
    with pytest.raises(DomainError, match="2 settings"):
        adapters.event(SimpleNamespace(history=[(1.1, 0.02, 50), (1.0, 0.02, 50)]))


def test_events_that_are_not_decided():
    dp = pytest.importorskip("dp_accounting")
    noise = dp.GaussianDpEvent(1.0)
    for told in (
        dp.LaplaceDpEvent(1.0),
        dp.ComposedDpEvent([noise, noise]),
        dp.SampledWithoutReplacementDpEvent(100, 10, noise),
        dp.PoissonSampledDpEvent(0.1, dp.SelfComposedDpEvent(noise, 4)),
        dp.PoissonSampledDpEvent(0.1, dp.PoissonSampledDpEvent(0.1, noise)),
        dp.TruncatedSubsampledGaussianDpEvent(100, 0.1, 10, 1.0),
        dp.SingleEpochTreeAggregationDpEvent(1.0, 3),
        dp.NoOpDpEvent(),
        math.pi,
    ):
        with pytest.raises(DomainError, match="event"):
            adapters.event(told)
