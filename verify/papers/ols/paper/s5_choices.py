"""Section 5, Appendices H, J, K: what is said of the choices made: the omitted ridge, T = 2, rates, sketch sizes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np

from simulators.engine import Experiment
from simulators.ols import ClippedSums, LeastSquares, family, gradient_descent
from simulators.ols.families import Family
from verify.checks import Agreement, Fact, Within
from verify.checks.base import Level
from verify.papers.ols.paper.s4_3_regimes import KEPT
from verify.papers.ols.tools.contest import IHM, Entrant
from verify.papers.ols.tools.experiments import Setup, experiment, setup_of
from verify.papers.ols.tools.shipped import no_scikit_learn, shipped
from verify.papers.ols.tools.standing import ZERO, Field, Standing
from verify.papers.ols.tools.table_2 import ROWS, at_hand, digest, lacking, uci
from verify.statements.claims import Claim, Correction, Fault

# --- the term eta² theta ---

# Draws of the families, of which none wrote the sentences.
DRAWS = tuple(range(20, 25))


@cache
def _draw(name: Family, n: int, seed: int) -> LeastSquares:
    return family(name, n=n, seed=seed)


def _drawn(name: Family, n: int, at: Mapping[Level, Sequence[float]], blocks: Mapping[Level, int] | int) -> Field:
    return Field(name=name, load=partial(_draw, name, n), seeds=DRAWS, epsilons=at, blocks=blocks)


def _where_it_learns() -> Sequence[Field]:
    """Cells whose estimates have less risk than the estimate 0, with the term or without it."""
    at: dict[Level, tuple[float, ...]] = {"quick": (1.0,), "full": (1.0, 10.0)}
    full: dict[Level, tuple[float, ...]] = {"full": (1.0, 10.0)}
    return [
        shipped("diabetes", at, {"quick": 5, "full": 24}),
        shipped("breast-cancer", full, 24),
        shipped("digits", full, 6),
        _drawn("residual", 2048, {"full": (0.3, 1.0)}, blocks=20),
        _drawn("mixfriendly", 2048, {"full": (0.3, 1.0)}, blocks=20),
    ]


# A budget at which `smalltheta` tells nothing.
SMALL = 0.1


def _noise_alone() -> Sequence[Field]:
    """With the term and without it more risk than the estimate 0."""
    return [_drawn("smalltheta", 512, {"quick": (SMALL,)}, blocks={"quick": 17, "full": 70})]


def _moved(rng: np.random.Generator, own_noise: bool = False) -> Iterator[Fact]:
    """What a record moves of the gradient at a given theta and eta, with the term and without it. `own_noise`: eta from
    each data set's own eigenvalue, as if it were not released.
    """
    for _ in range(3):
        X, Y = rng.uniform(-1, 1, (12, 3)) / 2, rng.uniform(-1, 1, 12)
        theta, kept = rng.standard_normal(3), np.arange(12) > 0
        pair = [LeastSquares(regressors=X * keep[:, None], outcome=Y * keep) for keep in (np.ones(12), kept)]
        sums = [ClippedSums(problem=one, clip=0.5, clipping="entrywise") for one in pair]
        plain = [
            one.eigenvectors @ own.at((one.eigenvectors.T @ theta)[None])[0][0]
            for one, own in zip(pair, sums, strict=True)
        ]
        noise = [5.0 - one.lambda_min if own_noise else 4.5 for one in pair]
        ridged = [gradient - eta * theta for gradient, eta in zip(plain, noise, strict=True)]
        yield Fact("what a record moves, with the term", ridged[0] - ridged[1], plain[0] - plain[1], 1e-9)


# Without the term more than with it, and with it more than the estimate 0.
NOISE_ALONE: tuple[tuple[Entrant, Entrant, str, Level], ...] = (
    (IHM, KEPT, "noise", "quick"),
    (KEPT, ZERO, "zero", "full"),
)

DROP = Claim(
    id="ols/exp-drop",
    where="Section 5, Appendix H",
    equation="Section 5",
    kind="mc-rate",
    statement=(
        "Omitting $- eta^2 hat(theta)_t$ from $tilde(G)_t$ improves the performance",
        "and does not affect the privacy analysis.",
    ),
    setting=(
        "Median excess risk at $T = 3$ under the experiments' settings: diabetes, breast cancer and digits at $epsilon "
        "= 1$ and 10 on five random splits, `residual` and `mixfriendly` at $epsilon = 0.3$ and 1 on five draws. "
        "Medians a factor of 1.05 apart would have been told apart in every cell (1.1 at quick level: diabetes at "
        "$epsilon = 1$)."
    ),
    remark=(
        "Where the estimates are better than 0, as in all these cells. On a cell that is noise alone, `smalltheta` at "
        "$epsilon = {small}$, where 0 has less risk than both, the term helps: without it the median excess risk is "
        "${highest_noise:2}$ times that with it. $eta$ and $hat(theta)_t$ are released, and the term is computed from "
        "them."
    ),
    checks=(
        Standing(
            decides="a",
            fields=_where_it_learns,
            champion=IHM,
            opponents=(KEPT,),
            accountings=("experiments",),
            impostors={"the other way round": {"champion": KEPT, "opponents": (IHM,)}},
        ),
        *(
            Standing(
                decides="a",
                fields=_noise_alone,
                champion=champion,
                opponents=(other,),
                accountings=("experiments",),
                least=1.0,
                most=math.inf,
                tag=tag,
                level=level,
                impostors={"the other way round": {"champion": other, "opponents": (champion,)}},
            )
            for champion, other, tag, level in NOISE_ALONE
        ),
        Agreement(
            decides="b", facts=_moved, impostors={"a noise that is not released": {"facts": {"own_noise": True}}}
        ),
    ),
    given={"small": SMALL},
    missing=no_scikit_learn,
)


# --- the sets with L* near ||Y||² ---

SMALL_SIGNAL = ("solar", "pendulum", "fertility", "forest", "kin40k", "tamielectric", "3droad", "pumadyn32nm")
# Table 2 has at least this share of ||Y||² in L* on each of them.
LEAST_SHARE = 0.7


# Outcomes of the example: how many, their part along the regressor and across.
RECORDS, ALONG, ACROSS = 400, 0.05, 0.9


def _small_norms(rng: np.random.Generator, spread: float = 1e-3) -> Iterator[Within]:
    """L* within 1 % of ||Y||² and the norm of theta*: a record (1, 0) with outcome 0 and 400 records (0, +-spread) with
    outcomes +-0.05 in the same sign and +-0.9 in signs that are orthogonal to it. Then X^T X = diag(1, 400 spread²),
    X^T Y = (0, 20 spread).
    """
    gram, cross = RECORDS * spread**2, RECORDS * spread * ALONG
    energy = RECORDS * (ALONG**2 + ACROSS**2)
    norm, share = cross / gram, 1 - cross**2 / gram / energy
    numbers = {"n": float(RECORDS + 1), "spread": spread, "share": share, "norm": norm}
    yield Within("||theta*|| where L* is near ||Y||²", norm, most=1.0, numbers=numbers)


def _bounded_norms(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Within]:
    """||theta*||² <= (||Y||² - L*) / lambda^X, with equality along the bottom eigenvector."""
    for d in (1, 2, 5):
        X = rng.uniform(-1, 1, (30, d)) / np.sqrt(d)
        vector = np.linalg.eigh(X.T @ X)[1][:, 0]
        for theta in (0.5 * vector, 0.3 * rng.uniform(-1, 1, d)):
            problem = LeastSquares(regressors=X, outcome=X @ theta)
            bound = factor * (problem.y_squared - problem.least_loss) / problem.lambda_min
            yield Within(
                "||theta*||², at most its bound", float(np.sum(problem.theta_star**2)), most=bound * (1 + 1e-9)
            )
    for name in SMALL_SIGNAL:
        row = ROWS[name]
        share = (row.value("loss") + row.half_unit("loss")) / (row.value("energy") - row.half_unit("energy"))
        yield Within(f"{name}: L*/||Y||², rounded up", share, least=LEAST_SHARE)
    rest = [row for row in ROWS.values() if row.name not in SMALL_SIGNAL]
    shares = [row.value("loss") / row.value("energy") for row in rest]
    yield Within("L*/||Y||² elsewhere", max(shares), most=0.75)


def _recovered(rng: np.random.Generator) -> Iterator[Within]:
    """On the sets at hand."""
    for name in [name for name in at_hand() if name in SMALL_SIGNAL]:
        problem = uci(name)
        norm, bound = (
            np.sum(problem.theta_star**2),
            (problem.y_squared - problem.least_loss) / max(problem.lambda_min, 1e-300),
        )
        yield Within(f"{name}: ||theta*||², at most its bound", float(norm), most=bound * (1 + 1e-6))


EXP_K = Claim(
    id="ols/exp-k",
    where="Appendix K",
    equation="Appendix K",
    kind="mc-rate",
    statement=(
        (
            "On solar, pendulum, fertility, forest, kin40k, tamielectric, 3droad and pumadyn32nm AdaSSP outperforms "
            "IHM with $T = 3$ for $epsilon <= 1$;"
        ),
        "there $L^* approx norm(Y)^2$ and thus $norm(theta^*) << 1$, so that fewer iterations balance (4).",
    ),
    setting=(
        "The implication, by an example with rows and outcomes within 1. The comparison of methods: see Figures 1, "
        "3, 6."
    ),
    fault=Fault(
        severity="slip",
        touches="text",
        finding=(
            "$L^* approx norm(Y)^2$ bounds $norm(X theta^*)$ and not $norm(theta^*)$: with one record $(1, 0)$ and "
            "${n} - 1$ records $(0, plus.minus {spread})$, $L^* = {share:4} norm(Y)^2$ and $norm(theta^*) = "
            "{norm:3}$."
        ),
        consequence=(
            "What lets fewer iterations do is a small $norm(X theta^*)^2$, the first term of (4), which $L^* approx "
            "norm(Y)^2$ does give; the terms in $norm(theta^*)^2$ need not be small."
        ),
    ),
    checks=(
        Agreement(
            decides="b", facts=_small_norms, closed=True, impostors={"of size 0.01": {"facts": {"spread": 0.01}}}
        ),
    ),
    correction=Correction(
        statement=(
            "On these sets $L^* >= {least_share} norm(Y)^2$;",
            (
                r"so $norm(X theta^*)^2 = norm(Y)^2 - L^*$ is small, $norm(theta^*)^2 <= (norm(Y)^2 - L^*) \/ "
                "lambda^X$, and fewer iterations balance (4)."
            ),
        ),
        ground="$norm(X theta^*)^2 >= lambda^X norm(theta^*)^2$.",
        checks=(
            Agreement(decides="b", facts=_bounded_norms, impostors={"0.9 of the bound": {"facts": {"factor": 0.9}}}),
            Agreement(decides="a", facts=_recovered, level="full"),
        ),
    ),
    given={"least_share": LEAST_SHARE},
    user_data=digest,
)


# --- learning rates and sketch sizes ---

RATES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 5.0)
GRID_TRIALS = 200


@cache
def _by_rate(name: str) -> tuple[float, ...]:
    """Median train MSE of DP-GD at epsilon = 1/2 for every rate."""
    problem, found = uci(name), []
    own = setup_of(problem).settings("DP-GD", 0.5)
    for rate in RATES:
        run = Experiment(
            algorithm=gradient_descent, problem=problem, settings=replace(own, rate=rate), block_trials=GRID_TRIALS
        )
        found.append(float(np.median(run.run_block(0, seed=0)["risk"] + problem.least_loss)) / problem.n)
    return tuple(found)


def _best_rates(rng: np.random.Generator, room: float = 1.01) -> Iterator[Within]:
    """On how many sets 1/4 is the best of the grid, up to `room`."""
    tables = {name: _by_rate(name) for name in at_hand()}
    best = [RATES[int(np.argmin(found))] for found in tables.values()]
    near = sum(found[2] <= room * min(found) for found in tables.values())
    most = max(set(best), key=best.count)
    numbers = {
        "sets": float(len(tables)),
        "own": float(best.count(0.25)),
        "near": float(near),
        "rate": most,
        "often": float(best.count(most)),
        "times": max(found[2] / min(found) for found in tables.values()),
    }
    label = f"sets on which 1/4 is within {room - 1:.0%} of the best rate, most of {len(tables)}"
    yield Within(label, near, least=len(tables) // 2 + 1, numbers=numbers)


def _faster_rates(rng: np.random.Generator) -> Iterator[Within]:
    """No rate is the best on half of the sets; one of at least 1/2 is on most."""
    best = [RATES[int(np.argmin(_by_rate(name)))] for name in at_hand()]
    often = max(best.count(rate) for rate in RATES)
    yield Within(f"sets with one best rate, below half of {len(best)}", often, most=(len(best) - 1) // 2)
    fast = sum(rate >= 0.5 for rate in best)
    yield Within(f"sets with a best rate of at least 1/2, most of {len(best)}", fast, least=len(best) // 2 + 1)


RISING = ("forest", "pumadyn32nm", "tamielectric")


def _linear_mixing_median(problem: LeastSquares, setup: Setup, epsilon: float) -> float:
    """Of n times the train MSE."""
    runs = experiment(problem, setup, "LinMix", epsilon, trials=2000).run_block(0, seed=0)
    return float(np.median(runs["risk"] + problem.least_loss))


def _risk_in_epsilon(rng: np.random.Generator, multipliers: tuple[float, float] = (2.5, 12.5)) -> Iterator[Within]:
    """LinMix on the three sets: the median train MSE at epsilon = 10 over that at 0.1, 2000 trials."""
    for name in RISING:
        problem = uci(name)
        for multiplier, rises in zip(multipliers, (True, False), strict=True):
            setup = setup_of(problem, mixing_multiplier=multiplier)
            ends = [_linear_mixing_median(problem, setup, epsilon) for epsilon in (0.1, 10.0)]
            label = f"{name}, multiplier {multiplier:g}: train MSE at 10 over that at 0.1"
            least, most = (1.01, math.inf) if rises else (-math.inf, 1.01)
            yield Within(label, ends[1] / ends[0], least, most)


def _smaller_rise(rng: np.random.Generator, multiplier: float = 12.5) -> Iterator[Within]:
    """What is left of the rise with the larger sketch."""
    for name in RISING:
        problem, rises = uci(name), []
        for factor in (2.5, multiplier):
            setup = setup_of(problem, mixing_multiplier=factor)
            ends = [_linear_mixing_median(problem, setup, epsilon) for epsilon in (0.1, 10.0)]
            rises.append(ends[1] / ends[0])
        yield Within(f"{name}: train MSE at 10 over that at 0.1 with 2.5", rises[0], least=1.01)
        yield Within(f"{name}: the same with {multiplier:g}, smaller", rises[1], most=rises[0])


EXP_LR = Claim(
    id="ols/exp-lr",
    where="Appendix H, Appendix J",
    equation="Appendix J",
    kind="number",
    statement=(
        (
            r"DP-GD: of the rates ${1\/16, 1\/8, 1\/4, 1\/2, 1, 2, 5}$, $1\/4$ gave the best train MSE at $epsilon = "
            "0.5$ on the majority of sets."
        ),
        (
            "Linear mixing: on forest, pumadyn32nm and tamielectric the train MSE increases in $epsilon$ with "
            "multiplier 2.5 and not with 12.5."
        ),
    ),
    setting=(
        "The sets at hand, medians of 200 trials (2000); best up to 1 %, and increasing by more than 1 %. Written from "
        "two random splits, checked on a third."
    ),
    fault=Fault(
        severity="hypothesis",
        touches="text",
        finding=(
            "On ${sets}$ sets at $epsilon = 1\\/2$ the rate $1\\/4$ is the best of the grid on ${own}$ and within 1 "
            "% of the best on ${near}$; rate ${rate}$ is the best on ${often}$, and the best rate lowers the train "
            "MSE up to ${times:2}$ times."
        ),
        consequence=(
            "Figures 4 and 5 compare IHM with DP-GD at a rate at which its three steps fall short on most sets at "
            "hand; the paper picks one rate for all sets, and its sets include six that are not at hand."
        ),
    ),
    checks=(
        Agreement(decides="a", facts=_best_rates, level="full", alpha=1e-9),
        Agreement(decides="b", facts=_risk_in_epsilon, level="full", alpha=1e-9),
    ),
    correction=Correction(
        statement=(
            (
                r"DP-GD: of the rates ${{1\/16, 1\/8, 1\/4, 1\/2, 1, 2, 5}}$ none gives the best train MSE at $epsilon "
                r"= 0.5$ on the majority of the sets at hand, and on most of them a rate of at least $1\/2$ does."
            ),
            (
                "Linear mixing: on forest, pumadyn32nm and tamielectric the train MSE increases in $epsilon$ with "
                "multiplier 2.5, and by less with 12.5."
            ),
        ),
        ground="The whole grid on every set at hand.",
        checks=(
            Agreement(decides="a", facts=_faster_rates, level="full", alpha=1e-9),
            Agreement(
                decides="b",
                facts=_smaller_rise,
                level="full",
                alpha=1e-9,
                impostors={"2.5 twice": {"facts": {"multiplier": 2.5}}},
            ),
        ),
    ),
    user_data=digest,
    missing=partial(lacking, *RISING),
)
