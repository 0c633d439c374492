"""What is released or calibrated here, audited against its own claim; the papers' false guarantees are refuted."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from dpbounds.audit import Box, Pair, audit, evaluated, gaussian, rerun
from dpbounds.ftrl.design import Bands, Blt, export, unit_columns
from dpbounds.glm import privacy as glm_privacy
from dpbounds.iv.confidence import PrivacyBudget, ReleasePlan
from dpbounds.iv.pairs import beta_only_pair
from dpbounds.ols import DynamicMixing
from dpbounds.privacy import zcdp_epsilon
from dpbounds.private import LocalGLM
from simulators.engine import Streams
from simulators.ftrl.designed import designed_noise
from simulators.glm.estimators import bounded
from simulators.glm.settings import Settings as UserSettings
from simulators.iv.confidence.disclosing import disclose
from simulators.iv.confidence.records import bounded_records
from simulators.iv.confidence.sources import GaussianSource
from simulators.iv.samples import RecordSample
from simulators.iv.settings import Settings
from simulators.iv.two_stage import iterates
from simulators.ols.linear_mixing import dynamic_mixing
from simulators.ols.records import LeastSquares

ALARMS = ("refuted", "law differs")
SECONDS = 12.0


def refuted_with_a_witness(found, run):
    again = rerun(found.witness, run, seconds=60.0).content if found.witness is not None else None
    return (
        found.verdict == "refuted"
        and evaluated(found.witness).refuted
        and again is not None
        and evaluated(again).refuted
    )


# --- ftrl: designed noise ---

STEPS, SIZE = 12, 200
DESIGNS = [Blt((0.9, 0.5), (0.2, 0.1)), unit_columns(Bands((1.0, 0.5, 0.2)), STEPS)]


@pytest.mark.parametrize("mechanism", DESIGNS, ids=["blt", "bands"])
def test_designed_noise(mechanism):
    """The export is proved at its budget and not below it; noise that is drawn has the law that is proved."""
    design = export(mechanism, STEPS, "npz", rho=0.5)
    assert audit(design, {"rho": 0.5}, adjacency="zero-out").verdict == "proved"
    assert audit(design, {"rho": 0.499}, adjacency="zero-out").verdict == "refuted"
    decoder = np.linalg.inv(mechanism.encoder(STEPS))

    def run(data, seed):
        noise = designed_noise(mechanism, STEPS, SIZE, np.random.default_rng(seed))
        clipped = data / np.maximum(np.linalg.norm(data, axis=1, keepdims=True), 1.0)
        return clipped + design.noise_multiplier * np.array(list(noise))

    law = gaussian(design.noise_multiplier**2 * decoder @ decoder.T)
    domain = Box(shape=(STEPS, SIZE), low=-1, high=1)
    found = audit(run, {"mu": 1.0}, adjacency="zero-out", domain=domain, law=law, seconds=SECONDS)
    assert found.verdict == "consistent" and found.epsilon[0] < 1.0


# --- iv: Algorithm 3 and Lemma F.1, Algorithm 1 ---

N, T = 20, 3


def descent(gamma, scales, *, released):
    """Two-stage descent on one data set of columns; the paths that are `released`, an output a step and coefficient."""
    settings = Settings(steps=T, eta=0.5, alpha=1.0, gamma1=gamma, gamma2=gamma, lambda1=scales[0], lambda2=scales[1])

    def run(data, seed):
        rng = np.random.default_rng(seed)
        sample = RecordSample(
            instruments=data["z"][None, None], regressors=data["x"][None, None], outcome=data["y"][None]
        )
        noise = [
            (scales[0] * rng.standard_normal((1, 1, 1)), scales[1] * rng.standard_normal((1, 1))) for _ in range(T)
        ]
        paths = {"theta": [], "beta": []}
        for one in iterates(sample, settings, noise, 1):
            paths["theta"].append(float(one.theta.item()))
            paths["beta"].append(float(one.beta.item()))
        return np.array([paths[name] for name in released]).ravel()

    return run


def columns(side):
    return {"z": side.Z[:, 0], "x": side.X[:, 0], "y": side.Y}


def turning():
    pair = beta_only_pair(N, shift=1.0)
    return [Pair(*(columns(side) for side in pair), "one record turns Theta")]


def test_lemma_f_1_is_refuted():
    """beta alone with no noise in the first stage: the lemma's rho2 = 2 T gamma2^2/(n lambda2)^2 at twice the noise."""
    rho = 0.5
    scale = 2 * math.sqrt(2 * T / rho) / N
    run = descent(1.0, (0.0, scale), released=("beta",))
    root = np.tril(np.ones((T, T)))
    law = gaussian(scale**2 * root @ root.T)
    found = audit(run, {"rho": rho}, adjacency="replace-one", domain=turning(), law=law, seconds=SECONDS)
    assert refuted_with_a_witness(found, run), found.text
    true = 2 * (T - 1) / scale**2
    assert rho < found.epsilon[0] <= true <= found.epsilon[1]


