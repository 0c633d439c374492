"""Every kind of check: it confirms what is true, refutes what is false, and catches at least three impostors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import sympy

from dpbounds import DomainError
from tests.verify.judging import case, evidence_of, experiment
from verify.checks import (
    Agreement,
    Audit,
    Case,
    Event,
    Fact,
    Frequency,
    GaussianPrivacy,
    Identity,
    Inequality,
    Means,
    MonteCarlo,
    Neighbours,
    Rate,
    Search,
    Slopes,
    Symbolic,
)
from verify.checks.domains import Real, Whole

# --- identity ---

IDENTITY = Identity(
    left=lambda m, a: m.integral(lambda s: 1 / m.sqrt(a**2 + 4 * (1 - a) * s)),
    right=lambda m, a: 4 * m.elliptic_k(1 - a),
    box={"a": Real(1e-6, 0.9, "log")},
    random_points=5,
)


def test_identity_holds_to_45_digits():
    evidence = evidence_of(IDENTITY)
    assert evidence.outcome == "holds" and evidence.resolution == pytest.approx(1e-45)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda m, a: 4 * m.elliptic_k(1 - a) * (1 + m.number("1e-40")),
        lambda m, a: 4 * m.elliptic_e(1 - a),
        lambda m, a: -4 * m.elliptic_k(1 - a),
        lambda m, a: m.log(a - 1),
    ],
)
def test_identity_rejects_impostors_at_a_round_number(wrong):
    evidence = evidence_of(Identity(left=IDENTITY.left, right=wrong, box=IDENTITY.box, random_points=5))
    assert evidence.outcome == "fails"
    assert evidence.counterexample is not None and evidence.counterexample["a"] == 0.5


# --- symbolic ---

t = sympy.Symbol("t", positive=True)


@pytest.mark.parametrize(
    ("residuals", "nonnegative", "outcome"),
    [
        ([("square", (t + 1) ** 2 - t**2 - 2 * t - 1)], [("ratio", (t + 2) / (t + 1))], "holds"),
        ([("matrix", sympy.Matrix([[t - t, 0], [0, sympy.sin(t) ** 2 + sympy.cos(t) ** 2 - 1]]))], [], "holds"),
        ([("square", (t + 1) ** 2 - t**2 - 2 * t)], [], "fails"),
        ([], [("difference", (t - 1) / (t + 1))], "fails"),
        ([("matrix", sympy.Matrix([[0, t]]))], [], "fails"),
    ],
)
def test_symbolic(residuals, nonnegative, outcome):
    check = Symbolic(residuals=lambda: residuals, nonnegative=lambda: nonnegative)
    assert evidence_of(check).outcome == outcome


real = sympy.Symbol("real", real=True)


@pytest.mark.parametrize(
    ("expression", "form", "outcome"),
    [
        (real**2 - 2 * real + 2, (real - 1) ** 2 + 1, "holds"),
        (1 / (real**2 - 2 * real + 2), 1 / ((real - 1) ** 2 + 1), "holds"),
        (real**2 - 2 * real + 2, (real - 1) ** 2 + 2, "fails"),
        (real**2 - 2 * real, (real - 1) ** 2 - 1, "fails"),
        (real**3, real**3, "fails"),
        (real, real, "fails"),
        (sympy.Symbol("z") ** 2, sympy.Symbol("z") ** 2, "fails"),  # i^2 < 0
        (sympy.Integer(0), sympy.Integer(0), "fails"),
    ],
)
def test_sums_of_squares(expression, form, outcome):
    check = Symbolic(squares=lambda: [("it", expression, form)])
    assert evidence_of(check).outcome == outcome


# --- inequality ---

INEQUALITY = Inequality(
    smaller=lambda m, a: m.integral_inverse(a),
    larger=lambda m, a: 2 * m.pi / m.log(8) * m.log(8 / a),
    box={"a": Real(1e-300, 0.99, "log")},
)


def test_inequality_is_certified_over_300_decades():
    evidence = evidence_of(INEQUALITY)
    assert evidence.outcome == "holds" and evidence.how == "certified"
    assert 1.0 <= evidence.slack < 1.01


@pytest.mark.parametrize("constant", ["0.99", "0.9", "-1"])
def test_inequality_rejects_impostors(constant):
    wrong = Inequality(
        smaller=INEQUALITY.smaller,
        larger=lambda m, a: m.number(constant) * INEQUALITY.larger(m, a),
        box=INEQUALITY.box,
    )
    evidence = evidence_of(wrong)
    assert evidence.outcome == "fails"
    assert evidence.counterexample["smaller"] > evidence.counterexample["larger"]


def test_inequality_finds_a_needle():
    """1 - 10^6 (a - b)^2 > 0.9999 on a strip of width 2e-5: the search must climb to it."""
    check = Inequality(
        smaller=lambda m, a, b: 1 - 10**2 * (a - b) ** 2,
        larger=lambda m, a, b: m.number("0.9999") + 0 * a,
        box={"a": Real(0.2137, 1.0), "b": Real(0.0, 0.9291)},
        certify=False,
    )
    assert evidence_of(check).outcome == "fails"


def test_inequality_that_touches_stays_unclear():
    touching = Inequality(
        smaller=lambda m, a: 2 * a, larger=lambda m, a: 1 + a * a, box={"a": Real(0.4, 1.7)}, most_boxes=500
    )
    evidence = evidence_of(touching)
    assert evidence.outcome == "unclear" and "500" in evidence.needed
    divided = Inequality(
        smaller=touching.smaller, larger=touching.larger, box=touching.box, certificate=lambda m, a: 1 + 0 * a
    )
    assert evidence_of(divided).outcome == "holds"


# --- search ---


def product_sides(first, second):
    """Cauchy-Schwarz."""
    return abs(np.dot(first, second)), np.linalg.norm(first) * np.linalg.norm(second)


def test_search_holds_and_reports_its_slack():
    vectors = (Real(-1.0, 1.0), 3)
    evidence = evidence_of(Search(sides=product_sides, box={"first": vectors, "second": vectors}))
    assert evidence.outcome == "holds" and evidence.evaluations >= 9000
    assert 1.0 - 1e-12 <= evidence.slack < 1.01


@pytest.mark.parametrize("factor", [0.999, 0.9, 0.5])
def test_search_rejects_impostors(factor):
    vectors = (Real(-1.0, 1.0), 3)

    def sides(first, second):
        smaller, larger = product_sides(first, second)
        return smaller, factor * larger

    evidence = evidence_of(Search(sides=sides, box={"first": vectors, "second": vectors}))
    assert evidence.outcome == "fails" and len(evidence.counterexample["first"]) == 3


def test_search_vectorised_agrees_and_sees_extremal_points_first():
    def sides(n, v):
        return np.sum(v, axis=1) * n, np.full(len(n), 7.5)

    box = {"n": Whole(1, 3), "v": (Real(0.0, 1.0), 2)}
    check = Search(sides=sides, box=box, vectorised=True, extremal=lambda: [{"n": 4.0, "v": np.ones(2)}])
    evidence = evidence_of(check)
    assert evidence.outcome == "fails" and evidence.counterexample["n"] == 4.0
    assert evidence_of(Search(sides=sides, box=box, vectorised=True)).slack == pytest.approx(1.25)


def test_search_counts_not_a_number_as_a_violation():
    assert evidence_of(Search(sides=lambda a: (np.nan, 1.0), box={"a": Real(0, 1)}, evaluations=200)).outcome == "fails"


# --- rate ---


def sweep(function):
    def ratios(decades: float) -> Iterator[tuple[str, float]]:
        yield "x", function(10.0**decades)

    return ratios


@pytest.mark.parametrize(
    ("function", "relation", "outcome"),
    [
        (lambda x: 2 - 1 / (1 + np.log(x)), "theta", "holds"),
        (lambda x: 3.0, "theta", "holds"),
        (lambda x: 1 / x, "upper", "holds"),
        (lambda x: x**0.1, "lower", "holds"),
        (lambda x: np.log(8 * x), "upper", "fails"),
        (lambda x: np.sqrt(np.log(8 * x)), "upper", "fails"),
        (lambda x: x**0.1, "theta", "fails"),
        (lambda x: 1 / np.log(8 * x), "theta", "fails"),
        (lambda x: 1 / x, "lower", "fails"),
        (lambda x: 0.0, "lower", "fails"),
    ],
)
def test_rate(function, relation, outcome):
    assert evidence_of(Rate(ratios=sweep(function), relation=relation)).outcome == outcome


# --- agreement ---


@pytest.mark.parametrize("truth", [True, np.bool_(False)])
def test_a_truth_is_no_fact(truth):
    with pytest.raises(DomainError, match=r"^predicted of 'a fact' = .*Holds\(label, truth\)"):
        Fact("a fact", 1.0, truth)


@pytest.mark.parametrize(
    ("observed", "predicted", "tolerance", "outcome"),
    [
        (1.0, 1.0 + 1e-13, 1e-12, "holds"),
        ([1.0, 2.0], [1.0, 2.0], 0, "holds"),
        (1.0, 1.0 + 1e-11, 1e-12, "fails"),
        ([1.0, 2.0], [1.0], 1e-3, "fails"),
        (np.nan, 1.0, 1.0, "fails"),
        (1e-30, 0.0, 0, "fails"),
    ],
)
def test_agreement(observed, predicted, tolerance, outcome):
    check = Agreement(facts=lambda rng: [Fact("a fact", observed, predicted, tolerance)])
    assert evidence_of(check).outcome == outcome


# --- Monte Carlo ---


def test_monte_carlo_confirms_within_its_resolution():
    evidence = evidence_of(
        MonteCarlo(
            means=Means(cases=lambda: [case()]),
        )
    )
    assert evidence.outcome == "holds" and evidence.alpha == pytest.approx(1e-9) and evidence.resolution == 0.05


@pytest.mark.parametrize("scale", [0.95, 1.05, -1.0])
def test_monte_carlo_rejects_impostors(scale):
    assert evidence_of(MonteCarlo(means=Means(cases=lambda: [case()]), scale=scale)).outcome == "fails"


def test_monte_carlo_says_how_many_trials_it_lacks():
    evidence = evidence_of(
        MonteCarlo(
            means=Means(cases=lambda: [case(experiment=experiment(10.0, spread=20.0))]),
        )
    )
    assert evidence.outcome == "unclear" and "trials" in evidence.needed


def test_monte_carlo_runs_more_cases_and_trials_at_higher_levels():
    check = MonteCarlo(
        means=Means(cases=lambda: [case(), case(label="two", level="full")]),
    )
    quick, full = check.tasks("quick"), check.tasks("full")
    assert all(task in full for task in quick) and len(full) > 2 * len(quick)


def test_monte_carlo_variances_use_the_exact_law():
    options = {"predicted": lambda: 4.0, "experiment": experiment(0.0, 2.0, trials=20_000)}
    assert (
        evidence_of(
            MonteCarlo(
                means=Means(cases=lambda: [case(**options)], law="variance"),
            )
        ).outcome
        == "holds"
    )
    assert (
        evidence_of(MonteCarlo(means=Means(cases=lambda: [case(**options)], law="variance"), scale=1.05)).outcome
        == "fails"
    )


def power_cases(exponent: float) -> list[Case]:
    return [
        case(
            label=f"x={x}",
            x=x,
            group="g",
            experiment=experiment(x**exponent, 0.05 * x**exponent),
            predicted=lambda x=x: x**1.5,
        )
        for x in (1.0, 2.0, 4.0, 8.0)
    ]


@pytest.mark.parametrize(
    ("exponent", "printed", "outcome"),
    [(1.5, 1.5, "holds"), (1.5, 1.8, "fails"), (1.2, 1.5, "fails"), (1.5, 1.2, "fails")],
)
def test_slopes(exponent, printed, outcome):
    assert (
        evidence_of(
            Slopes(
                means=Means(cases=lambda: power_cases(exponent), trials={"quick": 32, "full": 128, "paper": 512}),
                printed={"g": printed},
            )
        ).outcome
        == outcome
    )


# --- frequency ---


@pytest.mark.parametrize(
    ("threshold", "claimed", "outcome"),
    [(3.0, 0.99, "holds"), (1.0, 0.9, "fails"), (0.0, 0.6, "fails"), (2.0, 0.9773, "unclear"), (1.96, 0.999, "fails")],
)
def test_frequency(threshold, claimed, outcome):
    event = Event(
        label="below", experiment=experiment(0.0), occurs=lambda arrays: arrays["value"] < threshold, at_least=claimed
    )
    assert evidence_of(Frequency(events=lambda: [event], trials={"quick": 5000})).outcome == outcome


# --- privacy ---


def pair(noise: float, rho: float, shift=(1.0, 0.0)) -> Neighbours:
    return Neighbours(label="pair", shift=np.array(shift), covariance=noise**2 * np.eye(2), claimed_rho=rho)


@pytest.mark.parametrize(
    ("noise", "rho", "outcome"),
    [(2.0, 0.125, "holds"), (2.0, 0.2, "holds"), (1.9, 0.125, "fails"), (1.0, 0.25, "fails"), (2.0, 0.12, "fails")],
)
def test_gaussian_privacy(noise, rho, outcome):
    assert evidence_of(GaussianPrivacy(pairs=lambda: [pair(noise, rho)])).outcome == outcome


def test_gaussian_privacy_sees_a_direction_without_noise():
    hole = Neighbours(label="hole", shift=np.array([0.0, 1.0]), covariance=np.diag([1.0, 0.0]), claimed_rho=100.0)
    assert evidence_of(GaussianPrivacy(pairs=lambda: [hole])).outcome == "fails"
    hidden = Neighbours(label="hidden", shift=np.array([1.0, 0.0]), covariance=np.diag([1.0, 0.0]), claimed_rho=0.5)
    assert evidence_of(GaussianPrivacy(pairs=lambda: [hidden])).slack == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("mean", "claimed", "outcome"),
    [
        (1.0, 4.3772, "holds"),
        (2.5, 4.3772, "fails"),
        (3.0, 4.3772, "fails"),
        (0.1, 4.3772, "unclear"),
        (1.0, 2.0, "fails"),
    ],
)
def test_audit(mean, claimed, outcome):
    """mu = 1 at delta = 1e-5 has epsilon 4.3772 (exact); an event at threshold 3 refutes most of it."""
    check = Audit(
        experiments=(experiment(0.0, trials=20_000), experiment(mean, trials=20_000)),
        output="value",
        threshold=3.0,
        claimed_epsilon=claimed,
        delta=1e-5,
        trials={"quick": 200_000},
    )
    assert evidence_of(check).outcome == outcome
