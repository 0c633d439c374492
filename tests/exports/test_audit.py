"""Optimisers of training libraries, audited: what they release, and designed noise inside them."""

from __future__ import annotations

import numpy as np
import pytest

from dpbounds.audit import Box, Pair, adapters, audit, gaussian
from dpbounds.ftrl.design.exports import export
from tests.exports.designs import DESIGNS, STEPS, loaded, written

pytestmark = pytest.mark.filterwarnings("ignore")
SIZE, SECONDS = 600, 60.0
CLAIM = (4.8866, 1e-6)  # of mu = 1
WHERE = {"adjacency": "zero-out", "domain": Box(shape=(2, SIZE)), "seconds": SECONDS}


# --- Opacus ---


def optimizer_of(kind="DPOptimizer", noise=1.0, **settings):
    """Of two parameters of one shape, as `make` of the adapter."""

    def make(records):
        import torch
        from opacus import optimizers

        parameters = [torch.nn.Parameter(torch.zeros(SIZE // 2)) for _ in range(2)]
        options = {"noise_multiplier": noise, "max_grad_norm": 1.0, "expected_batch_size": 1, **settings}
        wrapped = torch.optim.SGD(parameters, lr=1.0)
        return getattr(optimizers, kind)(wrapped, loss_reduction="sum", **options)

    return adapters.optimizer(make)


def test_an_optimiser_of_opacus_is_as_it_claims():
    pytest.importorskip("opacus")
    found = audit(optimizer_of(), CLAIM, law=gaussian(scale=1.0), **WHERE)
    assert found.verdict == "consistent" and "float32" in found.support, found.text
    assert audit(optimizer_of(noise=0.8), CLAIM, law=gaussian(), **WHERE).verdict == "refuted"


def test_clipping_by_layer_costs_as_much_as_its_norms_together():
    """Bounds of .6 and .8 for two layers are 1 together, and that is what the noise is a multiple of."""
    pytest.importorskip("opacus")
    run = optimizer_of("DPPerLayerOptimizer", max_grad_norm=[0.6, 0.8])
    assert audit(run, CLAIM, law=gaussian(), **WHERE).verdict == "consistent"
    assert audit(run, {"mu": 0.9}, law=gaussian(), **WHERE).verdict == "refuted"


def test_an_engine_divides_by_what_it_counts():
    """`make_private` takes the expected batch from the number of rows: one row less has other noise, which neighbours
    that add or remove a record show.
    """
    torch, opacus = pytest.importorskip("torch"), pytest.importorskip("opacus")

    def make(records):
        rows = torch.utils.data.TensorDataset(torch.zeros(records, SIZE))
        model = torch.nn.Linear(SIZE, 1, bias=False)
        loader = torch.utils.data.DataLoader(rows, batch_size=records)
        private = opacus.PrivacyEngine(accountant="rdp").make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
            data_loader=loader,
            noise_multiplier=1.0,
            max_grad_norm=1.0,
            poisson_sampling=False,
        )
        return private[1]

    run = adapters.optimizer(make)
    settings = {"domain": Box(shape=(4, SIZE)), "law": gaussian(), "seconds": SECONDS}
    assert audit(run, CLAIM, adjacency="zero-out", **settings).verdict == "consistent"
    found = audit(run, CLAIM, adjacency="add-remove", **settings)
    assert found.verdict == "refuted" and found.witness["kind"] == "scales", found.text


def test_designed_noise_of_the_module_for_opacus(tmp_path):
    """All steps of the wrapped optimiser: the noise has the covariance of the design, and mu is what it promises."""
    torch = pytest.importorskip("torch")
    design = export(DESIGNS["scaled BLT"], STEPS, "opacus", rho=0.5)
    module = loaded(written(design, tmp_path / "noise.py")[0])

    def run(data, seed):
        torch.set_num_threads(1)
        generator = torch.Generator()
        generator.seed() if seed is None else generator.manual_seed(seed)
        parameter = torch.nn.Parameter(torch.zeros(data.shape[1], dtype=torch.float64))
        one = module.private(
            torch.optim.SGD([parameter], lr=1.0),
            max_grad_norm=1.0,
            expected_batch_size=1,
            loss_reduction="sum",
            generator=generator,
        )
        rows = []
        for row in data:
            parameter.grad_sample = torch.as_tensor(row)[None]
            one.step()
            rows.append(parameter.grad.numpy().copy())
            one.zero_grad()
        return np.array(rows)

    _designed(run, design)


def _designed(run, design):
    decoder = np.linalg.inv(design.stream.encoder())
    law = gaussian(design.noise_multiplier**2 * decoder @ decoder.T)
    domain = list(_one_step(400))
    found = audit(run, {"mu": 1.0}, adjacency="zero-out", domain=domain, law=law, seconds=SECONDS)
    assert found.verdict == "consistent", found.text
    assert found.epsilon[0] < 1.0 < found.epsilon[1]
    short = audit(run, {"mu": 0.9}, adjacency="zero-out", domain=domain, law=law, seconds=SECONDS)
    assert short.verdict == "refuted"


def _one_step(size):
    """The gradient of one record, of norm 1, in each step in turn, against none."""
    direction = np.ones(size) / np.sqrt(size)
    rest = np.random.default_rng(0).standard_normal((STEPS, size)) / size
    for step in range(STEPS):
        first, second = rest.copy(), rest.copy()
        first[step], second[step] = direction, 0.0
        yield Pair(first, second, f"the record of step {step}", step)


# --- jax_privacy ---


def test_designed_noise_inside_jax_privacy(tmp_path):
    pytest.importorskip("jax_privacy")
    design = export(DESIGNS["scaled BLT"], STEPS, "jax-privacy", rho=0.5)
    module = loaded(written(design, tmp_path / "noise.py")[0])
    run = adapters.transformation(lambda seed: module.privatizer(clip_norm=1.0, prng_key=seed), norm=1.0)
    _designed(run, design)


def test_an_optax_transformation_with_one_key_for_two_leaves():
    jax, optax = pytest.importorskip("jax"), pytest.importorskip("optax")

    def make(split):
        def of(seed):
            def init(parameters):
                return jax.random.key(seed)

            def update(gradient, key, parameters=None):
                now, later = jax.random.split(key)
                half = gradient.shape[0] // 2
                keys = jax.random.split(now) if split else (now, now)
                noise = [jax.random.normal(one, (half,)) for one in keys]
                return gradient + jax.numpy.concatenate(noise), later

            return optax.GradientTransformation(init, update)

        return adapters.transformation(of)

    settings = {"adjacency": "zero-out", "domain": Box(shape=(1, 400)), "law": gaussian(1.0), "seconds": SECONDS}
    assert audit(make(True), {"mu": 1.0}, **settings).verdict == "consistent"
    found = audit(make(False), {"mu": 1.0}, **settings)
    assert found.verdict == "refuted" and found.witness["kind"] == "singular"
