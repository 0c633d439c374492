"""Algorithms 4 and 5: linear mixing with fixed and dynamic k, step by step with 40 digits."""

from __future__ import annotations

import math
from collections.abc import Iterator

import mpmath
import numpy as np

from dpbounds.ols import DynamicMixing, sketch
from simulators.ols import LeastSquares, LinearMixing, dynamic_mixing, linear_mixing
from verify.checks import Agreement, Fact, Within
from verify.papers.ols.tools.draws import matrix, recorded, small_problem, vector
from verify.papers.ols.tools.steps import DIGITS, STEP_TESTS, mixing_solution, noise_variance
from verify.statements.claims import Claim, Correction, Fault

# --- Algorithms 4 and 5 ---


def _linear_mixing_steps(rng: np.random.Generator, noise_factor: float = 1.0) -> Iterator[Fact]:
    """To the letter, the sketch noise multiplied by sqrt(C_X² + C_Y²) by Algorithm 3, and without that factor; noise
    added and not, C_X and C_Y other than 1.
    """
    for number, (bounds, gamma, tau) in enumerate(
        (((1.0, 1.0), 3.0, 1.0), ((2.0, 0.5), 2.6, 0.5), ((1.0, 3.0), 0.1, -3.0))
    ):
        problem, scale = small_problem(rng, 12, 3, *bounds), bounds[0] ** 2 + bounds[1] ** 2
        for label, factor in (("to the letter", math.sqrt(scale)), ("without the factor", 1.0)):
            settings = LinearMixing(k=6, gamma=gamma, tau=tau, noise_factor=factor, sketch="explicit")
            streams, noise = recorded(number)
            found = linear_mixing(problem, settings, streams, 2)
            z, *rest = noise.drawn
            with mpmath.workdps(DIGITS):
                joint = matrix(np.column_stack([problem.regressors, problem.outcome]))
                test = mpmath.mpf(gamma) / mpmath.sqrt(6)
                variances = [
                    factor**2 * noise_variance(joint.T * joint, mpmath.sqrt(scale), gamma, tau, test, one)
                    for one in z.tolist()
                ]
                solved = [
                    mixing_solution(problem, rest[2 * i], rest[2 * i + 1], noise_factor * mpmath.sqrt(variances[i]))
                    for i in range(2)
                ]
            shown = f"C_X = {bounds[0]:g}, C_Y = {bounds[1]:g}, gamma = {gamma:g}, {label}"
            yield Fact(f"theta for {shown}", found["theta"], np.array(solved), 1e-8)
            yield Fact(f"sketch noise for {shown}", found["eta_squared"], vector(mpmath.matrix(variances)), 1e-9)


BUDGETS = ((0.3, 1e-4, 20, 1), (1.0, 1e-6, 60, 1), (4.0, 1e-3, 7, 3))


def _smallest_gamma(rng: np.random.Generator, share: float = 1.0) -> Iterator[Fact | Within]:
    """epsilon~ falls in gamma, and line 2 finds where it meets epsilon."""
    for epsilon, delta, k, steps in BUDGETS:
        gammas = np.geomspace(2.6, 1e5, 25)
        values = [float(sketch.epsilon(float(gamma), k, delta, steps)) for gamma in gammas]
        label = f"epsilon = {epsilon:g}, delta = {delta:g}, k = {k}, T = {steps}"
        yield Within(f"steps of epsilon~ in gamma, {label}", float(np.diff(values).max()), most=0.0)
        gamma = float(sketch.gamma(epsilon, delta, k, steps))
        met = float(sketch.epsilon(gamma * share, k, delta, steps))
        yield Fact(f"epsilon~ at the gamma of line 2, {label}", met, epsilon, 1e-10)


ALG_4 = Claim(
    id="ols/alg-4",
    where="Algorithm 4",
    equation="Algorithm 4",
    kind="algorithm",
    statement=(
        r"Linear mixing: the smallest $gamma > 5\/2$ with $tilde(epsilon) (gamma\/sqrt(k), gamma, k, delta) <= "
        "epsilon$;",
        (
            "$[tilde(X), tilde(Y)]$ from Algorithm 3 on $[X, Y]$ with bound $sqrt(C_X^2 + C_Y^2)$, $tau = sqrt(2 log "
            r"max{3\/delta, 2\/rho.alt})$ and test noise $gamma\/sqrt(k)$;"
        ),
        "returns $(tilde(X)^top tilde(X))^(-1) tilde(X)^top tilde(Y)$.",
    ),
    setting=STEP_TESTS,
    remark=(
        "To the letter Algorithm 3 multiplies the sketch noise of Algorithm 2 by $sqrt(C_X^2 + C_Y^2)$ once more, "
        "which privacy does not need (`ols/alg-3`); tried with that factor and without."
    ),
    checks=(
        Agreement(
            decides="bc",
            facts=_linear_mixing_steps,
            impostors={"noise 1 % larger": {"facts": {"noise_factor": 1.01}}},
        ),
        Agreement(decides="a", facts=_smallest_gamma, impostors={"gamma 1 % too small": {"facts": {"share": 0.99}}}),
    ),
)

