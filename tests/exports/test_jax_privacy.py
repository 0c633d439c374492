"""Exports for jax_privacy against jax_privacy itself: its noise, its sensitivities, its accountant, its training."""

from __future__ import annotations

import numpy as np
import pytest

from dpbounds.ftrl.design import Blt, Objective, Participation, best
from dpbounds.ftrl.design.exports import export
from tests.exports.designs import BLT, DESIGNS, OBJECTIVE, STEPS, covariance_scores, loaded, written

pytest.importorskip("jax_privacy")
jax, jnp = pytest.importorskip("jax"), pytest.importorskip("jax.numpy")
pld, rdp = pytest.importorskip("dp_accounting.pld"), pytest.importorskip("dp_accounting.rdp")
clipping = pytest.importorskip("jax_privacy.clipping")
banded, buffered_toeplitz, sensitivity, toeplitz = (
    pytest.importorskip(f"jax_privacy.matrix_factorization.{name}")
    for name in ("banded", "buffered_toeplitz", "sensitivity", "toeplitz")
)
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def module_of(mechanism, folder, **options):
    files = written(export(mechanism, STEPS, "jax-privacy", **options), folder / "noise.py")
    return loaded(files[0])


@pytest.mark.parametrize("name", DESIGNS)
def test_noising_matrix_is_the_decoder(name, tmp_path):
    """Unit impulses through their streaming matrix give B entry by entry."""
    found = np.asarray(module_of(DESIGNS[name], tmp_path).noising_matrix().materialize(STEPS))
    expected = DESIGNS[name].matrix(STEPS)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_in_single_precision(tmp_path):
    with jax.enable_x64(False):
        found = np.asarray(module_of(DESIGNS["scaled BLT"], tmp_path).noising_matrix().materialize(STEPS))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, DESIGNS["scaled BLT"].matrix(STEPS), atol=1e-6)


@pytest.mark.parametrize("name", ["scaled BLT", "dense"])
def test_drawn_noise_has_the_designed_covariance(name, tmp_path):
    """171 entries at |z| < 7: false alarms below 171 * 2.6e-12 < 1e-9; an entry of the diagonal 5 % off is seen with
    probability above 1 - 1e-8 (z = 0.05 sqrt(N / 2) = 15.8 at N = 200,000).
    """
    module = module_of(DESIGNS[name], tmp_path, rho=0.3)
    privatizer = module.privatizer(clip_norm=2.0, prng_key=0)
    zeros = jnp.zeros(200_000)
    noise, state = [], privatizer.init(zeros)
    for _ in range(STEPS):
        noisy, state = privatizer.update(zeros, state)
        noise.append(np.asarray(noisy))
    decoder = DESIGNS[name].matrix(STEPS)
    largest = np.linalg.norm(DESIGNS[name].encoder(STEPS), axis=0).max()
    expected = (2.0 * largest) ** 2 / (2 * 0.3) * decoder @ decoder.T
    assert np.abs(covariance_scores(np.array(noise), expected)).max() < 7
    assert np.abs(covariance_scores(np.array(noise), 1.05 * expected)).max() > 7


@pytest.mark.parametrize("name", DESIGNS)
def test_one_participation(name, tmp_path):
    module = module_of(DESIGNS[name], tmp_path)
    encoder = np.linalg.inv(np.asarray(module.noising_matrix().materialize(STEPS)))
    theirs = float(sensitivity.single_participation_sensitivity(jnp.asarray(np.tril(encoder))))
    assert theirs == pytest.approx(module.SENSITIVITY, rel=1e-12)


def test_blt_by_their_closed_form():
    theirs = buffered_toeplitz.BufferedToeplitz.build(buf_decay=BLT.buf_decay, output_scale=BLT.output_scale)
    squared = buffered_toeplitz.sensitivity_squared(theirs, STEPS)
    exported = export(BLT, STEPS, "jax-privacy")
    assert float(exported.sensitivity) == pytest.approx(float(squared) ** 0.5, rel=1e-12)
    np.testing.assert_allclose(exported.stream.toeplitz_coefficients(), theirs.toeplitz_coefs(STEPS), rtol=1e-13)


@pytest.mark.parametrize(("times", "apart"), [(2, 5), (3, 5), (4, 4), (3, 1)])
def test_several_participations(times, apart):
    """Non-increasing coefficients, exact on both sides; T = 18 is no multiple of 5 or 4."""
    exported = export(BLT, STEPS, "jax-privacy", participation=Participation.min_separation(times, apart))
    coefficients = jnp.asarray(exported.stream.toeplitz_coefficients())
    squared = toeplitz.minsep_sensitivity_squared(coefficients, min_sep=apart, max_participations=times, n=STEPS)
    assert exported.sensitivity.kind == "exact"
    assert float(exported.sensitivity) == pytest.approx(float(squared) ** 0.5, rel=1e-12)