def test_two_stage_descent_with_noise_in_both_stages_is_as_proposition_3_1_says():
    rho = 2.0
    scale = math.sqrt(2 * 2 * T / rho) / N
    run = descent(1.0, (scale, scale), released=("theta", "beta"))
    claim = float(zcdp_epsilon(rho, 0.01)), 0.01
    settings = {"adjacency": "replace-one", "domain": turning(), "law": gaussian(), "seconds": 2 * SECONDS}
    found = audit(run, claim, **settings)
    assert found.verdict not in ALARMS and found.coverage.ran == 1 and found.steps[-1].calls > 200, found.text


# --- iv: releases of `solve iv --confidence` ---


class Recording(GaussianSource):
    """Keeps all that gets noise, in units of that noise."""

    def __init__(self, generator):
        super().__init__(generator)
        self.seen = []

    def vector(self, values, scale):
        noisy = super().vector(values, scale)
        self.seen.append(np.ravel(noisy) / scale)
        return noisy


@pytest.mark.parametrize("design", ["u", "h"])
def test_confidence_releases(design):
    mu = 0.8
    plan = ReleasePlan(
        outcome="y",
        regressors=("x",),
        instruments=("z",),
        bounds={"y": (-1, 1), "x": (-2, 1)},
        instrument_means={"z": 0.5},
        budget=PrivacyBudget(mu=mu),
        design=design,
        seed=0,
    )

    def run(data, seed):
        source = Recording(np.random.default_rng(seed))
        disclose(plan, bounded_records(plan, data), source)
        return np.concatenate(source.seen)

    domain = {
        "z": Box(shape=(30,), low=0, high=1, integer=True),
        "x": Box(shape=(30,), low=-2, high=1),
        "y": Box(shape=(30,), low=-1, high=1),
    }
    settings = {"adjacency": "replace-one", "domain": domain, "law": gaussian(scale=1.0), "seconds": 2 * SECONDS}
    found = audit(run, {"mu": mu}, **settings)
    assert found.verdict in ("consistent", "unclear") and found.epsilon[0] <= mu, found.text
    assert found.epsilon[0] > 0.3 * mu  # the search finds neighbours that cost something
    assert refuted_with_a_witness(audit(run, {"mu": 0.3 * mu}, **settings), run)


# --- glm: messages of users ---

P = 3


def test_messages_of_the_local_survey():
    def run(data, seed):
        survey = LocalGLM(link="logistic", epsilon=1.0, delta=1e-5, noise="gaussian", seed=seed)
        return survey.message(data[:, :P], np.sign(data[:, P]) > 0).ravel()

    domain = Box(shape=(1, P + 1), low=-1, high=1)
    found = audit(run, (1.0, 1e-5), adjacency="replace-one", domain=domain, law=gaussian(), seconds=SECONDS)
    assert found.verdict not in ALARMS and 0.9 < found.epsilon[0] <= 1.0, found.text


