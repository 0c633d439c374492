"""The module that is written for Opacus against Opacus itself: its accountant, its gradients in training."""

from __future__ import annotations

import numpy as np
import pytest

from dpbounds.ftrl.design.exports import export
from dpbounds.ftrl.design.from_data import LogisticTraining, predict_logistic
from tests.exports.designs import DESIGNS, STEPS, loaded, written

torch = pytest.importorskip("torch")
GradSampleModule = pytest.importorskip("opacus").GradSampleModule
PRVAccountant = pytest.importorskip("opacus.accountants").PRVAccountant
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_epsilon_is_that_of_one_release_by_their_accountant():
    accountant = PRVAccountant()
    design = export(DESIGNS["scaled BLT"], STEPS, "opacus", rho=0.3)
    accountant.step(noise_multiplier=design.noise_multiplier / float(design.sensitivity), sample_rate=1.0)
    assert accountant.get_epsilon(1e-5) == pytest.approx(float(design.epsilon(1e-5)), rel=0.02)


def test_training_run_ends_at_the_predicted_loss(tmp_path):
    """Logistic regression with Opacus's gradients, clipping and optimiser from the generated module, 40 runs in one
    order of the records; the forecast for that order. A third of the gradients is clipped.

    The mean of 40 runs has a standard error s; the closure's own error is below 2 % here. |difference| < 2 % + 6.5 s is
    a false alarm of 1e-10, and it sees a forecast 15 % off (s < 1.5 %, asserted) with probability above 1 - 1e-8.
    """
    rng = np.random.default_rng(0)
    n, d, runs = 180, 4, 40
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    y = (X @ np.array([3.0, -2.0, 1.0, 0.5]) + 0.5 * rng.standard_normal(n) > 0).astype(float)
    mechanism, rho, eta, clip_norm = DESIGNS["scaled BLT"], 0.03, 2.0, 0.4
    training = LogisticTraining(
        correlation=mechanism, steps=STEPS, rows=n, batch_size=n // STEPS, rho=rho, eta=eta, clip_norm=clip_norm
    )
    (forecast,) = predict_logistic(X, y, training)
    assert forecast.clipped > 0.2
    module = loaded(written(export(mechanism, STEPS, "opacus", rho=rho), tmp_path / "noise.py")[0])
    features, labels = torch.tensor(X), torch.tensor(y)[:, None]
    cost = torch.nn.BCEWithLogitsLoss()
    losses = []
    for seed in range(runs):
        model = GradSampleModule(torch.nn.Linear(d, 1, bias=False, dtype=torch.float64))
        torch.nn.init.zeros_(model._module.weight)
        optimizer = module.private(
            torch.optim.SGD(model.parameters(), lr=eta),
            max_grad_norm=clip_norm,
            expected_batch_size=training.batch_size,
            generator=torch.Generator().manual_seed(seed),
        )
        for t in range(STEPS):
            batch = training.batch(t, np.arange(n))
            optimizer.zero_grad()
            cost(model(features[batch]), labels[batch]).backward()
            optimizer.step()
        with torch.no_grad():
            losses.append(float(cost(model(features), labels)))
    mean, error = np.mean(losses), np.std(losses) / np.sqrt(runs)
    assert error < 0.015 * mean
    assert forecast.cost_of_noise > 0.03 * mean
    assert abs(mean - float(forecast.loss)) < 0.02 * mean + 6.5 * error
    assert module.epsilon(1e-5) == pytest.approx(export(mechanism, STEPS, "opacus", rho=rho).epsilon(1e-5), rel=1e-9)