def test_bands_with_unit_columns():
    """s^2 is the number of participations for bands no wider than the separation: theirs by class and by matrix."""
    mechanism = DESIGNS["bands of both signs, unit columns"]
    exported = export(mechanism, STEPS, "jax-privacy", participation=Participation.min_separation(4, 5))
    theirs = banded.ColumnNormalizedBanded.from_banded_toeplitz(STEPS, jnp.array([2.0, -0.7, 0.3]))
    np.testing.assert_allclose(theirs.materialize(), exported.stream.encoder(), atol=1e-14)
    assert banded.minsep_sensitivity_squared(theirs, min_sep=5, max_participations=4) == 4
    by_matrix = sensitivity.get_sensitivity_banded(
        jnp.asarray(exported.stream.encoder()), min_sep=5, max_participations=4
    )
    assert float(exported.sensitivity) == pytest.approx(2.0, rel=1e-12)
    assert float(by_matrix) == pytest.approx(2.0, rel=1e-12)


@pytest.mark.parametrize("name", ["BLT, unit columns", "dense", "nu"])
def test_epochs_in_a_fixed_order(name):
    exported = export(DESIGNS[name], STEPS, "jax-privacy", participation=Participation.cyclic(3, 6))
    theirs = sensitivity.fixed_epoch_sensitivity(jnp.asarray(exported.stream.encoder()), epochs=3)
    assert float(exported.sensitivity) == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("rho", [0.02, 0.5, 3.0])
def test_accountant(rho, tmp_path):
    """The event's epsilon is ours; their Rényi accountant, an upper bound, is above it and near."""
    exported = export(DESIGNS["scaled BLT"], STEPS, "jax-privacy", rho=rho)
    event, delta = module_of(DESIGNS["scaled BLT"], tmp_path, rho=rho).event(), 1e-5
    ours = float(exported.epsilon(delta))
    assert pld.PLDAccountant().compose(event).get_epsilon(delta) == pytest.approx(ours, rel=2e-3)
    assert ours <= rdp.RdpAccountant().compose(event).get_epsilon(delta) <= 1.25 * ours
    assert exported.rho == pytest.approx(rho, rel=1e-14)


def test_steps_beyond_the_design_are_refused(tmp_path):
    """By an error, and inside jit by nan."""
    privatizer = module_of(DESIGNS["scaled BLT"], tmp_path, clip_norm=2.0).privatizer(prng_key=0)
    state = privatizer.init(jnp.zeros(3))
    for _ in range(STEPS):
        noisy, state = jax.jit(privatizer.update)(jnp.zeros(3), state)
        assert np.isfinite(noisy).all()
    assert np.isnan(jax.jit(privatizer.update)(jnp.zeros(3), state)[0]).all()
    with pytest.raises(ValueError, match=f"{STEPS} steps and no more"):
        privatizer.update(jnp.zeros(3), state)
    with pytest.raises(ValueError, match="clip_norm"):
        module_of(DESIGNS["BLT"], tmp_path).privatizer()


def test_training_run_ends_at_the_predicted_loss(tmp_path):
    """Least squares on fresh Gaussian examples, with their clipping and their noise, 20,000 runs of 18 steps.

    The spread of a run's loss is below its mean, so that |z| < 6.5 is a false alarm of 8e-11 and 6 % off would be seen
    with probability above 1 - 1e-8 (a standard error is at most 0.5 % of the mean).
    """
    eigenvalues, m, eta, rho, clip_norm, sigma, runs = OBJECTIVE.eigenvalues, 16, 0.3, 30.0, 60.0, 0.3, 20_000
    objective = Objective(
        eigenvalues, STEPS, eta, weights="final", batch_size=m, initial=np.array([1.0, 0.5, 2.0, 0.2]), sigma_sgd=sigma
    )
    design = best(objective, buffers=3)
    exported = export(design.mechanism, STEPS, "jax-privacy", rho=rho, objective=objective)
    files = written(exported, tmp_path / "noise.py")
    module = loaded(files[0])
    start, roots = jnp.sqrt(jnp.array([1.0, 0.5, 2.0, 0.2])), jnp.sqrt(eigenvalues)

    def loss(theta, x, y):
        return 0.5 * jnp.mean((x @ theta - y) ** 2)

    clipped = clipping.clipped_grad(loss, l2_clip_norm=clip_norm, batch_argnums=(1, 2))

    def run(key):
        own, noise_key = jax.random.split(key)
        privatizer = module.privatizer(clip_norm, noise_key)

        def step(carry, key):
            theta, state = carry
            inputs, residuals = jax.random.split(key)
            x = jax.random.normal(inputs, (m, len(eigenvalues))) * roots
            summed = clipped(theta, x, sigma * jax.random.normal(residuals, (m,)))
            noisy, state = privatizer.update(summed, state)
            return (theta - eta * noisy / m, state), None

        (theta, _), _ = jax.lax.scan(step, (start, privatizer.init(start)), jax.random.split(own, STEPS))
        return 0.5 * jnp.sum(eigenvalues * theta**2)

    losses = np.asarray(jax.jit(jax.vmap(run))(jax.random.split(jax.random.key(0), runs)))
    predicted = objective.loss(design.mechanism, rho, clip_norm=clip_norm)
    assert predicted.privacy_noise > 0.3 * predicted.total
    error = losses.std() / np.sqrt(runs)
    assert error < 0.01 * losses.mean()
    assert abs(losses.mean() - predicted.total) < 6.5 * error


def test_blt_that_they_refuse_is_refused_by_us():
    """Not minimum phase: their inverse would grow without bound."""
    with pytest.raises(ValueError, match="minimum phase"):
        Blt((0.5,), (2.0,))
