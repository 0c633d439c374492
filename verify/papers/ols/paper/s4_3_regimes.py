"""Section 4.3: which method suits which data, on synthetic data in each regime."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache, partial

import numpy as np

from dpbounds.ols import Gram, risk
from simulators.ols import AdaSSP, HessianMixing, LeastSquares, family
from verify.checks import Agreement, Check, Fact, Within
from verify.papers.ols.tools.contest import ADASSP, IHM, LINMIX, Arena, Contest, Entrant
from verify.papers.ols.tools.experiments import setup_of
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


CORRECTED: tuple[Check, ...] = (
    Contest(
        decides="a",
        arenas=partial(arenas, "mixfriendly"),
        champion=LINMIX,
        opponents=(ADASSP,),
        epsilons=(0.1, 0.25, 0.63, 1.0),
        measure="excess risk",
        better=1.0,
        impostors={"AdaSSP against LinMix": {"champion": ADASSP, "opponents": (LINMIX,)}},
    ),
    Contest(
        decides="b",
        arenas=partial(arenas, "wellcond", "residual", "smalltheta"),
        champion=ADASSP,
        opponents=(LINMIX,),
        epsilons=BUDGETS,
        measure="excess risk",
        impostors={"LinMix against AdaSSP": {"champion": LINMIX, "opponents": (ADASSP,)}},
    ),
    *(
        Contest(
            decides="c",
            arenas=partial(arenas, "residual", "mixfriendly", "clip"),
            epsilons=(0.25, 1.0),
            measure="excess risk",
            better=most,
            impostors={"AdaSSP": {"champion": ADASSP, "opponents": (IHM,)}, **more},
        )
        for most, more in ((0.5, {"with its ridge": {"champion": KEPT}}), (None, {}))
    ),
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
        "residual), `residual`, `smalltheta`, `clip`; the experiments' settings, 200 trials (500), by medians and "
        "means."
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
            "conditions of (i) necessary: on `clip`, $norm(theta^*) > 10^6$, linear mixing beats AdaSSP at every "
            "$epsilon$."
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
