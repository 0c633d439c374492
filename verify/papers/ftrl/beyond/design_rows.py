"""The kinds of noise beside one another for a given run, and their losses over the learning rate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from unittest import mock

import numpy as np
from scipy.special import ndtr

from dpbounds.ftrl.correlations import Correlation, independent
from dpbounds.ftrl.design import (
    Budget,
    Design,
    LossCurve,
    Objective,
    Participation,
    best,
    curves,
    learning_rates,
    loss_curve,
    lower_bound,
    plan,
    plan_curves,
    run_curves,
)
from dpbounds.ftrl.design.comparison import BATCHES, tuned_independent
from dpbounds.ftrl.design.fitting import fit_bands
from dpbounds.ftrl.design.mechanisms import cyclic, unit_columns
from dpbounds.ftrl.design.noise_kinds import OF_A_RUN
from dpbounds.ftrl.design.objective import largest_stable_rate, start_in_equal_parts
from verify.checks import Agreement, Fact, Holds, Times, Within, refused
from verify.papers.ftrl.beyond.exact import OURS
from verify.papers.ftrl.tools.design import weighted_loss
from verify.statements.claims import Claim

RHO, SMALL_RHO, CLIP, T = 0.7, 1e-3, 1.3, 32
EIGENVALUES = np.array([1.0, 0.4, 0.1])
# Records in one pass, twice, and twice with some distance.
PASSES: Mapping[str, Participation] = {
    "one pass": Participation.of_epochs(1, T),
    "two passes": Participation.of_epochs(2, T),
    "twice, 10 steps apart": Participation.of_epochs(2, T, 10),
}


@cache
def _design(passes: str) -> Design:
    objective = Objective(
        EIGENVALUES,
        T,
        schedule=learning_rates("linear", 0.3, T),
        weights="final",
        batch_size=2,
        initial=start_in_equal_parts(1.5, 3),
        sigma_sgd=0.4,
    )
    return best(objective, PASSES[passes], buffers=2, rho=RHO, clip_norm=CLIP)


def _sensitivity(correlation: Correlation, passes: str) -> float:
    """Over all patterns of at most two steps: gradients of either sign."""
    X, once = correlation.encoder(T), PASSES[passes].times == 1
    X = X.T @ X
    apart = np.abs(np.subtract.outer(np.arange(T), np.arange(T)))
    allowed = apart == T // 2 if passes == "two passes" else apart >= 10
    pairs = np.diag(X)[:, None] + np.diag(X) + 2 * np.abs(X)
    return float(np.sqrt(np.diag(X).max() if once else pairs[allowed].max()))


def _forward(objective: Objective, correlation: Correlation, size: float) -> float:
    """Total loss by second moments run forward, for noise of this sensitivity."""
    variance = (size * CLIP / 2) ** 2 / (2 * RHO)
    return weighted_loss(objective, correlation.matrix(T), variance)


def _quiet(objective: Objective) -> float:
    """Total loss without privacy noise."""
    return weighted_loss(objective, np.zeros((T, 1)), 0.0)


def _least_noise(objective: Objective, participation: Participation) -> float:
    """The least privacy noise of any mechanism, as tightly as it can be had."""
    return CLIP**2 / (8 * RHO) * float(lower_bound(objective, participation, tolerance=1e-9))


def _rows(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Within]:
    del rng
    for passes in PASSES:
        design = _design(passes)
        totals = {}
        for row in design.rows:
            label, size = f"{passes}, {row.label}", _sensitivity(row.correlation, passes)
            totals[row.kind] = _forward(design.objective, row.correlation, size)
            yield Fact(f"total, {label}", factor * row.loss.total, totals[row.kind], 1e-10)
            yield Fact(f"noise multiplier, {label}", factor * row.noise_multiplier, size / np.sqrt(2 * RHO), 1e-10)
            yield Fact(f"gain, {label}", factor * row.gain, totals["independent"] / totals[row.kind], 1e-10)
            quiet, least = _quiet(design.objective), _least_noise(design.objective, design.participation)
            ratios = [totals[row.kind] / (quiet + least), (totals[row.kind] - quiet) / least]
            yield Fact(f"total and noise over their least, {label}", [row.ratio, row.noise_ratio], ratios, 2e-4)
            yield Within(f"total over the least of any noise, {label}", row.ratio, least=1.0)
        tuned = factor * totals["designed"] * (design.row("designed").gain_tuned or np.nan)
        yield Within(
            f"independent noise tuned, over a scan, {passes}", tuned / _scanned(design, RHO), least=0.97, most=1.005
        )
    # A budget for which the best learning rates are hundreds of times smaller.
    design = _design("one pass")
    tuned = tuned_independent(design.objective, design.participation, Budget.of(rho=SMALL_RHO), clip_norm=CLIP)
    over = factor * (tuned or np.nan) / _scanned(design, SMALL_RHO)
    yield Within("independent noise tuned to a small budget, over a scan", over, least=0.97, most=1.005)


def _scanned(design: Design, rho: float) -> float:
    """Least total loss of independent noise over batch sizes, two schedules and 40 learning rates."""
    passes, least = design.participation.times, np.inf
    n = T // passes * 2
    for m in (2 * factor for factor in BATCHES):
        steps = passes * (n // m)
        for schedule in ("constant", "linear") if steps >= 16 else ():
            for eta in np.geomspace(0.002, 0.98, 40) * largest_stable_rate(EIGENVALUES, 1 / m):
                run = {"weights": "final", "batch_size": m, "initial": 0.75, "sigma_sgd": 0.4}
                objective = Objective(EIGENVALUES, steps, schedule=learning_rates(schedule, float(eta), steps), **run)
                noise = passes * CLIP**2 / (2 * rho * m**2)
                least = min(least, weighted_loss(objective, np.eye(steps), noise))
    return least


def _privacy(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """Budgets: delta of the Gaussian mechanism of that rho at the epsilon stated, both ways."""
    del rng
    budgets = (
        (Budget.of(rho=0.7), 1e-5),  # by default
        (Budget.of(epsilon=2.0, delta=1e-6), 1e-6),
        (_design("one pass").budget, 1e-5),
    )
    for budget, delta in budgets:
        epsilon, mu = factor * (budget.epsilon or np.nan), np.sqrt(2 * budget.rho)
        spent = ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)
        yield Fact(f"delta of rho = {budget.rho:.3g}", [float(spent), budget.delta], [delta, delta], 1e-6)


def _chosen(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Within]:
    """Buffers by default, and all that a design for records taken in turn is chosen from, each mechanism by itself."""
    del rng
    for steps, buffers in ((8, 3), (64, 6)):
        objective = Objective(EIGENVALUES, steps, eta=0.3)
        found, fitted = best(objective), best(objective, buffers=buffers)
        yield Fact(f"{steps} steps, {buffers} buffers by default", factor * found.value, float(fitted.value), 1e-9)
    objective, often = Objective(EIGENVALUES, T, eta=0.05), Participation.of_epochs(16, T)
    toeplitz = cyclic(objective, often)
    for mechanism in (fit_bands(objective, 2), toeplitz, unit_columns(toeplitz, T)):
        over = factor * float(best(objective, often, buffers=1).value) / float(objective.value(mechanism, often))
        yield Within(f"the design over {mechanism.name}", over, most=1 + 1e-9)


ROWS = Claim(
    id="ftrl/beyond-design-rows",
    where=f"{OURS}: kinds of noise for a given run",
    kind="identity",
    statement=(
        (
            "For a given run each row states the total loss of its noise, at a budget that is exact both as zCDP and "
            "as $(epsilon, delta)$, what independent noise costs at the same learning rate and tuned for itself, and "
            "the least total of any noise, which no row is below."
        ),
        "A design is no worse than what it is chosen from.",
    ),
    setting="$T = 32$, $m = 2$, $d = 3$, final loss, $eta_t = 0.3 (1 - t \\/ T)$; records taken once and twice.",
    checks=(
        Agreement(decides="a", facts=_rows, impostors={"1e-4 off": {"facts": {"factor": 1.0001}}}),
        Agreement(decides="a", facts=_privacy, impostors={"1 % off": {"facts": {"factor": 1.01}}}),
        Agreement(decides="b", facts=_chosen, impostors={"1 % more": {"facts": {"factor": 1.01}}}),
    ),
)


# --- over the learning rate ---


def _drawn(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Within]:
    """Every point of every curve by itself: lines by second moments run forward, bounds by what reaches them."""
    del rng
    for passes in PASSES:
        design = _design(passes)
        *lines, least = run_curves(design)
        for kind, curve in zip(OF_A_RUN, lines, strict=True):
            row = design.row(kind)
            size = _sensitivity(row.correlation, passes)
            totals = [_forward(_at(design, eta), row.correlation, size) for eta in curve.eta]
            yield Fact(f"losses drawn, {passes}, {row.label}", factor * curve.total, np.array(totals), 1e-9)
        lowest = np.min([_values_at(curve, least.eta) for curve in lines], axis=0)
        yield Within(f"bounds drawn over the least loss drawn, {passes}", float(np.max(least.total / lowest)), most=1.0)
        bounds = [_least(design, _at(design, eta)) for eta in least.eta]
        yield Within(f"bounds drawn over true ones, {passes}", factor * float(np.max(least.total / bounds)), most=1.0)


def _at(design: Design, eta: float) -> Objective:
    """The run whose first learning rate is this one, written down anew."""
    rates = design.objective.learning_rates
    options = {"weights": "final", "batch_size": 2, "initial": 0.75, "sigma_sgd": 0.4}
    return Objective(EIGENVALUES, T, schedule=rates * (eta / rates[0]), **options)


def _values_at(curve: LossCurve, eta: np.ndarray) -> np.ndarray:
    """The losses of a curve at some of its own learning rates."""
    return curve.total[[int(np.argmin(np.abs(np.log(curve.eta / one)))) for one in eta]]


def _least(design: Design, objective: Objective) -> float:
    """The least total loss of any noise, up to rounding."""
    return _quiet(objective) + _least_noise(objective, design.participation) * (1 + 1e-9)


def _of_plans(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """Curves of a plan by the loss of each run; a curve of one's own at factors of one's own."""
    del rng
    found = plan(EIGENVALUES, 64, initial=0.75, rho=RHO, batch_sizes=(2,), buffers=1, amplification=False)
    for row, curve in zip(found.rows, plan_curves(found), strict=True):
        totals = []
        for eta in curve.eta:
            rates = learning_rates(row.setting.schedule, float(eta), 32)
            run = Objective(EIGENVALUES, 32, schedule=rates, weights="final", batch_size=2, initial=0.75)
            totals.append(weighted_loss(run, row.correlation.matrix(32), (row.noise_multiplier / 2) ** 2))
        yield Fact(f"losses drawn, plan, {row.label}", factor * curve.total, np.array(totals), 1e-9)
    run = Objective(EIGENVALUES, 8, eta=0.2, batch_size=2)
    curve = loss_curve(run, lambda faster: 2.0 * faster.noise_power(independent()), factors=(0.5, 1.0))
    totals = [weighted_loss(Objective(EIGENVALUES, 8, eta=eta, batch_size=2), np.eye(8), 2.0) for eta in (0.1, 0.2)]
    yield Fact("losses of independent noise at factors 1/2 and 1", factor * curve.total, np.array(totals), 1e-10)


def _drawn_where(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Thirteen factors from a quarter to four; fewer bounds in long runs; factors at which a run is not stable."""
    del rng
    design = best(Objective(EIGENVALUES, 16, eta=0.05, batch_size=4, initial=0.3), buffers=1, rho=RHO)
    rows = design.rows
    for steps, every in ((16, 1), (128, 1), (129, 3)):
        run = Objective(EIGENVALUES, steps, eta=0.05, batch_size=4, initial=0.3)
        longer = replace(design, objective=run)
        for row in rows:
            longer._known[row.kind] = replace(row, correlation=independent())
        with mock.patch.object(curves, "lower_bound", return_value=3.0) as asked:
            *lines, least = run_curves(longer)
        etas = 0.0125 * 2.0 ** (np.arange(13) / 3)
        for curve in lines:
            yield Fact(f"{steps} steps, {curve.label}: learning rates", curve.eta, etas)
        yield Fact(f"{steps} steps, bounds: learning rates", least.eta, etas[::every])
        told = [(call.args[1].times, call.kwargs["tolerance"]) for call in asked.call_args_list]
        yield Fact(f"{steps} steps, bounds: uses, tolerance", told, [(1, 1e-3)] * len(least.eta))
        noise = 3.0 / 16 / (2 * RHO)
        fastest = Objective(EIGENVALUES, steps, eta=0.05 * 4, batch_size=4, initial=0.3)
        yield Fact(f"{steps} steps, the last bound", least.total[-1], fastest.bias + fastest.sgd_noise + noise, 1e-12)
    fast = Objective(EIGENVALUES, 8, eta=0.99 * largest_stable_rate(EIGENVALUES, 0.5), batch_size=2)
    curve = loss_curve(fast, lambda _: 0.0, factors=(0.5, 1.02, 1.0, 3.0))
    yield Fact("factors at which a run is stable", curve.eta / fast.learning_rates[0], [0.5, 1.0])
    yield refused("a factor of 0", "schedule[0]", lambda: loss_curve(fast, lambda _: 0.0, factors=(0.0,)))


CURVES = Claim(
    id="ftrl/beyond-design-curves",
    where=f"{OURS}: losses over the learning rate",
    kind="inequality",
    statement=(
        "Losses drawn over the learning rate, each noise held fixed, are those of the runs at these rates;",
        (
            "the lower bound is drawn where it was computed only, and no point of it is above what the least loss of "
            "any noise is."
        ),
    ),
    setting="Runs and patterns as above; learning rates from a quarter to four times the run's own.",
    checks=(
        Agreement(decides="ab", facts=_drawn, impostors={"0.2 % more": {"facts": {"factor": 1.002}}}),
        Agreement(decides="a", facts=_of_plans, impostors={"1e-4 off": {"facts": {"factor": 1.0001}}}),
        Agreement(decides="ab", facts=_drawn_where, impostors={"1 % off": {"facts": Times(1.01)}}),
    ),
)
