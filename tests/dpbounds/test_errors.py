"""Argument checks: one line that names the parameter, the value and what is allowed, whatever is given."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpbounds import errors, privacy
from dpbounds.errors import DomainError
from dpbounds.ftrl import correlations, linear_regression
from dpbounds.ftrl.linear_regression import Regression

ONE = np.ones(1)
NOT_NUMBERS = [None, "5", b"5", True, np.True_, 1j, np.array([1.0]), [1.0], [[1, 2], [3]], {}, np.datetime64("2020")]


@pytest.mark.parametrize("value", [*NOT_NUMBERS, math.nan, math.inf, 10**400])
@pytest.mark.parametrize("check", [errors.real, errors.positive, errors.nonnegative, errors.moderate, errors.count])
def test_what_is_no_number_is_refused_in_one_line(check: Any, value: Any) -> None:
    with pytest.raises(DomainError, match=r"^x = .* is not allowed: it must be ") as refused:
        check("x", value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3), np.uint8(3), np.array(3.0), Fraction(3)])
def test_numbers_of_any_kind_become_plain_ones(value: Any) -> None:
    assert type(errors.real("x", value)) is float and errors.real("x", value) == 3.0
    assert type(errors.count("x", value)) is int and errors.count("x", value) == 3


@pytest.mark.parametrize("value", [5.5, -1, 0, 2, 1e301])
def test_counts(value: float) -> None:
    with pytest.raises(DomainError, match=r"a whole number of at (least 3|most 1e[+]300)"):
        errors.count("n", value, least=3)


@pytest.mark.parametrize("value", [1e-51, 1e51, 1e-120, 1e120])
def test_sizes_that_cannot_be_squared_are_refused(value: float) -> None:
    with pytest.raises(DomainError, match=r"from 1e-50 to 1e[+]50; change the units"):
        errors.moderate("x", value)
    with pytest.raises(DomainError, match=r"x\[1\] = .*from 1e-120 to 1e[+]50"):
        errors.all_moderate("x", [1.0, value**2.5])
    if value > 1:
        with pytest.raises(DomainError, match=r"at most 1e[+]50"):
            errors.moderate_or_zero("x", value)
    else:
        assert errors.moderate_or_zero("x", value) == value


def test_names_and_lists() -> None:
    assert errors.choice("form", "time", ("time", "frequency")) == "time"
    for value in ("", "tim", None, ["time"], {}, np.array(["time"])):
        with pytest.raises(DomainError, match="one of time, frequency"):
            errors.choice("form", value, ("time", "frequency"))
    assert errors.listed("rhos", (number for number in (1, 2))) == [1, 2]
    for value in (None, 1.0, np.array(3.0)):
        with pytest.raises(DomainError, match=r"rhos = .* a list"):
            errors.listed("rhos", value)


@pytest.mark.parametrize("values", [["1", "2"], [1, None], [1j], [[1, 2], [3]], [10**400], "12", [1, math.nan], []])
def test_arrays_of_what_is_no_number(values: Any) -> None:
    with pytest.raises(DomainError, match="x"):
        errors.vector("x", values)


def test_a_length_that_is_asked_for() -> None:
    assert errors.vector("w", [1, 2], length=2, per="step").tolist() == [1.0, 2.0]
    with pytest.raises(DomainError, match=r"^w = 2 numbers .*one per step, 3"):
        errors.vector("w", [1, 2], length=3, per="step")


def test_arrays_are_copied_whatever_their_type() -> None:
    given = np.arange(3, dtype=np.float32)
    given.setflags(write=False)
    for values in (given, [0, 1, 2], [Fraction(0), 1, 2.0], np.asfortranarray(given)):
        found = errors.vector("x", values)
        assert found.dtype == float and found.flags.writeable and found.tolist() == [0.0, 1.0, 2.0]


def test_errors_survive_pickling() -> None:
    with pytest.raises(DomainError) as refused:
        errors.within("nu", 2.0, "(0, 1]", "take less")
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: privacy.sensitivity_factor(["zero-out"]), "adjacency"),
        (lambda: privacy.zcdp_epsilon(1.0, 1e-5, np.array([1.0, 2.0])), "method"),
        (lambda: privacy.gaussian_log_delta([1.0, 2.0], [1.0, 2.0, 3.0]), "mu, epsilon"),
        (lambda: privacy.gaussian_log_delta([[1.0], [1.0, 2.0]], 1.0), "mu"),
        (lambda: privacy.compose_zcdp(1.0), "rhos"),
        (lambda: privacy.compose_gdp("12"), r"mus\[0\]"),
        (lambda: privacy.compose_rdp(None), "curves"),
        (lambda: correlations.from_coefficients([1e-320]), r"beta\[0\]"),
        (lambda: correlations.from_matrix(np.array([["1"]])), "matrix"),
        (lambda: correlations.from_power_spectrum(None), "spectrum"),
        (lambda: correlations.HalfPowers(("0.5",)), "zeros"),
        (
            lambda: correlations.half_powers_from_roots(np.array([complex(math.nan)]), np.zeros(0, dtype=complex)),
            "zeros",
        ),
        (lambda: correlations.tree_aggregation(4, decoder="full"), "decoder"),
        (lambda: correlations.nu(0.5).power_spectrum(np.array([0.0, math.inf])), "omega"),
        (lambda: correlations.nu(0.5).filtered_power(np.array([math.nan])), r"decay\[0\]"),
        (
            lambda: linear_regression.paper_upper_bound(
                correlations.nu(0.1), Regression(eigenvalues=ONE, eta=0.1, rho=1.0), form="x"
            ),
            "form",
        ),
        (
            lambda: linear_regression.trace_bounds(
                correlations.nu(0.1), Regression(eigenvalues=ONE, eta=0.1, rho=1.0), R_squared="4"
            ),
            "R_squared",
        ),
        (
            lambda: linear_regression.suboptimality(
                correlations.nu(0.1), Regression(eigenvalues=ONE, eta=0.1, rho=1.0, clip_norm=1e160)
            ),
            "clip_norm",
        ),
        (
            lambda: linear_regression.optimal_suboptimality(Regression(eigenvalues=ONE, eta=-0.1, rho=1.0)),
            "eta",
        ),
        (
            lambda: linear_regression.rate(None, Regression(eigenvalues=ONE, eta=0.1, rho=1.0)),
            "mechanism",
        ),
    ],
)
def test_hostile_calls_are_refused_by_name(call: Any, named: str) -> None:
    with pytest.raises(DomainError, match=f"^{named} = "):
        call()


def test_counts_given_as_floats_serve_as_counts() -> None:
    tree, noise = correlations.tree_aggregation(5.0), correlations.from_coefficients([1.0, -0.5])
    assert np.array_equal(tree.matrix(5.0), correlations.tree_aggregation(5).matrix(5))
    assert np.array_equal(noise.coefficients(5.0), noise.coefficients(5))
    assert noise.prefix_error(np.uint8(5)) == noise.prefix_error(5)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_sensitivity_of_weights_whose_squares_overflow(scale: float) -> None:
    assert correlations.from_coefficients([scale]).sensitivity(3) == pytest.approx(1 / scale)
