"""The table of methods at one rate."""

import pytest

from dpbounds.errors import DomainError
from dpbounds.ftrl.methods import best_method, method_of_rate


def test_designed_noise_is_as_good_as_reviewed():
    """(method, value with the best noise of one zero and one pole, reviewed by another program)."""
    found = best_method(0.01, 10.0, rho=0.5, methods=("gd", "nesterov"), noises=("arma",), certify=False).rows
    values = {one.method.name: float(one.value) for one in found}
    assert values["gradient descent"] <= 0.0113288 * 1.001 and values["Nesterov"] <= 0.00055956 * 1.001
    assert [one.method.name for one in found] == ["Nesterov", "gradient descent"]
    assert all(one.lower <= one.value for one in found)


def test_budgets_are_said_in_two_ways():
    options = {"methods": ("gd",), "noises": ("white",), "certify": False}
    one = best_method(0.01, 10.0, rho=0.5, **options).best
    other = best_method(0.01, 10.0, epsilon=4.377178, delta=1e-5, **options).best
    assert other.value == pytest.approx(float(one.value), rel=1e-5)


def test_what_is_left_out_is_named_with_the_reason():
    found = best_method(0.21, 10.0, rho=0.5, methods=("gd", "heavy-ball"), noises=("white",), certify=False)
    assert [row.method.name for row in found.rows] == ["heavy ball"]
    ((method, noise, why),) = found.left_out
    assert (method, noise) == ("gd", "white") and "converges" in why


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 1.5}, "rate = 1.5"),
        ({"kappa": 0.5}, "kappa = 0.5"),
        ({"rho": None}, "rho = None .*give one"),
        ({"epsilon": 1.0}, "rho = 0.5 .*give one"),
        ({"methods": ("adam",)}, "name = adam"),
        ({"noises": ("pink",)}, "noises = pink"),
        ({"rate": 0.9, "kappa": 1e4, "methods": ("gd",)}, "rate = 0.9 .*take a smaller one"),
    ],
)
def test_bad_input_is_named(options, message):
    given = {"rate": 0.01, "kappa": 10.0, "rho": 0.5} | options
    with pytest.raises(DomainError, match=message):
        best_method(given.pop("rate"), given.pop("kappa"), **given)


def test_a_rate_belongs_to_a_curvature():
    with pytest.raises(DomainError, match="mu = 0"):
        method_of_rate("gd", 0.1, 0.0)
