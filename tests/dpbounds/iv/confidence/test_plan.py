"""Plans, budgets and ranges: what they fill in, and what they refuse, whoever makes them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, get_args

import pytest

from dpbounds import DomainError
from dpbounds.iv.confidence import PrivacyBudget, ReleasePlan, budget_shares
from dpbounds.iv.confidence.plan import CLAMPINGS, DESIGNS, SAMPLERS, Clamping, ReleaseDesign, Sampler
from dpbounds.iv.confidence.ranges import Range, public_range
from dpbounds.privacy import gaussian_delta
from verify.cli.solve.iv.confidence import arguments

BASE: dict[str, Any] = {
    "outcome": "D",
    "regressors": ("C",),
    "instruments": ("A", "B"),
    "bounds": {"D": (0, 52), "C": (0, 1)},
    "budget": PrivacyBudget(epsilon=1.0, delta=1e-6),
}
MEANS = {"A": 0.5, "B": 0.4}
ONE: dict[str, Any] = {"instruments": ("A",), "instrument_means": {"A": 0.5}}


def plan(**others: Any) -> ReleasePlan:
    return ReleasePlan(**{**BASE, **others})


def test_what_is_left_out_is_filled_in():
    made = plan()
    assert made.ranges["A"] == Range(0.0, 1.0) and made.default_ranges == ("A", "B")
    assert made.instrument_reach == math.sqrt(2) and made.two_stage and made.private
    assert made.clamping == "natural" and not made.stretched
    assert made.columns == ["A", "B", "C", "D"] and made.regressor == "C" and made.ratio == 0.5
    assert plan(public=True).seed == 0 and not plan(public=True).private and not plan(seed=3).private
    signs = plan(**ONE, design="s", grid=(-1, 1))
    assert signs.clamping == "natural" and len(signs.sign_grid) == 512 and signs.centre("A") == 0.5


def test_instruments_reach_from_their_public_means_to_the_ends_of_their_ranges():
    made = plan(instrument_means={"B": 0.4, "A": 0.5})
    assert list(made.instrument_means or {}) == ["A", "B"]
    assert made.instrument_reach == pytest.approx(math.hypot(1, 1.2))


def test_the_guess_is_in_units_of_the_ranges_and_bounded():
    assert plan(beta=-13.0).ratio == pytest.approx(0.25)
    assert plan(beta=0.0).ratio == 1e-3 and plan(beta=1e9).ratio == 1e3


def test_keys_of_the_command_line_are_those_of_the_plan():
    for keys, literal, labels in (
        (arguments.DESIGNS, ReleaseDesign, DESIGNS),
        (arguments.CLAMPINGS, Clamping, CLAMPINGS),
        (arguments.NOISES, Sampler, SAMPLERS),
    ):
        assert set(keys) == set(get_args(literal)) == set(labels)


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"bounds": {"D": (0, 52)}}, "bounds = none for C"),
        ({"bounds": {"D": (52, 0), "C": (0, 1)}}, "LOW below HIGH"),
        ({"bounds": {"D": (0, math.inf), "C": (0, 1)}}, "bounds D = inf"),
        ({"bounds": {"D": "wide", "C": (0, 1)}}, "bounds D = wide"),
        ({"bounds": {"D": (0, 1, 2), "C": (0, 1)}}, "bounds D"),
        ({"bounds": {"D": (0, 52), "C": (0, 1), "E": (0, 1)}}, "bounds = E"),
        ({"regressors": ("C", "W")}, "regressors = 2 columns"),
        ({"regressors": ()}, "regressors = nothing"),
        ({"instruments": ("A", "A")}, "named once"),
        ({"instruments": (1,)}, "names of columns"),
        ({"controls": ("A",)}, "one role"),
        ({"instruments": tuple("abcdefghijk")}, "at most 10"),
        ({"instrument_means": {"A": 0.5}}, "one for each of A, B"),
        ({"instrument_means": {"A": 0.5, "B": 7}}, "instrument_means B = 7"),
        ({"instrument_means": MEANS, "instrument_bound": 1.0}, "instrument_bound"),
        ({"instrument_bound": -1.0}, "instrument_bound"),
        ({"adjacency": "add-remove"}, "n is public"),
        ({"level": 1.0}, "level"),
        ({"design": "x"}, "design"),
        ({"clamping": "never"}, "clamping"),
        ({"noise": "dice"}, "noise"),
        ({"seed": -1}, "seed"),
        ({"grid": (0, 1)}, "grid = 0:1"),
        ({"design": "s"}, "at most 1"),
        ({"design": "h"}, "centring is offered for u"),
        ({"honest": True}, "honest"),
        ({"honest": True, "instruments": ("A",)}, "limit law"),
        ({"honest": True, "certify": True, **ONE}, "certify"),
        ({"clamping": "aware"}, "one of natural, stretch"),
        ({"clamping": "stretch"}, "instruments = .* it must be one with clamping stretch"),
        ({"clamping": "stretch", "certify": True, **ONE}, "certify = True .*clamping natural"),
        ({"clamping": "stretch", "controls": ("W",), **ONE}, "controls = .* none with clamping stretch"),
        ({"clamping": "stretch", "beta": 1.0, **ONE}, "beta = 1.0"),
        ({"clamping": "stretch", "instruments": ("A",), "instrument_means": {"A": 0.0}}, "chance"),
        ({"clamping": "stretch", "heterogeneity": 0.5, **ONE}, "heterogeneity = 0.5"),
        ({"clamping": "stretch", "heterogeneity": math.nan, **ONE}, "heterogeneity = nan"),
        ({"heterogeneity": 2.0}, "heterogeneity = 2.0 .* left out unless clamping is stretch"),
        ({"regressor_clamped": True, **ONE}, "regressor_clamped = True"),
        ({"noise": "opendp", "seed": 1}, "no seed"),
        ({**ONE, "design": "s"}, "grid = nothing"),
        ({**ONE, "design": "s", "grid": (1, 0)}, "grid = 1:0"),
        ({**ONE, "design": "s", "grid": (0, 1, 5)}, "grid points = 5"),
        ({**ONE, "design": "s", "grid": (0, 1), "certify": True}, "certify"),
        ({"instruments": ("A",), "design": "s", "grid": (0, 1)}, "the chance of a 1"),
        ({"budget": 1.0}, "budget"),
    ],
)
def test_what_is_refused_names_the_parameter(others, words):
    with pytest.raises(DomainError, match=words):
        plan(**others)


def test_only_design_s_has_a_grid():
    with pytest.raises(DomainError, match="only design s"):
        _ = plan().sign_grid


@pytest.mark.parametrize("ends", [(1, 1), (0, 1e-60), (1e9, 1e9 + 1e-6), None, 3.0, (0, math.nan)])
def test_ends_that_are_no_range(ends):
    with pytest.raises(DomainError, match="bounds D"):
        public_range("D", ends)


def test_a_budget_is_stated_in_one_way():
    assert float(gaussian_delta(PrivacyBudget(epsilon=1.0, delta=1e-6).gdp, 1.0)) == pytest.approx(1e-6)
    assert PrivacyBudget(rho=0.5).gdp == 1.0 and PrivacyBudget(mu=0.3).scaled(3.0) == pytest.approx(0.9)
    assert PrivacyBudget(mu=0.3, delta=1e-6).epsilon_at_delta > 0 and PrivacyBudget(epsilon=2.0).epsilon_at_delta == 2.0
    for wrong in ({}, {"epsilon": 1.0, "mu": 1.0}, {"epsilon": 0.0}, {"mu": math.nan}, {"epsilon": 1.0, "delta": 1.0}):
        with pytest.raises(DomainError):
            PrivacyBudget(**wrong)


def test_shares_of_a_budget_compose_to_it():
    for centred in (True, False):
        centring, moments = budget_shares(1.7, centred=centred)
        assert centring**2 + moments**2 == pytest.approx(1.7**2) and (centring > 0) == centred


def test_an_independent_instrument_is_stretched_where_nothing_speaks_against_it():
    single = {"instruments": ("A",), "independent": True}
    made = plan(**single)
    assert made.stretched and not made.two_stage and made.chance is None
    assert plan(**ONE, independent=True).chance == 0.5
    assert plan(**{**ONE, "instrument_means": {"A": 1.0}, "bounds": {**BASE["bounds"], "A": (0, 4)}}).chance == 0.25
    for other in ({"controls": ("W",)}, {"certify": True}, {"instruments": ("A", "B")}, {"clamping": "natural"}):
        assert plan(**{**single, **other}).clamping == "natural"


def test_a_plan_is_frozen_and_checked_again_when_it_is_changed():
    with pytest.raises(DomainError, match="level"):
        replace(plan(), level=2.0)
    assert replace(plan(), level=0.9).level == 0.9