# C_X, C_Y, epsilon, delta, k.
DYNAMIC = ((1.0, 1.0, 2.0, 1e-3, 6), (2.0, 0.25, 4.0, 1e-2, 9), (0.5, 3.0, 8.0, 1e-2, 5))


def _about_the_threshold(C_X: float, C_Y: float, mixing: DynamicMixing) -> LeastSquares:
    """Records whose joint eigenvalue line 5 finds large enough in about half of the draws."""
    bound = C_X**2 + C_Y**2
    needed = bound * mixing.gamma + mixing.test_noise(bound) * mixing.tau
    rows, outcome = C_X * np.eye(3)[np.arange(3000) % 3], C_Y * np.cos(1.0 * np.arange(3000))
    each = LeastSquares(regressors=rows, outcome=outcome, row_bound=C_X, outcome_bound=C_Y).lambda_min_joint / 3000
    n = 3 * math.ceil(needed / each / 3)
    rows, outcome = C_X * np.eye(3)[np.arange(n) % 3], C_Y * np.cos(1.0 * np.arange(n))
    return LeastSquares(regressors=rows, outcome=outcome, row_bound=C_X, outcome_bound=C_Y)


def _released(rng: np.random.Generator, shift: float = 1.0) -> Iterator[Fact]:
    """Lines 2 to 4: tau, gamma of Algorithm 4, and the eigenvalue as the noise of line 9 shows it."""
    for number, (C_X, C_Y, epsilon, delta, k) in enumerate(DYNAMIC):
        mixing, bound = DynamicMixing(epsilon=epsilon, delta=delta, k=k, failure=delta / 10), C_X**2 + C_Y**2
        label = f"C_X = {C_X:g}, C_Y = {C_Y:g}, epsilon = {epsilon:g}"
        yield Fact(f"tau², {label}", mixing.tau**2, 8 * math.log(40 / delta), 1e-12)
        yield Fact(f"gamma, {label}", mixing.gamma, float(sketch.gamma(epsilon, delta, k)), 1e-12)
        problem = _about_the_threshold(C_X, C_Y, mixing)
        streams, noise = recorded(number)
        found = dynamic_mixing(problem, mixing, streams, 40)["eta_squared"]
        added = mixing.gamma / math.sqrt(k) * bound * (shift * mixing.tau - noise.drawn[0])
        released = np.maximum(problem.lambda_min_joint - added, 0.0)
        small = found > 0
        expected = (mixing.gamma * bound - released)[small]
        yield Fact(f"gamma (C_X² + C_Y²) less lambda~, {label}", found[small], expected, 1e-9)


def _branches(rng: np.random.Generator, in_units: bool = True, as_drawn: bool = True) -> Iterator[Fact | Within]:
    """Lines 5 to 9 of the corrected algorithm from its own draws: who adds noise, how much, and the largest k~."""
    for number, (C_X, C_Y, epsilon, delta, k) in enumerate(DYNAMIC):
        mixing = DynamicMixing(
            epsilon=epsilon, delta=delta, k=k, failure=delta / 10, in_units=in_units, as_drawn=as_drawn
        )
        bound, label = C_X**2 + C_Y**2, f"C_X = {C_X:g}, C_Y = {C_Y:g}, epsilon = {epsilon:g}"
        problem = _about_the_threshold(C_X, C_Y, mixing)
        streams, noise = recorded(number)
        found = dynamic_mixing(problem, mixing, streams, 40)
        level = problem.lambda_min_joint / bound - mixing.gamma / math.sqrt(k) * (mixing.tau - noise.drawn[0])
        enough = level >= mixing.gamma
        yield Within(f"trials of 40 without noise, {label}", int(enough.sum()), 1, 39)
        expected = np.where(enough, 0.0, bound * (mixing.gamma - np.maximum(level, 0.0)))
        yield Fact(f"sketch noise, {label}", found["eta_squared"], expected, 1e-9)
        yield Fact(f"rows where noise is added, {label}", found["k"][~enough], np.full(int((~enough).sum()), k), 0)
        for times in (*(level[enough][:2] / mixing.gamma), 1.7, 5.0):
            size, _ = mixing.sketch(float(times) * mixing.gamma * bound * (1 + 1e-12), bound_squared=bound)
            spent = [_spent(mixing, float(times), rows) for rows in (k, size, size + 1)]
            yield Within(f"epsilon~ at k~ = {size}, {times:.4g} gamma, {label}", spent[1], most=epsilon * (1 + 1e-9))
            yield Within(f"epsilon~ at k~ = {size + 1}, {times:.4g} gamma, {label}", spent[2], least=epsilon)


def _spent(mixing: DynamicMixing, times: float, rows: int) -> float:
    """epsilon~ of `rows` rows at the eigenvalue `times` gamma, with the noise that line 4 drew."""
    test_noise = mixing.gamma / math.sqrt(mixing.k)
    return float(sketch.guarantee(test_noise, times * mixing.gamma, rows, mixing.delta))


