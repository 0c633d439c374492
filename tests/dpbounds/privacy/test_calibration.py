from __future__ import annotations

import inspect
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from dp_accounting import get_epsilon_gaussian, get_sigma_gaussian

import dpbounds.privacy
from dpbounds import DomainError
from dpbounds.privacy import budget, gaussian_epsilon, noise_multiplier, sensitivity_factor

ADJACENCIES = ("zero-out", "add-remove", "replace-one")


def worst_squared_shift(matrix, adjacency, seed):
    """Largest ‖C (G - G')‖² over one-row changes of rows of norm at most 1: every row, extreme and random changes."""
    rng = np.random.default_rng(seed)
    worst = 0.0
    for column in matrix.T:
        rows = rng.normal(size=(200, 2, 3))
        rows /= np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1)
        rows[0] = [[1, 0, 0], [-1, 0, 0]]
        change = rows[:, 0] - rows[:, 1] if adjacency == "replace-one" else rows[:, 0]
        worst = max(worst, (np.linalg.norm(change, axis=-1) ** 2).max() * (column @ column))
    return worst


class TestAdjacency:
    def test_factors(self):
        assert [sensitivity_factor(adjacency) for adjacency in ADJACENCIES] == [1, 1, 2]

    @pytest.mark.parametrize("adjacency", ADJACENCIES)
    def test_rho_is_the_worst_divergence_between_neighbouring_streams(self, adjacency):
        matrix = np.tril(np.random.default_rng(5).normal(size=(6, 6)))
        sensitivity = np.linalg.norm(matrix, axis=0).max()
        rho = budget(1.7, adjacency=adjacency, sensitivity=sensitivity)
        assert rho == pytest.approx(worst_squared_shift(matrix, adjacency, 8) / (2 * 1.7**2), rel=1e-14)

    def test_replace_one_costs_four_times_the_rho_and_twice_the_noise(self):
        one, other = (budget(1.3, adjacency=adjacency, sensitivity=2.5) for adjacency in ("zero-out", "replace-one"))
        assert other / one == pytest.approx(4, rel=1e-15)
        small = noise_multiplier(adjacency="zero-out", epsilon=1, delta=1e-6)
        assert noise_multiplier(adjacency="replace-one", epsilon=1, delta=1e-6) == 2 * small

    def test_it_has_no_default(self):
        for function in (budget, noise_multiplier):
            parameter = inspect.signature(function).parameters["adjacency"]
            assert parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty


class TestBothWays:
    @pytest.mark.parametrize("adjacency", ADJACENCIES)
    def test_noise_for_a_budget_costs_that_budget(self, adjacency):
        for sensitivity, rho in product([0.5, 1.0, 40.0], [1e-8, 0.1, 100.0]):
            noise = noise_multiplier(adjacency=adjacency, rho=rho, sensitivity=sensitivity)
            assert budget(noise, adjacency=adjacency, sensitivity=sensitivity) == pytest.approx(rho, rel=1e-14)
        for epsilon, delta in product([1e-2, 1.0, 1e3], [1e-300, 1e-6, 0.1]):
            noise = noise_multiplier(adjacency=adjacency, epsilon=epsilon, delta=delta, sensitivity=3.0)
            again = {"adjacency": adjacency, "sensitivity": 3.0}
            assert budget(noise, delta=delta, **again) == pytest.approx(epsilon, rel=3e-12)
            assert budget(noise, epsilon=epsilon, **again) == pytest.approx(delta, rel=3e-12)

    def test_theorem_1_1(self):
        """σ_dp² = γ²/(2ρ), zero-out."""
        noise = noise_multiplier(adjacency="zero-out", rho=0.3, sensitivity=1.9)
        assert noise**2 == pytest.approx(1.9**2 / 0.6, rel=1e-15)
        assert noise**2 != pytest.approx(1.9**2 / 0.3, rel=0.1)

    def test_against_dp_accounting(self):
        for epsilon, delta in product([0.1, 1.0, 8.0], [1e-10, 1e-5]):
            noise = noise_multiplier(adjacency="add-remove", epsilon=epsilon, delta=delta)
            assert get_sigma_gaussian(epsilon, delta) / noise == pytest.approx(1, rel=1e-8)
            assert get_epsilon_gaussian(noise / 2, delta) == pytest.approx(
                budget(noise, adjacency="replace-one", delta=delta), rel=1e-8
            )

    def test_values_say_what_they_are(self):
        noise = noise_multiplier(adjacency="replace-one", epsilon=1, delta=1e-6)
        assert noise.kind == "exact" and noise.convention == "in clip norms, replace-one" and "Thm 8" in noise.source
        assert noise_multiplier(adjacency="zero-out", rho=1).source == "ftrl Thm 1.1"
        assert budget(1.0, adjacency="zero-out").convention == "rho, zero-out"
        assert budget(1.0, adjacency="zero-out", delta=1e-6) == gaussian_epsilon(1.0, 1e-6)


class TestBadInput:
    @pytest.mark.parametrize(
        ("function", "arguments", "parameter"),
        [
            (sensitivity_factor, {"adjacency": "add"}, "adjacency"),
            (noise_multiplier, {"adjacency": "swap", "rho": 1}, "adjacency"),
            (noise_multiplier, {"adjacency": "zero-out"}, "(rho, epsilon, delta)"),
            (noise_multiplier, {"adjacency": "zero-out", "epsilon": 1}, "(rho, epsilon, delta)"),
            (noise_multiplier, {"adjacency": "zero-out", "rho": 1, "delta": 0.1}, "(rho, epsilon, delta)"),
            (noise_multiplier, {"adjacency": "zero-out", "rho": 0}, "rho"),
            (noise_multiplier, {"adjacency": "zero-out", "epsilon": 1, "delta": 0}, "delta"),
            (noise_multiplier, {"adjacency": "zero-out", "rho": 1, "sensitivity": float("inf")}, "sensitivity"),
            (budget, {"noise_multiplier": 0, "adjacency": "zero-out"}, "noise_multiplier"),
            (budget, {"noise_multiplier": 1, "adjacency": "other"}, "adjacency"),
            (budget, {"noise_multiplier": 1, "adjacency": "zero-out", "sensitivity": -1}, "sensitivity"),
            (budget, {"noise_multiplier": 1, "adjacency": "zero-out", "epsilon": 1, "delta": 0.1}, "epsilon"),
            (budget, {"noise_multiplier": 1, "adjacency": "zero-out", "delta": 2}, "delta"),
            (
                budget,
                {"noise_multiplier": 1e-9, "adjacency": "zero-out"},
                "factor * sensitivity / noise_multiplier",
            ),
        ],
    )
    def test_the_parameter_is_named(self, function, arguments, parameter):
        with pytest.raises(DomainError) as caught:
            function(**arguments)
        assert caught.value.parameter == parameter
        assert str(caught.value).startswith(f"{parameter} = ")


class TestPackage:
    def test_public_names(self):
        exported = {name for name in vars(dpbounds.privacy) if not name.startswith("_")}
        modules = {name for name in exported if inspect.ismodule(getattr(dpbounds.privacy, name))}
        assert exported - modules == set(dpbounds.privacy.__all__)

    def test_importing_loads_nothing_heavy(self):
        heavy = "{'mpmath', 'sympy', 'flint', 'matplotlib', 'jaxtyping', 'cvxpy', 'dp_accounting', 'scipy.stats'}"
        code = f"import sys, dpbounds.privacy; print(sorted({heavy} & set(sys.modules)))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"
