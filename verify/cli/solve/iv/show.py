"""Tables of `dpbounds solve iv`, what their columns are, and what follows for T, the clip norms and the budgets."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpbounds.iv import Answer, DataSet, Plan, Population, Regimes, spectrum, theorem_step_limits
from dpbounds.iv.answers import MOST_STEPS
from dpbounds.iv.forecast import LIMITS, REASONS, Reason
from dpbounds.iv.general import General
from dpbounds.iv.isotropic import Isotropic
from dpbounds.iv.quantities import UNIT
from dpbounds.iv.rows import Row
from dpbounds.privacy import Adjacency
from verify.cli.solve.iv import show_data
from verify.cli.solve.iv.text import note, table
from verify.cli.solve.simulating import LEVEL

NOISE = ("T", "best_for", "gamma1", "gamma2", "lambda1", "lambda2")
JOINT = ("rho_claimed", "rho_worst_case", "epsilon_claimed", "epsilon_worst_case")
BETA = ("beta_claimed", "beta_at_least", "beta_at_most", "beta_epsilon_claimed", "beta_epsilon_at_most")
BOUND = ("T", "best_for", "optimisation", "privacy", "statistical", "total", "dominant", "hypotheses")
ERROR = ("T", "best_for", "noiseless", "first_noise", "second_noise", "shift", "clip_shift", "median", "rms")
MEASURES = ("T", "theta_noise", "clipped_theta", "clipped_beta", "sampling", "reliable")
SIMULATED = ("T", "median", "median_simulated", "median_low", "median_high", "reliable")
SHARES = ("clipped_theta", "clipped_theta_simulated", "clipped_beta", "clipped_beta_simulated")
NEIGHBOURS: dict[Adjacency, str] = {
    "replace-one": "for data sets of n records that differ in one (replace-one; n is public)",
    "zero-out": "for data sets that differ in one record, which is empty in one of them (zero-out; n is public)",
    "add-remove": "for data sets of which one has a record more (add-remove; the divisor n is public)",
}


def show(answer: Answer, subject: Population | DataSet, *, file: str | None) -> None:
    """Setting, noise and privacy, bound, prediction, simulation, advice; `file` is that of a data set."""
    if isinstance(subject, DataSet):
        show_data.show(answer, subject, file or "")
    else:
        _setting(answer.plan)
    _privacy(answer)
    _bound(answer)
    _prediction(answer)
    _simulation(answer)
    _advice(answer, isinstance(subject, DataSet))


def _setting(plan: Plan) -> None:
    design, run, budget = plan.design, plan.population, plan.budget
    singular = _listed(sorted({round(float(value), 12) for value in run.singular_values}, reverse=True))
    whitened = "Theta" if isinstance(run, Isotropic) else "Cov(z)^{1/2} Theta"
    note(
        f"n = {design.n}, p = {design.p}, q = {design.q}; rho1 = {budget.rho1:g}, rho2 = {budget.rho2:g} (zCDP, "
        f"{budget.adjacency}); {whitened} with singular values {singular}; ||beta|| = {plan.starting_error:.4g}."
    )
    if isinstance(run, General):
        note(f"eta = {run.eta:.4g}, alpha = {run.alpha:.4g}. Cov z as given.")
        return
    eta, alpha = theorem_step_limits(plan.bounds)
    note(
        f"eta = {run.eta:.4g}, alpha = {run.alpha:.4g}; (3) asks for less than {eta:.4g} and {alpha:.4g}, with delta = "
        f"{plan.bounds.delta:.3g} and psi = {plan.bounds.psi:.3g}. tau = {design.tau:g}."
    )


def _privacy(answer: Answer) -> None:
    """At the numbers of steps asked for or best, not along the whole curve."""
    plan, rows = answer.plan, [row for row in answer.rows if row["T"] in answer.shown]
    claims = (
        "claimed: Prop. 3.1, rho1 + rho2, converted by Section 2.1. ",
        "claimed: Lemma F.1, rho2; false in general, true where at_most is no larger. ",
    )
    all_iterates, beta_alone = claims if plan.budget.is_as_printed else ("", "")
    table("Noise and privacy of Algorithm 1, all iterates released", rows, (*NOISE, *JOINT))
    note(
        "lambda: standard deviation of the noise in each entry of an averaged gradient. rho: zCDP; epsilon: at delta = "
        f"{plan.delta:g}. {all_iterates}worst_case: what this noise costs, over all data sets."
    )
    note(
        f"What it covers: the release of all iterates (Theta_t, beta_t), t = 1 ... T, of one run, "
        f"{NEIGHBOURS[plan.budget.adjacency]}. A second run costs its own budget; T, clip norms and scaling must not "
        "be chosen by looking at private data."
    )
    table("Privacy of Algorithm 1, beta alone released", rows, ("T", *BETA, "algorithm_3_worst_case"))
    note(
        f"zCDP, but for the epsilons. {beta_alone}at_least, at_most: the cost is between them. algorithm_3_worst_case: "
        "the cost if the first stage adds no noise and the second has this lambda2."
    )
    if not plan.budget.is_as_printed:
        note(
            f"No claims: the paper has none for {plan.budget.adjacency} neighbours with "
            f"{plan.budget.calibration} noise."
        )
    if any(row["beta_at_least"] is None for row in rows):
        note("No at_least: without noise in the second stage none is known.")
    if any(row["epsilon_worst_case"] is None or row["beta_epsilon_at_most"] is None for row in rows):
        note("No epsilon where rho is outside [1e-100, 5e7].")


def _bound(answer: Answer) -> None:
    plan = answer.plan
    if isinstance(plan.population, General):
        print()
        note("Error bound (7): it is stated for instruments with Cov z = I, which these are not.")
        return
    if plan.kappa >= 1:
        print()
        note(f"Error bound (7): void, kappa = {plan.kappa:.6g} is not below 1.")
    else:
        rows = [{**row, "hypotheses": "not met" if row["unmet"] else "met"} for row in answer.rows]
        table("Error bound (7) on ||beta_T - beta_hat||", rows, BOUND)
        note(
            f"kappa = {plan.kappa:.4g}. A rate, and a bound only with constants that nobody knows: 1 here, or as "
            "--constant says. statistical: in (7), but no part of this error, which goes to 0 without noise."
        )
        if not plan.budget.is_as_printed or min(plan.budget.gamma1, plan.budget.gamma2) < math.inf:
            note("(7) is stated for noise and clip norms of eq. (4), which these are not.")
    for line in (*_unmet(answer.rows), *_crossings(answer.regimes), *_with_unit_constants(answer)):
        note(line)


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


def _with_unit_constants(answer: Answer) -> list[str]:
    """The hypotheses that fail with all constants 1, where others were used."""
    if not answer.unmet_with_unit_constants:
        return []
    bounds = spectrum(answer.plan.design, UNIT)
    unmet = "; ".join(f"{one.statement}: {one.value:.3g}, {one.limit:.3g}" for one in answer.unmet_with_unit_constants)
    return [
        f"With all constants 1 delta would be {bounds.delta:.3g} and psi {bounds.psi:.3g}, and the theorem would not "
        f"apply at T = {answer.shown[-1]} ({unmet})."
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


def _prediction(answer: Answer) -> None:
    table("Predicted ||beta_T - beta_hat||, no unknown constants", answer.rows, ERROR)
    note(
        "An estimate, of leading order in the noise. noiseless: the error without noise. first_noise, second_noise: "
        "root mean square of what lambda1 and lambda2 add. shift: of the mean, by lambda1. clip_shift: what clipping "
        "does. rms: root mean square of the whole."
    )
    table("Whether it can be relied on", answer.rows, MEASURES)
    limits = "; ".join(f"{name} {least:g}, {most:g}" for name, (least, most) in LIMITS.items())
    note(
        "theta_noise: noise in Theta_T over Theta's least singular value. clipped: shares of gradients clipped at the "
        "end. sampling: how far the moments of n records are from the population, 0 for a data set. Reliable (within "
        f"10 %) below the first limit, void and left out above the second: {limits}."
    )
    reasons: dict[Reason, list[int]] = {}
    for row in answer.rows:
        for name in row["limits"] or ():
            reasons.setdefault(name, []).append(row["T"])
    for name, steps in reasons.items():
        everywhere = len(steps) == len(answer.rows)
        note(f"Not reliable {'at any T' if everywhere else 'at T = ' + _listed(steps)}: {REASONS[name]}.")
    if any(row["median"] is None and row["limits"] is None for row in answer.rows):
        note("No number where T is too large to compute and the run has not settled.")


def _simulation(answer: Answer) -> None:
    if "trials" not in answer.rows[0]:
        return
    first = answer.rows[0]
    table("Simulated ||beta_T - beta_hat||", answer.rows, (*SIMULATED, *SHARES))
    fresh = "the noise is fresh in every run, the data are these" if answer.plan.records else "data and noise are fresh"
    note(
        f"{first['trials']} runs of Algorithm 1 for each T, seed {first['seed']}; {fresh}. low, high: an interval that "
        f"holds the median with probability {LEVEL:g}. Shares are of the last step."
    )


def _advice(answer: Answer, of_data: bool) -> None:
    plan = answer.plan
    print()
    note(_best_steps(answer))
    if answer.share is not None:
        now = f"{plan.budget.share:.3g}"
        note(f"Best split of rho1 + rho2 at T = {answer.best}: {answer.share:.3g} to the first stage (now {now}).")
    _suggestion(answer, of_data)
    if plan.starting_gradients is not None:
        sizes = f"first stage {plan.starting_gradients.theta:.3g}, second {plan.starting_gradients.beta:.3g}"
        note(f"A record's gradients at the start, root mean square: {sizes}.")
    if not of_data:
        error = f"median ||beta_hat - beta|| = {plan.two_stage_error:.3g} for many records"
        note(f"2SLS itself: {error}, sigma_1 = {plan.sigma_1:g}.")


def _suggestion(answer: Answer, of_data: bool) -> None:
    """Better clip norms and T; of private data they would have to be chosen without them."""
    if not answer.plan.is_noisy:
        return
    better = answer.suggested
    if better is None:
        note("Clip norms: none at which the prediction is reliable; the budget is too small for so few records.")
        return
    shown = better.forecast
    public = " On private data choose them from public ones like these." if of_data else ""
    note(
        f"Suggested clip norms: gamma1 = {better.gamma1:.3g}, gamma2 = {better.gamma2:.3g} with T = {better.steps}: "
        f"median {shown.median:.3g}, {shown.clipped_theta:.2%} and {shown.clipped_beta:.2%} of the gradients clipped."
        f"{public}"
    )


def _best_steps(answer: Answer) -> str:
    by_bound = f", {answer.optimum.steps} by the bound" if answer.optimum else ", none by the bound"
    if isinstance(answer.plan.population, General):
        by_bound = ""
    if answer.best is not None:
        forecast = answer.forecasts[answer.best]
        start = f"{answer.plan.starting_error:.3g}"
        useless = f" No better than beta_0 = 0, whose error is {start}." if answer.is_useless else ""
        return f"Best T: {answer.best} by the prediction (median {forecast.median:.3g}){by_bound}.{useless}"
    if not answer.plan.is_noisy:
        return "Best T: none; without noise more steps are always better."
    if not any(row["reliable"] for row in answer.rows):
        return f"Best T: none by the prediction, which is reliable at no T{by_bound}."
    return f"Best T: beyond {MOST_STEPS} by the prediction{by_bound}."


def _listed(values: Sequence[float]) -> str:
    """All of a few, else the first two and the last."""
    texts = [f"{value:.4g}" if isinstance(value, float) else str(value) for value in values]
    return ", ".join(texts) if len(texts) <= 6 else f"{texts[0]}, {texts[1]}, ..., {texts[-1]}"
