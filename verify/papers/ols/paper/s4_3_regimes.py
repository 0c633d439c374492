"""Section 4.3: which method suits which data, on synthetic data in each regime."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from dpbounds.ols import Gram, risk
from simulators.ols import AdaSSP, HessianMixing, LeastSquares, family
from simulators.ols.families import Family
from verify.checks import Agreement, Check, Fact, Within
from verify.checks.base import Level
from verify.papers.ols.tools.contest import ADASSP, IHM, LINMIX, Arena, Contest, Entrant
from verify.papers.ols.tools.experiments import setup_of
from verify.papers.ols.tools.standing import Field, Standing
from verify.statements.claims import Claim, Correction, Fault

BUDGETS = (0.1, 1.0, 10.0)
LARGE = 65_536
KEPT = Entrant(name="IHM with its ridge", method="IHM", options={"keep_ridge": True})


@cache
def _family(name: str, n: int) -> LeastSquares:
    return family(name, n=n)  # type: ignore[arg-type]


def arenas(*names: str, n: int = 4096) -> list[Arena]:
    """Families as data sets."""
    return [Arena(name=name, load=partial(_family, name, n)) for name in names]


def _benefits_of_both() -> Contest:
    """where lambda_min = n/d and the residual is small."""
    return Contest(
        arenas=partial(arenas, "wellcond", n=LARGE),
        opponents=(ADASSP,),
        epsilons=BUDGETS,
        accountings=("experiments",),
        measure="excess risk",
        panel=True,
    )


def _only_then() -> Contest:
    """backwards: no better than AdaSSP where ||theta*||² is not of the order of C_Y²."""
    return Contest(
        arenas=partial(arenas, "clip"), champion=ADASSP, opponents=(LINMIX,), epsilons=BUDGETS, measure="excess risk"
    )


def _best_steps(rng: np.random.Generator, at_least: float = 1.0) -> Iterator[Within]:
    """Expected excess risk of IHM, at the best T of 1 to 10, over that of AdaSSP to leading order."""
    problem = _family("wellcond", LARGE)
    for accounting in ("experiments", "tight"):
        for epsilon in BUDGETS:
            found = []
            for steps in range(1, 11):
                own = setup_of(problem, accounting=accounting, steps=steps).settings("IHM", epsilon)
                found.append(_expected(problem.statistics, own))
            other: AdaSSP = setup_of(problem, accounting=accounting).settings("AdaSSP", epsilon)
            ratio = min(found) / _baseline(problem.statistics, other)
            label = f"best T of 1 to 10 over AdaSSP, epsilon = {epsilon:g}, {accounting}"
            yield Within(label, ratio, least=at_least)


def _by_signal(rng: np.random.Generator, strong: float = 1.0) -> Iterator[Within]:
    """The same ratio at T = 3 where lambda_min is hardly above 0: with the family's own outcomes, and with theta* = 0
    and residuals as they are.
    """
    for name, accounting in itertools.product(("residual", "mixfriendly"), ("experiments", "tight")):
        problem = _family(name, 4096)
        setup, own = setup_of(problem, accounting=accounting), problem.statistics
        for epsilon in (0.1, 1.0, 10.0):
            ours, other = (setup.settings(method, epsilon) for method in ("IHM", "AdaSSP"))
            for share in (strong, 0.0):
                y_squared = own.y_squared - (1 - share**2) * own.signal
                data = Gram(A=own.A, b=share * own.b, y_squared=y_squared, n=own.n)
                ratio = _expected(data, ours) / _baseline(data, other)
                label = f"IHM over AdaSSP, {name}, epsilon = {epsilon:g}, {accounting}"
                if share:
                    yield Within(label, ratio, most=1.0)
                else:
                    yield Within(f"{label}, theta* = 0", ratio, least=1.5)


def _named_by_the_paper(rng: np.random.Generator) -> Iterator[Fact]:
    """Solar, pendulum, fertility, forest, kin40k, tamielectric, 3droad and pumadyn32nm, epsilon <= 1."""
    yield Fact("sets on which AdaSSP outperforms IHM with T = 3 by Appendix K", 8, 0, 0)


def _lambda_min(data: Gram) -> float:
    return float(data.spectrum.eigenvalues[0])


def _baseline(data: Gram, own: AdaSSP) -> float:
    law = risk.released(_lambda_min(data), level=own.ridge, scale=own.eigenvalue_scale, tau=own.shift)
    return float(risk.adassp(data, ridge=law, gram=own.gram_scale, moment=own.cross_scale))


def _expected(data: Gram, own: HessianMixing) -> float:
    law = risk.released(_lambda_min(data), level=own.gamma, scale=own.test_scale, tau=own.tau)
    value = risk.hessian_mixing(
        data,
        steps=own.steps,
        k=own.k,
        eta_squared=law,
        sigma=own.sigma,
        keep_ridge=own.keep_ridge,
    )
    return float(value)


# Draws of the families, of which none wrote the sentences.
DRAWS = tuple(range(30, 35))


@cache
def _draw(name: Family, n: int, seed: int) -> LeastSquares:
    return family(name, n=n, seed=seed)


def _drawn(
    *names: Family, quick: Sequence[float] = (), full: Sequence[float], blocks: Mapping[Level, int], n: int = 4096
) -> Callable[[], Sequence[Field]]:
    """Each family at these budgets."""
    at: dict[Level, Sequence[float]] = {"full": full}
    if quick:
        at["quick"] = quick
    return lambda: [
        Field(name=name, load=partial(_draw, name, n), seeds=DRAWS, epsilons=at, blocks=blocks) for name in names
    ]


def _ahead(champion: Entrant, fields: Callable[[], Sequence[Field]], *others: Entrant, **options: Any) -> Standing:
    """The champion has less median excess risk than the others in all cells; not the first of them than it."""
    swapped = {f"{others[0].name} ahead": {"champion": others[0], "opponents": (champion,)}}
    common: dict[str, Any] = {"accountings": ("experiments",), "impostors": swapped, **options}
    return Standing(fields=fields, champion=champion, opponents=others, **common)


ON_ALL_THREE = _drawn("mixfriendly", quick=(0.1,), full=(0.1, 0.25, 0.63, 1.0), blocks={"quick": 4, "full": 36})
ON_NOT_ALL = _drawn("clip", full=(10.0,), blocks={"full": 26})
LARGE_RESIDUAL = _drawn("residual", quick=(10.0,), full=BUDGETS, blocks={"quick": 14, "full": 75})
WELL_CONDITIONED = _drawn("wellcond", "smalltheta", full=BUDGETS, blocks={"full": 75})
SIGNAL = _drawn("residual", "mixfriendly", full=(1.0,), blocks={"full": 56}, n=2048)

CORRECTED: tuple[Check, ...] = (
    _ahead(LINMIX, ON_ALL_THREE, ADASSP, decides="a"),
    _ahead(LINMIX, ON_NOT_ALL, ADASSP, decides="a", level="full"),
    _ahead(ADASSP, LARGE_RESIDUAL, LINMIX, decides="b"),
    _ahead(ADASSP, WELL_CONDITIONED, LINMIX, decides="b", level="full"),
    _ahead(IHM, SIGNAL, ADASSP, LINMIX, decides="c", level="full"),
    Agreement(decides="d", facts=_best_steps, impostors={"ten times": {"facts": {"at_least": 10.0}}}),
    Agreement(decides="cd", facts=_by_signal, impostors={"whatever the signal": {"facts": {"strong": 0.03}}}),
)


REGIMES = Claim(
    id="ols/regime-claims",
    where="Abstract, Section 4.3, Section 5",
    equation="Section 4.3",
    kind="mc-rate",
    statement=(
        (
            'Linear mixing is expected to outperform AdaSSP when $L^* lt.tilde gamma_"mix" (1 + C_Y^2) (1 + '
            "norm(theta^*)^2)$, $norm(theta^*)^2 = Theta(C_Y^2)$ and $lambda^X << 1$ hold together, and only then;"
        ),
        "AdaSSP benefits when $lambda^X >> lambda^(X Y)$ or $L^*$ is large;",
        "IHM with small $T$ has the benefits of both schemes;",
        "it empirically outperforms both on all instances tested.",
    ),
    setting=(
        "Synthetic data: `mixfriendly` (small residual, $lambda^X approx 0$), `wellcond` ($lambda^X = n\\/d$, small "
        "residual), `residual`, `smalltheta`, `clip`; the experiments' settings. The correction: medians of excess "
        "risk over the trials on five draws that did not write it; medians a factor of 1.05 apart would have been told "
        "apart in every cell (1.1 at quick level, which has fewer)."
    ),
    fault=Fault(
        severity="substantive",
        touches="text",
        finding=(
            "With $T$ fixed at 3, as in the experiments, IHM lacks the benefit of AdaSSP in (iii): for $n = {n}$ "
            "well-conditioned records ($d = 8$, $lambda^X approx n\\/d$, $C_Y = 1$, a small residual) at $epsilon = "
            "{epsilon}$ its excess risk is ${ratio:3}$ times that of AdaSSP, for the term $4^(-T) norm(X theta^*)^2$ "
            "of (4) grows with $n$. And (iv) is denied by Appendix K, which names eight sets on which AdaSSP does "
            "better for $epsilon <= 1$."
        ),
        consequence=(
            "$T$ has to grow with $log n$, as (5) does; no $T <= 10$ beats AdaSSP there, under the paper's accounting "
            "or the tight one. IHM wins where the signal is large against the noise and $lambda^X$ small. Nor are the "
            "conditions of (i) necessary: on `clip`, $norm(theta^*) > 10^6$, linear mixing beats AdaSSP at $epsilon = "
            "10$."
        ),
    ),
    checks=(
        _benefits_of_both().deciding("c"),
        _only_then().deciding("ab"),
        Agreement(decides="d", facts=_named_by_the_paper),
    ),
    correction=Correction(
        statement=(
            "Linear mixing outperforms AdaSSP when the three conditions hold together, but not only then;",
            (
                "AdaSSP outperforms linear mixing when $lambda^X >> lambda^(X Y)$ or $L^*$ is large and "
                "$norm(theta^*)^2 lt.tilde C_Y^2$;"
            ),
            (
                'IHM with $T = 3$ outperforms both when $lambda^X$ is small against $gamma_"hess"$ and $norm(X '
                "theta^*)^2$ is not;"
            ),
            (
                "at $theta^* = 0$ AdaSSP outperforms it there, and IHM of $T = 1$ to 10 when $lambda^X >> "
                'gamma_"hess"$ and $L^*$ is small.'
            ),
        ),
        ground="Simulation in each regime, and the exact risk of IHM against the leading order of AdaSSP's.",
        checks=CORRECTED,
    ),
    given={"n": LARGE},
)
