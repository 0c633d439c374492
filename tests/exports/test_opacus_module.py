"""The module that is written for Opacus, by itself: torch and numpy, its noise, its steps, its state."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from dpbounds.ftrl.design import Objective
from dpbounds.ftrl.design.exports import export
from tests.exports.designs import DESIGNS, STEPS, covariance_scores, loaded, written

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")


def module_of(mechanism, folder, **options):
    objective = Objective(np.ones(2), STEPS, schedule=np.linspace(0.4, 0.1, STEPS), batch_size=2)
    exported = export(mechanism, STEPS, "opacus", rho=0.3, objective=objective, clip_norm=2.0, **options)
    return loaded(written(exported, folder / "noise.py")[0])


def steps_of(optimizer, gradients, count=STEPS):
    """The gradients that the wrapped optimiser sees, for given gradients of single examples."""
    rows = []
    for _ in range(count):
        for parameter in optimizer.params:
            parameter.grad_sample = gradients.clone()
        optimizer.step()
        rows.append(torch.cat([parameter.grad.flatten() for parameter in optimizer.params]).numpy().copy())
        optimizer.zero_grad()
    return np.array(rows)


@pytest.mark.parametrize("name", DESIGNS)
def test_the_module_draws_the_designed_noise(name, tmp_path):
    """With its own draws, clip norm, batch size and learning rates; gradients of length 10 are clipped to 2."""
    module = module_of(DESIGNS[name], tmp_path)
    parameter = torch.nn.Parameter(torch.zeros(50, dtype=torch.float64))
    wrapped = torch.optim.SGD([parameter], lr=9.0)
    optimizer = module.private(wrapped, generator=torch.Generator().manual_seed(1))
    gradients = torch.zeros(2, 50, dtype=torch.float64)
    gradients[0, 0], gradients[1, 1] = 10.0, 0.5
    found = steps_of(optimizer, gradients)
    generator = torch.Generator().manual_seed(1)
    draws = [torch.normal(0.0, 1.0, (50,), generator=generator, dtype=torch.float64).numpy() for _ in range(STEPS)]
    largest = np.linalg.norm(DESIGNS[name].encoder(STEPS), axis=0).max()
    noise = 2.0 * largest / np.sqrt(0.6) * DESIGNS[name].matrix(STEPS) @ np.array(draws)
    noise[:, 0] += 2.0
    noise[:, 1] += 0.5
    np.testing.assert_allclose(found, noise / 2, atol=1e-10)
    moved = -np.linspace(0.4, 0.1, STEPS) @ noise / 2
    np.testing.assert_allclose(parameter.detach().numpy(), moved, atol=1e-10)
    with pytest.raises(RuntimeError, match=f"{STEPS} steps and no more"):
        steps_of(optimizer, gradients, 1)


def test_drawn_noise_has_the_designed_covariance(tmp_path):
    """171 entries at |z| < 7: false alarms below 1e-9; 6 % off on the diagonal (z = 0.06 sqrt(N / 2) = 13.4 at N =
    100,000) is seen with probability above 1 - 1e-8. Two parameters share one generator, not one draw.
    """
    mechanism = DESIGNS["scaled BLT"]
    parameters = [torch.nn.Parameter(torch.zeros(50_000)), torch.nn.Parameter(torch.zeros(50_000))]
    settings = {"expected_batch_size": 1, "loss_reduction": "sum", "generator": torch.Generator().manual_seed(5)}
    optimizer = module_of(mechanism, tmp_path).private(torch.optim.SGD(parameters, lr=1.0), **settings)
    noise = steps_of(optimizer, torch.zeros(1, 50_000)).astype(float)
    decoder = mechanism.matrix(STEPS)
    expected = 4.0 / (2 * 0.3) * decoder @ decoder.T
    assert np.abs(covariance_scores(noise, expected)).max() < 7
    assert np.abs(covariance_scores(noise, 1.06 * expected)).max() > 7
    assert abs(np.corrcoef(noise[0, :50_000], noise[0, 50_000:])[0, 1]) < 7 / np.sqrt(50_000)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e300])
def test_an_example_whose_gradient_is_not_finite_counts_as_nothing(bad, tmp_path):
    """As is one whose squared length overflows: neighbours differ by one such example."""
    module, found = module_of(DESIGNS["BLT"], tmp_path), []
    gradients = torch.full((2, 3), 0.1, dtype=torch.float64)
    for last in (torch.tensor([0.1, bad, 0.1], dtype=torch.float64), torch.zeros(3, dtype=torch.float64)):
        gradients[1] = last
        optimizer = module.private(
            torch.optim.SGD([torch.nn.Parameter(torch.zeros(3, dtype=torch.float64))], lr=1.0),
            generator=torch.Generator().manual_seed(3),
        )
        found.append(steps_of(optimizer, gradients))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("rho", [0.01, 0.3, 20.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.5])
def test_its_epsilon_is_ours(rho, delta, tmp_path):
    exported = export(DESIGNS["BLT"], STEPS, "opacus", rho=rho)
    module = loaded(written(exported, tmp_path / "noise.py")[0])
    assert module.epsilon(delta) == pytest.approx(float(exported.epsilon(delta)), rel=1e-8, abs=1e-12)
    for wrong in (0.0, 1.0, float("nan")):
        with pytest.raises(ValueError, match="delta"):
            module.epsilon(wrong)


def test_the_module_needs_no_dpbounds(tmp_path):
    """Run where neither dpbounds nor Opacus can be imported."""
    module_of(DESIGNS["scaled BLT"], tmp_path)
    code = "import sys\n"
    code += "for name in ('dpbounds', 'simulators', 'verify', 'opacus', 'scipy'): sys.modules[name] = None\n"
    code += "import torch, noise\n"
    code += "p = torch.nn.Parameter(torch.zeros(3)); o = noise.private(torch.optim.SGD([p], lr=1.0))\n"
    code += "p.grad_sample = torch.ones(2, 3); o.step(); print(noise.epsilon(1e-5) > 0, noise.ETA, noise.BATCH_SIZE)\n"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True", "0.4", "2"], done.stderr


def test_the_module_goes_on_after_virtual_steps_and_from_a_state(tmp_path):
    module = module_of(DESIGNS["dense bands"], tmp_path)

    def fresh(seed):
        parameter = torch.nn.Parameter(torch.zeros(4))
        return module.private(
            torch.optim.SGD([parameter], lr=1.0),
            expected_batch_size=1,
            loss_reduction="sum",
            generator=torch.Generator().manual_seed(seed),
        )

    gradients = torch.full((1, 4), 0.25)
    whole = steps_of(fresh(3), gradients)
    first, second = fresh(3), fresh(9)
    np.testing.assert_array_equal(steps_of(first, gradients, 7), whole[:7])
    second.load_state_dict(first.state_dict())
    np.testing.assert_array_equal(steps_of(second, gradients, STEPS - 7), whole[7:])
    virtual = fresh(3)
    virtual.signal_skip_step(True)
    virtual.params[0].grad_sample = gradients.clone()
    assert virtual.step() is None
    np.testing.assert_allclose(steps_of(virtual, gradients, 1)[0], whole[0] + 0.25, atol=1e-6)
    with pytest.raises(RuntimeError, match="grad_sample"):
        virtual.step()
    other = module_of(DESIGNS["independent"], tmp_path)
    another = other.private(torch.optim.SGD([torch.nn.Parameter(torch.zeros(4))], lr=1.0))
    with pytest.raises(ValueError, match="buffers"):
        another.load_state_dict(first.state_dict())


@pytest.mark.parametrize("bad", [{"max_grad_norm": 0.0}, {"loss_reduction": "max"}, {"expected_batch_size": 0}])
def test_the_module_refuses(bad, tmp_path):
    module = module_of(DESIGNS["BLT"], tmp_path)
    with pytest.raises(ValueError, match=next(iter(bad))):
        module.private(torch.optim.SGD([torch.nn.Parameter(torch.zeros(4))], lr=1.0), **bad)
