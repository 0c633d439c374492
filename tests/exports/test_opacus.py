"""Exports for Opacus against Opacus itself: its noise, resuming, its accountants, its training."""

from __future__ import annotations

import io

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.ftrl.design.exports import export
from dpbounds.ftrl.design.from_data import LogisticTraining, predict_logistic
from tests.exports.designs import DESIGNS, STEPS, covariance_scores, loaded, written

torch = pytest.importorskip("torch")
GradSampleModule = pytest.importorskip("opacus").GradSampleModule
PRVAccountant = pytest.importorskip("opacus.accountants").PRVAccountant
designed = pytest.importorskip("simulators.ftrl.opacus")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")


def optimizer_for(parameters, mechanism, **options):
    design = export(mechanism, STEPS, "opacus", rho=0.3)
    wrapped = torch.optim.SGD(parameters, lr=options.pop("lr", 1.0))
    settings = {"max_grad_norm": 2.0, "expected_batch_size": 1, "loss_reduction": "sum", **options}
    return designed.DesignedNoiseOptimizer(wrapped, design=design, **settings)


def noise_of(optimizer, steps=STEPS):
    """What each step adds to gradients that are 0, all parameters in a row."""
    rows = []
    for _ in range(steps):
        for parameter in optimizer.params:
            parameter.grad_sample = torch.zeros(1, *parameter.shape, dtype=parameter.dtype)
        optimizer.step()
        rows.append(torch.cat([parameter.grad.flatten() for parameter in optimizer.params]).numpy().copy())
        optimizer.zero_grad()
    return np.array(rows)


@pytest.mark.parametrize("name", DESIGNS)
def test_noise_is_the_decoder_times_the_draws(name, monkeypatch):
    """Unit impulses in the place of draws give sigma G_c B entry by entry."""
    drawn = iter(range(STEPS))

    def impulse(std, reference, generator=None, secure_mode=False):
        draw = torch.zeros_like(reference)
        draw[next(drawn)] = std
        return draw

    monkeypatch.setattr(designed, "_generate_noise", impulse)
    mechanism = DESIGNS[name]
    found = noise_of(optimizer_for([torch.nn.Parameter(torch.zeros(STEPS, dtype=torch.float64))], mechanism))
    largest = np.linalg.norm(mechanism.encoder(STEPS), axis=0).max()
    expected = 2.0 * largest / np.sqrt(2 * 0.3) * mechanism.matrix(STEPS)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("secure", [False, True])
def test_drawn_noise_has_the_designed_covariance(secure):
    """171 entries at |z| < 7: false alarms below 1e-9; 6 % off on the diagonal (z = 0.06 sqrt(N / 2) = 13.4 at N =
    100,000) is seen with probability above 1 - 1e-8. Two parameters share one generator, not one draw.
    """
    mechanism = DESIGNS["scaled BLT"]
    parameters = [torch.nn.Parameter(torch.zeros(250, 200)), torch.nn.Parameter(torch.zeros(50_000))]
    generator = torch.Generator().manual_seed(5)
    noise = noise_of(optimizer_for(parameters, mechanism, generator=generator, secure_mode=secure))
    decoder = mechanism.matrix(STEPS)
    expected = 4.0 / (2 * 0.3) * decoder @ decoder.T
    assert np.abs(covariance_scores(noise.astype(float), expected)).max() < 7
    assert np.abs(covariance_scores(noise.astype(float), 1.06 * expected)).max() > 7
    assert abs(np.corrcoef(noise[0, :50_000], noise[0, 50_000:])[0, 1]) < 7 / np.sqrt(50_000)


@pytest.mark.parametrize("name", ["scaled BLT", "dense bands", "independent"])
def test_a_resumed_run_draws_the_same_noise(name):
    """Through a file, at any step; the saved state is not moved on by the run that saved it."""

    def parameters():
        return [torch.nn.Parameter(torch.zeros(3, 2)), torch.nn.Parameter(torch.zeros(4))]

    def fresh(seed):
        return optimizer_for(parameters(), DESIGNS[name], generator=torch.Generator().manual_seed(seed))

    whole = noise_of(fresh(3))
    first = fresh(3)
    np.testing.assert_array_equal(noise_of(first, 7), whole[:7])
    written = io.BytesIO()
    torch.save(first.state_dict(), written)
    noise_of(first, 2)
    written.seek(0)
    second = fresh(99)
    second.load_state_dict(torch.load(written))
    np.testing.assert_array_equal(noise_of(second, STEPS - 7), whole[7:])
    assert not np.array_equal(noise_of(fresh(4)), whole)


def test_a_state_of_another_optimizer_or_design_is_refused():
    one = optimizer_for([torch.nn.Parameter(torch.zeros(2))], DESIGNS["BLT"])
    other = optimizer_for([torch.nn.Parameter(torch.zeros(2))], DESIGNS["bands"])
    with pytest.raises(DomainError, match="designed_noise"):
        one.load_state_dict(one.original_optimizer.state_dict())
    with pytest.raises(DomainError, match="shapes"):
        one.load_state_dict(other.state_dict())


def test_steps_beyond_the_design_are_refused():
    optimizer = optimizer_for([torch.nn.Parameter(torch.zeros(2))], DESIGNS["BLT"])
    noise_of(optimizer)
    with pytest.raises(DomainError, match=f"at most {STEPS}"):
        noise_of(optimizer, 1)


def test_their_accountants_are_refused_and_other_hooks_are_not():
    """They would count each step's noise by itself: at equal noise an epsilon that has nothing to do with the run's."""
    optimizer = optimizer_for([torch.nn.Parameter(torch.zeros(2))], DESIGNS["BLT"])
    with pytest.raises(DomainError, match="accountant"):
        optimizer.attach_step_hook(PRVAccountant().get_optimizer_hook_fn(sample_rate=0.1))
    seen = []
    optimizer.attach_step_hook(lambda optimizer: seen.append(optimizer.noise_step))
    noise_of(optimizer, 3)
    assert seen == [1, 2, 3]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_epsilon_is_that_of_one_release_by_their_accountant():
    accountant = PRVAccountant()
    design = export(DESIGNS["scaled BLT"], STEPS, "opacus", rho=0.3)
    accountant.step(noise_multiplier=design.noise_multiplier / float(design.sensitivity), sample_rate=1.0)
    assert accountant.get_epsilon(1e-5) == pytest.approx(float(design.epsilon(1e-5)), rel=0.02)


def test_virtual_steps_draw_noise_once():
    """Gradients of two physical batches are accumulated: one draw, one step of the filter."""
    optimizer = optimizer_for(
        [torch.nn.Parameter(torch.zeros(4))], DESIGNS["BLT"], generator=torch.Generator().manual_seed(1)
    )
    plain = noise_of(
        optimizer_for([torch.nn.Parameter(torch.zeros(4))], DESIGNS["BLT"], generator=torch.Generator().manual_seed(1)),
        2,
    )
    (parameter,) = optimizer.params
    rows = []
    for _ in range(2):
        for skip in (True, False):
            optimizer.signal_skip_step(skip)
            parameter.grad_sample = torch.full((1, 4), 0.25)
            optimizer.step()
            if not skip:
                rows.append(parameter.grad.numpy().copy())
            optimizer.zero_grad()
    np.testing.assert_allclose(np.array(rows) - 0.5, plain, atol=1e-5)


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