def user(*, beyond, label_bound=1.0):
    """The message of glm Algorithm 1 (records outside the radius are refused) or 3 (labels are taken as they are)."""
    scales = glm_privacy.noise_scales(1.0, 1e-3, radius=1.0, label_bound=label_bound, p=P)
    settings = UserSettings(beyond=beyond, radius=1.0, label_bound=label_bound)
    upper = np.triu_indices(P)

    def run(data, seed):
        rng = np.random.default_rng(seed)
        x, y = bounded(data[:, :P], data[:, P], settings)
        if not len(x):
            return np.zeros(1)  # "outside"
        gram, cross = np.outer(x[0], x[0])[upper], x[0] * y[0]
        return np.concatenate(
            [
                gram / scales.gram + rng.standard_normal(len(gram)),
                cross / scales.cross + rng.standard_normal(P),
            ]
        )

    return run


def test_glm_algorithm_1_tells_records_outside_the_radius():
    run = user(beyond="refuse")
    domain = Box(shape=(1, P + 1), low=-2, high=2)
    settings = {"adjacency": "replace-one", "domain": domain, "law": gaussian(scale=1.0), "seconds": SECONDS}
    found = audit(run, (1.0, 1e-3), **settings)
    assert refuted_with_a_witness(found, run) and found.witness["event"]["kind"] == "form"
    clipped = audit(user(beyond="clip"), (1.0, 1e-3), **settings)
    assert clipped.verdict == "consistent" and clipped.epsilon[1] < 1.0


def test_glm_algorithm_3_takes_every_label():
    run = user(beyond="refuse")
    low, high = np.array([-0.5] * P + [-np.inf]), np.array([0.5] * P + [np.inf])
    domain = Box(shape=(1, P + 1), low=low, high=high)
    settings = {"adjacency": "replace-one", "domain": domain, "law": gaussian(scale=1.0), "seconds": SECONDS}
    found = audit(run, (1.0, 1e-3), **settings)
    assert refuted_with_a_witness(found, run) and found.witness["kind"] in ("scale", "declared"), found.text
    assert audit(user(beyond="clip"), (1.0, 1e-3), **settings).verdict == "consistent"


# --- ols: Algorithm 5 ---

C_Y, LEVEL = 30.0, 2.2


def mixing(*, right):
    return DynamicMixing(epsilon=1.0, delta=1e-6, k=10**8, failure=1e-7, in_units=right, as_drawn=right)


@cache
def problem(with_record, gamma):
    """[X, Y]'[X, Y] is `LEVEL` gamma I with the record (1, C_Y), and less by it without."""
    number = math.ceil(LEVEL * gamma)
    x = np.sqrt((LEVEL * gamma - 1) / number) * np.ones(number)
    # Outcomes orthogonal to x but for the record's own part, and of the size that is left.
    signs = np.where(np.arange(number) % 2 == 0, 1.0, -1.0)
    along = -C_Y / (x @ x)
    y = along * x + signs * np.sqrt(max((LEVEL * gamma - C_Y**2 - along**2 * (x @ x)) / number, 0.0))
    rows, outcomes = np.append(x, 1.0)[:, None], np.append(y, C_Y)
    if not with_record:
        rows[-1], outcomes[-1] = 0.0, 0.0
    return LeastSquares(regressors=rows, outcome=outcomes, row_bound=1.0, outcome_bound=C_Y)


def estimate(settings):
    def run(data, seed):
        own = problem(bool(data[0, 1]), settings.gamma)
        rng = np.random.default_rng(seed)
        return dynamic_mixing(own, settings, Streams(noise=rng, data=rng, initial=rng), 1)["theta"][0]

    return run


def test_ols_algorithm_5_is_refuted_as_printed():
    pair = [Pair(np.array([[1.0, C_Y]]), np.zeros((1, 2)), "the record (1, C_Y)")]
    settings = {"adjacency": "zero-out", "domain": pair, "law": "unknown", "seconds": 2 * SECONDS}
    run = estimate(mixing(right=False))
    found = audit(run, (1.0, 1e-6), **settings)
    assert refuted_with_a_witness(found, run), found.text
    right = audit(estimate(mixing(right=True)), (1.0, 1e-6), **settings)
    assert right.verdict not in ALARMS and right.coverage.ran == 1
