"""Tables of `dpbounds solve iv`, what their columns are, and what follows for T, the clip norms and the budgets."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpbounds.iv import Question, Regimes, conditions, spectrum, theorem_step_limits
from dpbounds.iv.answers import MOST_STEPS, RELIABLE, Answer, Row
from dpbounds.iv.gaussian_norm import norm_quantile
from dpbounds.iv.isotropic import starting_gradient_norms
from dpbounds.iv.quantities import UNIT
from verify.cli.console import print_table

NOISE = ("T", "best_for", "gamma1", "gamma2", "lambda1", "lambda2")
JOINT = ("rho_claimed", "rho_worst_case", "epsilon_claimed", "epsilon_worst_case")
BETA = ("beta_claimed", "beta_at_least", "beta_at_most", "beta_epsilon_claimed", "beta_epsilon_at_most")
BOUND = ("T", "best_for", "optimisation", "privacy", "statistical", "total", "dominant", "hypotheses")
ERROR = ("T", "best_for", "noiseless", "first_noise", "second_noise", "shift", "median", "rms", "theta_noise")
# Significant digits of a table, and characters in a line of text.
DIGITS, WIDTH = 4, 119


def show(found: Answer) -> None:
    """Setting, noise and privacy, bound, prediction, advice."""
    _setting(found.question)
    _privacy(found)
    _bound(found)
    _prediction(found)
    _advice(found)


def _setting(question: Question) -> None:
    design, run = question.design, question.population
    singular = _listed(sorted({float(value) for value in run.singular_values}, reverse=True))
    _note(
        f"n = {design.n}, p = {design.p}, q = {design.q}; rho1 = {question.rho1:g}, rho2 = {question.rho2:g} (zCDP, "
        f"{question.adjacency}); Theta with singular values {singular}; ||beta|| = {np.linalg.norm(run.beta):.4g}."
    )
    eta, alpha = theorem_step_limits(question.bounds)
    _note(
        f"eta = {run.eta:.4g}, alpha = {run.alpha:.4g}; (3) asks for less than {eta:.4g} and {alpha:.4g}, with delta = "
        f"{question.bounds.delta:.3g} and psi = {question.bounds.psi:.3g}. tau = {design.tau:g}."
    )


def _privacy(found: Answer) -> None:
    """At the numbers of steps asked for or best, not along the whole curve."""
    question, rows = found.question, [row for row in found.rows if row["T"] in found.shown]
    claims = (
        "claimed: Prop. 3.1, rho1 + rho2, converted by Section 2.1. ",
        "claimed: Lemma F.1, rho2; false in general, true where at_most is no larger. ",
    )
    all_iterates, beta_alone = claims if question.as_claimed else ("", "")
    _table("Noise and privacy of Algorithm 1, all iterates released", rows, (*NOISE, *JOINT))
    _note(
        "lambda: standard deviation of the noise in each entry of an averaged gradient. rho: zCDP; epsilon: at delta = "
        f"{question.delta:g}. {all_iterates}worst_case: what this noise costs, over all data sets."
    )
    _table("Privacy of Algorithm 1, beta alone released", rows, ("T", *BETA, "algorithm_3_worst_case"))
    _note(
        f"zCDP, but for the epsilons. {beta_alone}at_least, at_most: the cost is between them. algorithm_3_worst_case: "
        "the cost if the first stage adds no noise and the second has this lambda2."
    )
    if not question.as_claimed:
        _note(f"No claims: the paper has none for {question.adjacency} neighbours with {question.calibration} noise.")
    if any(row["beta_at_least"] is None for row in rows):
        _note("No at_least: without noise in the second stage none is known.")
    if any(row["epsilon_worst_case"] is None or row["beta_epsilon_at_most"] is None for row in rows):
        _note("No epsilon where rho is outside [1e-100, 5e7].")


def _bound(found: Answer) -> None:
    question = found.question
    if question.kappa >= 1:
        print()
        _note(f"Error bound (7): void, kappa = {question.kappa:.6g} is not below 1.")
    else:
        rows = [{**row, "hypotheses": "not met" if row["unmet"] else "met"} for row in found.rows]
        _table("Error bound (7) on ||beta_T - beta_hat||", rows, BOUND)
        _note(
            f"kappa = {question.kappa:.4g}. A rate, and a bound only with constants that nobody knows: 1 here, or as "
            "--constant says. statistical: in (7), but no part of this error, which goes to 0 without noise."
        )
        if not question.as_claimed or question.gamma1 is not None or question.gamma2 is not None:
            _note("(7) is stated for noise and clip norms of eq. (4), which these are not.")
    for line in (*_unmet(found.rows), *_crossings(found.regimes), *_with_unit_constants(question, found.shown[-1])):
        _note(line)


def _unmet(rows: Sequence[Row]) -> list[str]:
    """A line for each hypothesis that fails, with the T at which it does."""
    failing: dict[str, list[int]] = {}
    for row in rows:
        for condition in row["unmet"]:
            failing.setdefault(f"{condition['name']}, {condition['statement']}", []).append(row["T"])
    return [
        f"Not met {'at any T' if len(steps) == len(rows) else 'at T = ' + _listed(steps)}: {hypothesis}."
        for hypothesis, steps in failing.items()
    ]


def _with_unit_constants(question: Question, steps: int) -> list[str]:
    """The hypotheses that fail with all constants 1, where others were used."""
    run, bounds = question.population, spectrum(question.design, UNIT)
    tested = conditions(question.design, bounds, eta=run.eta, alpha=run.alpha, steps=steps, **question.budgets)
    unmet = "; ".join(f"{one.statement}: {one.value:.3g}, {one.limit:.3g}" for one in tested if not one.met)
    if question.constants == UNIT or not unmet:
        return []
    return [
        f"With all constants 1 delta would be {bounds.delta:.3g} and psi {bounds.psi:.3g}, and the theorem would not "
        f"apply at T = {steps} ({unmet})."
    ]


def _crossings(points: Regimes | None) -> list[str]:
    if points is None:
        return []
    until = f"(5) allows T up to {points.valid_until:.4g}."
    start = float(points.statistical_from if points.has_plateau else points.crossing)
    after = "statistical" if points.has_plateau else "privacy"
    begins = f"optimisation below T = {start:.4g}, then {after}" if start > 1 else f"{after} from the start"
    ends = f", privacy above T = {points.privacy_from:.4g}" if points.has_plateau else ""
    return [f"Largest term: {begins}{ends}; {until}"]


def _prediction(found: Answer) -> None:
    _table("Predicted ||beta_T - beta_hat||, no unknown constants", found.rows, (*ERROR, "reliable"))
    _note(
        "An estimate: leading order in the noise, Cov z = I, no gradient clipped, Z'Z/n = I though it is off by about "
        f"2 sqrt(q / n) = {2 * math.sqrt(found.question.design.q / found.question.design.n):.2g}. noiseless: the error "
        "without noise. first_noise, second_noise: root mean square of what lambda1 and lambda2 add. shift: of the "
        "mean, by lambda1. rms: root mean square of the whole. theta_noise: size of the noise in Theta_T over Theta's "
        f"least singular value; above {RELIABLE:g} the error is not reliable, and can be far larger."
    )
    if any(row["median"] is None for row in found.rows):
        _note(f"No number where T exceeds {MOST_STEPS} and the run has not settled.")


def _advice(found: Answer) -> None:
    question = found.question
    print()
    _note(_best_steps(found))
    if found.share is not None:
        now = question.rho1 / (question.rho1 + question.rho2)
        _note(f"Best split of rho1 + rho2 at T = {found.best}: {found.share:.3g} to the first stage (now {now:.3g}).")
    _note(_gradients(question, found.rows))
    covariance = np.diag(question.sigma_1**2 / question.design.n / question.population.singular_values**2)
    own = norm_quantile(np.zeros(question.design.p), covariance)
    _note(f"2SLS itself: median ||beta_hat - beta|| = {own:.3g} for many records, sigma_1 = {question.sigma_1:g}.")


def _best_steps(found: Answer) -> str:
    by_bound = f"{found.optimum.steps} by the bound" if found.optimum else "none by the bound"
    if found.best is not None:
        (row,) = (row for row in found.rows if row["T"] == found.best)
        start = float(np.linalg.norm(found.question.population.beta))
        useless = f" No better than beta_0 = 0, whose error is {start:.3g}." if row["rms"] >= start else ""
        return f"Best T: {found.best} by the prediction (median {row['median']:.3g}), {by_bound}.{useless}"
    if found.question.rho1 == found.question.rho2 == math.inf:
        return "Best T: none; without noise more steps are always better."
    return f"Best T: beyond {MOST_STEPS} by the prediction, {by_bound}."


def _gradients(question: Question, rows: Sequence[Row]) -> str:
    norms = starting_gradient_norms(question.population, question.sigma_1, question.design.sigma_2)
    short = [
        f"gamma{stage} is less at T = {_listed(steps)}"
        for stage, norm in zip((1, 2), norms, strict=True)
        if (steps := [row["T"] for row in rows if row[f"gamma{stage}"] < norm])
    ]
    advice = "; ".join(short) + ": clipping is heavy and the prediction void" if short else "gamma should be well above"
    sizes = f"first stage {norms.theta:.3g}, second {norms.beta:.3g}"
    return f"A record's gradients at the start, root mean square: {sizes}; {advice}."


def _table(title: str, rows: Sequence[Row], columns: Sequence[str]) -> None:
    print(f"\n{title}")
    shown = [name for name in columns if any(row[name] is not None for row in rows)]
    print_table([{name: _rounded(row[name]) for name in shown} for row in rows], shown)


def _note(text: str) -> None:
    print(textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False))


def _rounded(value: Any) -> Any:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _listed(values: Sequence[float]) -> str:
    """All of a few, else the first two and the last."""
    texts = [f"{value:.4g}" if isinstance(value, float) else str(value) for value in values]
    return ", ".join(texts) if len(texts) <= 6 else f"{texts[0]}, {texts[1]}, ..., {texts[-1]}"
