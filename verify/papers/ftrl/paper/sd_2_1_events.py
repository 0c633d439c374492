"""Appendix D.2.1: the events behind Theorem D.4."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from dpbounds.ftrl import correlations
from verify.checks import Agreement, Event, Frequency, Inequality, Within
from verify.checks.domains import Real
from verify.papers.ftrl.tools.component_runs import Scenario, components
from verify.statements.claims import Claim, Correction, Fault

# beta_0 and p of the counterexample.
LARGE, FAILURE = 50.0, 0.1


def _large_weight() -> list[Event]:
    """beta = (50, 0, ...), T = 2: Tr U_{1,0} = 2500 d, stated at most 4 d / p times 50."""
    scenario = Scenario(label="signs, d=1", eigenvalues=(1.0,), inputs="sign", sigma_sgd=0.5)
    return [_event(scenario, 2, FAILURE, (LARGE,), "U ratio", 4.0)]


def _never(rng: np.random.Generator) -> Iterator[Within]:
    """That problem at tau = 0: V = beta_0 whatever the inputs, and (78) asks T^2 d / p beta_0 of its square."""
    steps = 2
    square, most = LARGE**2, steps**2 / FAILURE * LARGE
    chance = 1.0 if square <= most else 0.0
    yield Within(f"probability of (78) at beta_0 = {LARGE:g}, d = 1, T = {steps}", chance, 1 - 6 * FAILURE)


def _events(C: float) -> list[Event]:
    """All six events at once, w.p. 1 - 6 p, (78) with the square."""
    cases = [
        (Scenario(label="Gaussian, d=2", eigenvalues=(1.0, 0.2), sigma_sgd=0.5), 20, 0.02),
        (Scenario(label="signs, d=3", eigenvalues=(1.0, 1.0, 0.1), inputs="sign", sigma_sgd=0.5), 15, 0.02),
        (Scenario(label="Gaussian, d=1", eigenvalues=(2.0,), sigma_sgd=0.5), 3, 0.1),
    ]
    weights = ((1.0,), (1.0, -0.5, 0.3), (2.0, 1.0))
    return [_event(*case, beta, "U ratio squared", C) for case in cases for beta in weights]


def _event(scenario: Scenario, steps: int, p: float, beta: tuple[float, ...], U: str, C: float) -> Event:
    ell, sigma, r_squared = float(np.log(steps / p)), scenario.sigma_sgd, scenario.r_squared
    eta = 1 / (4 * r_squared * ell)
    correlation = correlations.from_coefficients(beta)
    settings = replace(scenario.settings(eta, steps, clipping=False), correlation=correlation, sensitivity=1.0)

    def occurs(seen: Mapping[str, np.ndarray]) -> np.ndarray:
        return np.logical_and.reduce(
            [
                seen["inputs"] <= C * r_squared * ell,
                seen["residuals"] <= 2 * sigma**2 * np.log(2 * steps / p),
                seen["sgd ratio"] <= C * ell,
                seen["W ratio"] <= steps**2 * r_squared / p,
                seen["dp ratio"] <= C * ell,
                seen[U] <= steps**2 * len(scenario.eigenvalues) / p,
            ]
        )

    label = f"beta={beta}, {scenario.label}, T={steps}, p={p}"
    return Event(label=label, experiment=components(scenario.problem, settings), occurs=occurs, at_least=1 - 6 * p)


def _tail(m, T, p, C: int = 4):
    """T P(<z, A z> > C l Tr A), from E exp(3/8 <z, A z> / Tr A) <= 2."""
    return 2 * T * m.exp(-m.number("3/8") * C * m.log(T / p))


PROP_D_5 = Claim(
    id="ftrl/prop-d.5",
    where="Proposition D.5, (71) to (78)",
    page=39,
    equation="(78)",
    kind="mc-rate",
    statement="The six events (71), (72), (73), (76), (77), (78) occur together with probability at least $1 - 6 p$.",
    hypotheses="The setting of Theorem D.4, $eta <= 1\\/(C R^2 ell)$.",
    setting="$C = 4$; only $p < 1\\/6$ says anything.",
    checks=(Frequency(events=_large_weight), Agreement(facts=_never, closed=True)),
    fault=Fault(
        severity="slip",
        touches="statement",
        finding=(
            '(78) bounds the quadratic $op("Tr")[V_(t, tau) V_(t, tau)^top]$ by a sum linear in $beta$: with $beta = '
            "({large}, 0, ...)$, $d = 1$, $x = plus.minus 1$, $T = 2$, $p = {failure}$, $C = 4$ the six events occur "
            "together in ${hits}$ of ${trials}$ runs, stated is a probability of at least ${claimed}$."
        ),
        consequence="Proposition D.8 uses (78) with the square, which holds; Theorem D.4 stands in this point.",
        root="ftrl/lem-d.10-a",
    ),
    correction=Correction(
        statement=(
            (
                'The six events (71), (72), (73), (76), (77) and (78) with the square, $op("Tr")[V_(t, tau) V_(t, '
                r"tau)^top] <= T^2 d\/p dot.c (sum_(k <= tau) abs(beta_k) (1 - eta mu)^((tau - k)\/2))^2$, occur "
                "together with probability at least $1 - 6 p$;"
            ),
            "$C = 4$ serves.",
        ),
        ground=(
            "Markov's inequality with Lemmas D.9 and D.10, and $EE exp(3\\/8 dot.c chevron.l z, A z chevron.r \\/ "
            'op("Tr") A) <= 2$.'
        ),
        checks=(
            Inequality(
                decides="b",
                smaller=_tail,
                larger=lambda m, T, p: p,
                certificate=lambda m, T, p: 1 - 2 * m.sqrt(p / T),
                factor=lambda m, T, p: p,
                box={"T": Real(1.0, 1e12, "log"), "p": Real(1e-12, 1 / 6, "log")},
                impostors={"C = 3": {"smaller": {"C": 3}}},
            ),
            Frequency(
                decides="a", events=lambda: _events(4.0), impostors={"C = 0.5": {"events": lambda: _events(0.5)}}
            ),
        ),
    ),
    given={"large": LARGE, "failure": FAILURE},
)