def _test_noise(rng: np.random.Generator) -> Iterator[Within]:
    """The noise that line 6 charges the test with, over the one that line 4 drew, at lambda~ = 20 gamma."""
    printed = DynamicMixing(epsilon=1.0, delta=1e-6, k=100, failure=1e-7, as_drawn=False)
    times = 20
    size, _ = printed.sketch(times * printed.gamma, bound_squared=2.0)
    share = math.sqrt(printed.k / size)
    numbers = {"share": share, "first": printed.k, "times": times}
    yield Within("noise of line 6 over that of line 4", share, least=1.0, numbers=numbers)


def _leverage_without_noise(rng: np.random.Generator, unit: float = 1.0) -> Iterator[Within]:
    """Line 5 adds no noise once lambda_min((X, Y)'(X, Y)) reaches gamma times `unit`; C_X = C_Y = 1."""
    for gamma in (3.0, 10.0):
        # Records (1, 1), a fraction of one, and many (1, -1): the least eigenvalue is that of the direction (1, 1).
        along = math.sqrt(gamma * unit / 2 - 1)
        rows = np.array([[1.0, 1.0], [along, along], *([[10.0, -10.0]] * 9)])
        leverage = float(rows[0] @ np.linalg.solve(rows.T @ rows, rows[0]))
        numbers = {"gamma": gamma, "leverage": leverage, "allowed": 1 / gamma}
        label = f"leverage where no noise is added, gamma = {gamma:g}"
        yield Within(label, leverage, most=(1 + 1e-12) / gamma, numbers=numbers)


ALG_5 = Claim(
    id="ols/alg-5",
    where="Algorithm 5",
    equation="Algorithm 5",
    kind="algorithm",
    statement=(
        (
            r"Linear mixing with dynamic $k$: with $tau = sqrt(8 log max{3\/delta, 4\/rho.alt})$ and $gamma$ of "
            r"Algorithm 4, $tilde(lambda) = max{lambda_min^(X Y) - gamma\/sqrt(k) (C_X^2 + C_Y^2) (tau - z), 0}$;"
        ),
        (
            "if $tilde(lambda) >= gamma$, sketch with the largest $tilde(k) >= k$ for which $tilde(epsilon) "
            r"(gamma\/sqrt(tilde(k)), tilde(lambda), tilde(k), delta) <= epsilon$ and no noise, else with $k$ rows and "
            "noise $sqrt(gamma (C_X^2 + C_Y^2) - tilde(lambda))$."
        ),
    ),
    setting="$C_X$, $C_Y$ from $1\\/4$ to 3. " + STEP_TESTS,
    fault=Fault(
        severity="substantive",
        touches="statement",
        finding=(
            "Lines 5 and 6 compare $tilde(lambda)$ with $gamma$ and use it in $tilde(epsilon)$, both of which are "
            "for rows of norm 1, while rows of $(X, Y)$ have squared norm up to $C_X^2 + C_Y^2 = 2$: at "
            "$tilde(lambda) = gamma = {gamma}$ no noise is added and a record can have leverage ${leverage:3}$ and not "
            "$1\\/gamma = {allowed:3}$; and line 6 charges the test with noise $gamma\\/sqrt(tilde(k))$, ${share:2}$ "
            "of the $gamma\\/sqrt(k)$ that line 4 drew at $C_X = C_Y = epsilon = 1$, $delta = 10^(-6)$, $k = {first}$, "
            "$tilde(lambda) = {times} gamma$."
        ),
        consequence=(
            "By the first Lemma 13 falls (not private), by the second (132) and the second branch of Theorem 2 (no "
            "larger sketch). One corrected algorithm restores all three: lines 5 and 6 in units of $C_X^2 + C_Y^2$, as "
            "in (126) and line 9, and the noise of line 4 in line 6, as in (124)."
        ),
    ),
    checks=(
        Agreement(
            decides="b",
            facts=_leverage_without_noise,
            impostors={"a threshold of 0.9": {"facts": {"unit": 0.9}}},
            closed=True,
        ),
        Agreement(decides="b", facts=_test_noise),
        Agreement(decides="a", facts=_released, impostors={"half of tau": {"facts": {"shift": 0.5}}}),
    ),
    correction=Correction(
        statement=(
            "Linear mixing with dynamic $k$: as printed, with $tilde(lambda)\\/(C_X^2 + C_Y^2)$ in place of "
            "$tilde(lambda)$ in lines 5 and 6, and $eta = gamma\\/sqrt(k)$ in line 6."
        ),
        ground=(
            "Divide $(X, Y)$ by $sqrt(C_X^2 + C_Y^2)$, and charge the test as it was done. Private as Lemma 13 is "
            "corrected, as large as (132), as accurate as Theorem 2: each on this one algorithm."
        ),
        checks=(
            Agreement(
                facts=lambda rng: _leverage_without_noise(rng, 2.0),
                impostors={"a threshold of 1.9": {"facts": lambda rng: _leverage_without_noise(rng, 1.9)}},
            ),
            Agreement(
                facts=_branches,
                impostors={
                    "not in units": {"facts": {"in_units": False}},
                    "the noise of line 6": {"facts": {"as_drawn": False}},
                },
            ),
            Agreement(facts=_released, impostors={"half of tau": {"facts": {"shift": 0.5}}}),
        ),
    ),
)
