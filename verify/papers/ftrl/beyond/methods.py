"""Beyond the paper: bounds for every linear first-order method, with draws that are independent of the past."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from dpbounds import AccuracyError, DomainError
from dpbounds.arithmetic import FLOATS, Arithmetic
from dpbounds.circle.polynomials import exact
from dpbounds.ftrl import correlations
from dpbounds.ftrl.methods import (
    GradientNoise,
    LinearMethod,
    MethodBound,
    bound_method,
    gradient_descent,
    heavy_ball,
    named_method,
    nesterov,
    recheck,
    standard_triple_momentum,
    triple_momentum,
)
from dpbounds.ftrl.methods.coordinates import Units
from dpbounds.ftrl.methods.loops import Loop, Measure
from dpbounds.ftrl.methods.noises import noise_system
from dpbounds.ftrl.methods.program import solve
from dpbounds.ftrl.methods.quadratics import quadratic_error, worst_curvature
from dpbounds.ftrl.strongly_convex import Noise
from verify.checks import Agreement, Fact, Holds, Inequality, Times, Within
from verify.checks.domains import Real
from verify.papers.ftrl.tools.method_spectra import Spectral, averaged, two_steps, value
from verify.statements.claims import Claim

OURS = "beyond the paper"
MU, L = 0.1, 1.0


def bound_of(method: LinearMethod, weights: list[float], measure: Measure = "f", **options: Any) -> MethodBound:
    """The certified bound at draws of variance 1 (up to rounding of gamma), kappa = 10."""
    correlation = correlations.from_coefficients(weights)
    noise = Noise(correlation=correlation, rho=float(correlation.limiting_sensitivity()) ** 2 / 2)
    return bound_method(noise, method, mu=MU, L=L, measure=measure, **options)


# --- the storage function against spectra ---

DESCENT, FAST = gradient_descent(eta=0.1), heavy_ball(eta=0.1, momentum=0.9)
NESTEROV, TRIPLE = nesterov(eta=1.0, momentum=0.5), standard_triple_momentum(MU, L)
SPECTRAL: tuple[tuple[LinearMethod, Spectral, list[float], Measure], ...] = (
    (DESCENT, two_steps(0.1, 0.0), [1.0], "f"),
    (DESCENT, two_steps(0.1, 0.0), [1.0, -0.99], "f"),
    (DESCENT, two_steps(0.1, 0.0), [1.0, -0.6, 0.2], "f"),
    (gradient_descent(eta=1.0), two_steps(1.0, 0.0), [1.0, -0.9], "f"),
    (gradient_descent(eta=1.0), two_steps(1.0, 0.0), [1.0, -0.9], "distance"),
    (DESCENT.averaged(decay=0.9), averaged(two_steps(0.1, 0.0), 0.9), [1.0, -0.5], "distance"),
    (FAST, two_steps(0.1, 0.9), [1.0], "f"),
    (FAST, two_steps(0.1, 0.9), [1.0, -0.95], "f"),
    (FAST, two_steps(0.1, 0.9), [1.0, 0.3], "gradient"),
    (NESTEROV, two_steps(1.0, 0.5, 0.5), [1.0, -0.7], "distance"),
    (NESTEROV.output("y"), two_steps(1.0, 0.5, 0.5), [1.0, -0.7], "f"),
    (TRIPLE.output("y"), two_steps(-float(TRIPLE.B[0]), TRIPLE.A[1, 1], TRIPLE.C[1]), [1.0, -0.5], "f"),
)


def _spectra(
    rng: np.random.Generator, latest: int = 1, known: float = 1.0, sign: float = 1.0, factor: float = 1.0
) -> Iterator[Fact]:
    """The certified bound, and the Wiener-Hopf expression at its multipliers."""
    for method, spectral, weights, measure in SPECTRAL:
        found = bound_of(method, weights, measure)
        system = noise_system(correlations.from_coefficients(weights), float)
        pairs = Loop.of(method, system, MU, L, found.memory, float).pairs()
        delays = [(i.lag if i.kind else None, j.lag if j.kind else None) for i, j in pairs]
        weighted = [(*pair, weight) for pair, weight in zip(delays, found.multipliers.tolist(), strict=True)]
        oracle = value(spectral, weights, MU, L, measure, weighted, latest=latest, known=known, sign=sign)
        oracle = oracle if np.isfinite(oracle) else 0.0  # where D is not positive there is no bound
        yield Fact(f"{method.name}, weights {weights}, {measure}", factor * float(found.value), oracle, 1e-6)


SPECTRA = Claim(
    id="ftrl/beyond-methods-spectra",
    where=f"{OURS}: certified bounds of linear methods",
    kind="identity",
    statement=(
        r"At its multipliers the certified bound is $N$ times the mean over the circle of $w abs(B)^2 + abs(beta B)^2 "
        r'\/ D$, less $sum_(k <= 0) kappa_k^2 + (kappa_1 - Delta_0 G_1 b_0)^2$: $-D abs(Y)^2 + 2 op("Re")[beta '
        r"overline(Y) W] + w abs(W)^2$ is the form of what is judged and of the interpolation inequalities in $R Y = "
        r"nabla F + W$, $W = B E$, $D = abs(Delta)^2$ with $Delta$ outer, $kappa_k$ the coefficients of $beta B \/ "
        r"overline(Delta)$ and $G_1 = lim zeta \/ R$."
    ),
    hypotheses=r"$F$ $mu$-strongly convex and $L$-smooth, a method that is linear around the gradient.",
    setting=r"$kappa = 10$, twelve methods, noises and measures.",
    checks=(
        Agreement(
            facts=_spectra,
            impostors={
                "1 % off": {"facts": Times(1.01)},
                "a multiplier at lag 2": {"facts": {"latest": 2}},
                "no multiplier at lag 1": {"facts": {"latest": 0}},
                "without the constant at lag 1": {"facts": {"known": 0.0}},
                "plus in the inner products": {"facts": {"sign": -1.0}},
            },
        ),
    ),
)


# --- closed forms ---


def white_descent(m: Arithmetic, eta: Any, mu: Any, factor: Any = 1) -> Any:
    """What the bound is for gradient descent with white noise, L = 1, N = 1, eta <= 1.

    V = P theta^2 and <p, q> >= 0 with theta* alone: the least P of a 2 x 2 inequality.
    """
    ell, twice = 1 - mu, 2 - eta * mu
    return factor * eta / (4 * ell) * (twice - m.sqrt(twice**2 - 4 * ell))


def stiffest(m: Arithmetic, eta: Any, mu: Any) -> Any:
    """The error on the quadratic of curvature L = 1."""
    return eta / (2 * (2 - eta)) + 0 * mu


def _white(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Within]:
    """The program against the closed form, and the reviewed rows."""
    for kappa, eta in ((10.0, 0.1), (100.0, 0.1), (1e3, 0.1), (10.0, 0.5), (1e6, 1e-3), (10.0, 1.0), (1e6, 1e-6)):
        noise = Noise(correlation=correlations.independent(), rho=0.5)
        found = bound_method(noise, gradient_descent(eta=eta), mu=1 / kappa, L=1.0)
        wanted = factor * float(white_descent(FLOATS, eta, 1 / kappa))
        yield Fact(f"kappa = {kappa:g}, eta = {eta:g}", float(found.value), wanted, 1e-6)
        yield Within("its part below the closed form, at most", 1 - float(found.value) / wanted, most=1e-9)


WHITE = Claim(
    id="ftrl/beyond-methods-white-descent",
    where=f"{OURS}: gradient descent with white noise",
    kind="identity",
    statement=(
        r"For gradient descent with white noise the least storage function gives $N (eta L)/(4 (L - mu)) (2 - eta mu - "
        r"sqrt((2 - eta mu)^2 - 4 (1 - mu\/L)))$;",
        r"it is at least the error $N eta \/ (2 (2 - eta L))$ of the stiffest quadratic.",
    ),
    hypotheses=r"$eta L <= 1$.",
    checks=(
        Agreement(decides="a", facts=_white, impostors={"1 % off": {"facts": {"factor": 1.01}}}),
        Inequality(
            decides="b",
            smaller=stiffest,
            larger=white_descent,
            box={"eta": Real(1e-6, 0.999), "mu": Real(1e-6, 0.99)},
            certify=False,
            impostors={"half of it": {"larger": Times("0.5")}},
        ),
    ),
)


def _quadratics(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """The second moment of the state in fractions against AR(2), and against responses added up."""
    white = noise_system(correlations.independent(), exact)
    for eta, b, h in ((0.1, 0.0, 1.0), (0.1, 0.5, 0.3), (0.5, 0.9, 0.7), (1e-6, 0.75, 1e-3)):
        closed = eta / 2 * (1 + b) / ((1 - b) * (2 * (1 + b) - eta * h))
        loop = Loop.of(heavy_ball(eta=eta, momentum=b), white, 1e-4, 1.0, 0, exact)
        found = quadratic_error(loop, exact(h), "f")[0]
        yield Fact(f"heavy ball, eta = {eta:g}, b = {b:g}, h = {h:g}", factor * float(found.p) / float(found.q), closed)
    for method, name in ((NESTEROV, "Nesterov"), (TRIPLE, "triple momentum"), (DESCENT.averaged(decay=0.9), "average")):
        loop = Loop.of(method, noise_system(correlations.from_coefficients([1.0, -0.5]), float), MU, L, 0, float)
        omega = 2 * np.pi * np.arange(4096) / 4096
        power = np.abs(method.transfer(0.4, omega)) ** 2 * np.abs(1 - 0.5 * np.exp(-1j * omega)) ** 2
        yield Fact(f"{name} by spectra", factor * quadratic_error(loop, 0.4, "distance")[0], power.mean(), 1e-9)
    waves = correlations.from_coefficients([0.9**k * math.cos(0.45 * k) for k in range(10)])
    loop = Loop.of(heavy_ball(eta=0.9, momentum=0.8), noise_system(waves, float), MU, L, 0, float)
    found = worst_curvature(loop, L, "f", 1.3, 0.2)
    least: Any = minimize_scalar(
        lambda x: -float(np.dot(quadratic_error(loop, math.exp(x), "f"), (1.3, 0.2))),
        bounds=(math.log(2 * MU), math.log(4 * MU)), method="bounded", options={"xatol": 1e-7},
    )  # fmt: skip
    yield Fact("the worst curvature of noise in waves: its logarithm", factor * math.log(found[0]), least.x, 1e-4)
    yield Fact("its error", factor * found[1], -least.fun, 1e-8)
    loop = Loop.of(NESTEROV, noise_system(correlations.from_coefficients([1.0, -0.5]), float), MU, L, 0, float)
    ends: dict[Measure, float] = {"f": L, "distance": MU}
    for measure, end in ends.items():
        found = worst_curvature(loop, L, measure, 1.3, 0.2)
        yield Fact(f"where the worst is at an end, {measure}", factor * found[0], end)


QUADRATICS = Claim(
    id="ftrl/beyond-methods-quadratics",
    where=f"{OURS}: heavy ball on quadratics",
    kind="identity",
    statement=(
        r"On $F = h theta^2 \/ 2$ heavy ball with white noise has $F_oo = N (eta (1 + b))/(2 (1 - b) (2 (1 + b) - eta "
        r"h))$, and the other methods the mean of $abs(B X \/ W)^2$ over the circle, of which a "
        "search finds the largest over $h$."
    ),
    hypotheses="Stable recursions.",
    checks=(Agreement(facts=_quadratics, impostors={"0.1 % off": {"facts": {"factor": 1.001}}}),),
)


def _rates(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """The rates of the methods by name."""
    for eta, mu in ((0.1, 0.1), (1.0, 0.01), (0.5, 0.25)):
        root, label = float(np.sqrt(eta * mu)), f"eta mu = {eta * mu:g}"
        descent, fast = (named_method(name, eta=eta, mu=mu) for name in ("gd", "nesterov"))
        yield Fact(f"gradient descent, {label}", factor * descent.rate(mu, 1 / eta), eta * mu)
        yield Fact(f"Nesterov, {label}", factor * fast.rate(mu, 1 / eta), root, 1e-6)
        momentum = float(named_method("heavy-ball", eta=eta, mu=mu).A[0, 1])
        yield Fact(f"the momentum of heavy ball, {label}", factor * momentum, (1 - root) ** 2)
        rho = 1 - root
        for _ in range(100):
            rho = 1 - float(np.sqrt(mu * eta / (1 + rho)))
        third = named_method("triple", eta=eta, mu=mu)
        known = standard_triple_momentum(mu, (1 + rho) / eta)
        for name in ("A", "B", "C", "row"):
            yield Fact(f"{name} of triple momentum, {label}", factor * getattr(third, name), getattr(known, name), 1e-9)
    for mu, high, rho in ((0.25, 1.0, 0.5), (0.5, 4.5, 2 / 3)):  # as its authors write it, b, g and d their letters
        standard, square = standard_triple_momentum(mu, high), rho**2
        eta, b, g = (1 + rho) / high, square / (2 - rho), square / ((1 + rho) * (2 - rho))
        stated = [1.0, b, 0.0, b, -eta, -eta, 1.0, g, 1.0, square / (1 - square)]
        told = [*standard.A.ravel(), *standard.B, *standard.C, *standard.row]
        yield Fact(f"triple momentum, mu = {mu:g}, L = {high:g}", told, np.array(stated) / factor)


RATES = Claim(
    id="ftrl/beyond-methods-rates",
    where=f"{OURS}: rates of first-order methods",
    kind="identity",
    statement=(
        r"On quadratics with curvatures from $mu$ to $1\/eta$ gradient descent has the rate $eta mu$ and Nesterov's "
        r"method with $b = (1 - sqrt(eta mu))\/(1 + sqrt(eta mu))$ the rate $sqrt(eta mu)$;",
        r"triple momentum at the step $eta$ is the standard one for $L = (1 + rho)\/eta$, $rho = 1 - sqrt(mu eta \/ (1 "
        r"+ rho))$.",
    ),
    setting="Spectral radii at 200 curvatures.",
    checks=(Agreement(decides="ab", facts=_rates, impostors={"1 % off": {"facts": {"factor": 1.01}}}),),
)


# --- what must not be left out ---


def _free_storage(rng: np.random.Generator, checked: bool = True) -> Iterator[Holds]:
    """Gradient descent with eta mu > 2 diverges on every quadratic; a P < 0 satisfies the inequality for a bound."""
    method, noise = gradient_descent(eta=25.0), Noise(correlation=correlations.independent(), rho=0.5)
    loop = Loop.of(method, noise_system(noise.correlation, float), MU, L, 0, float)
    scale = Units(np.eye(2), np.eye(1), 1.0, 1.0)
    P, weight = np.array([[-1.0]]), 26.0
    form = (
        loop.growth(P)
        + loop.measure("f")
        + weight
        * (loop.interpolation(loop.points[1], loop.points[0]) + loop.interpolation(loop.points[0], loop.points[1]))
    )
    yield Holds("the inequality without stability", bool(np.linalg.eigvalsh(form).max() < 0))
    try:
        if checked:
            bound_method(noise, method, mu=MU, L=L)
        refused = False
    except DomainError:
        refused = True
    yield Holds("bound_method refuses the method", refused)
    try:
        solve(loop, scale, "distance", 1.0, 0.0, stable=checked)
        shown = True
    except AccuracyError:
        shown = False
    yield Holds("no positive storage function shows stability", not shown)


def _stored(rng: np.random.Generator, shrink: float = 1.0) -> Iterator[Holds]:
    """Stored bounds are proved again from their data; those that say more, or show no stability, are not."""
    third = triple_momentum(eta=0.5, b=0.3, g=0.2, d=0.1)
    for method, weights in ((DESCENT, [1.0, -0.5]), (FAST, [1.0, -0.95]), (third, [1.0])):
        data = bound_of(method, weights).data()
        flipped = {**data["stability"], "P": (-np.array(data["stability"]["P"])).tolist()}
        for label, changed, proved in (
            ("as it is", {"value": shrink * data["value"]}, True),
            ("value less 1e-6", {"value": data["value"] * (1 - 1e-6)}, False),
            ("lower more 1e-6", {"lower": data["lower"] * (1 + 1e-6)}, False),
            ("P less 1e-3", {"P": (0.999 * np.array(data["P"])).tolist()}, False),
            ("stability by -P", {"stability": flipped}, False),
        ):
            try:
                recheck({**data, **changed})
                again = True
            except (AccuracyError, DomainError):
                again = False
            yield Holds(f"{method.name}, {label}: {'proved' if proved else 'refused'}", again == proved)


STABILITY = Claim(
    id="ftrl/beyond-methods-stability",
    where=f"{OURS}: bounds of methods that diverge",
    kind="algorithm",
    statement=(
        r"An inequality for a storage function $P$ without a sign bounds nothing where the method diverges, and "
        "`bound_method` refuses such methods;",
        "a stored bound is proved again in exact fractions from its data, and one that says more by $10^(-6)$, has "
        "another $P$, or shows no stability is refused.",
    ),
    checks=(
        Agreement(decides="a", facts=_free_storage, impostors={"free $P$": {"facts": {"checked": False}}}),
        Agreement(decides="b", facts=_stored, impostors={"a value 1 % less": {"facts": {"shrink": 0.99}}}),
    ),
)


# --- noise: privacy is paid where it is drawn ---


def _paid(rng: np.random.Generator, after: bool = False) -> Iterator[Fact | Within]:
    """An average is post-processing: its bound counts gamma of the draws, not of what is left after averaging."""
    rho, decay, beta = 0.5, 0.9, correlations.from_coefficients([1.0, -0.5])
    noise, method = Noise(correlation=beta, rho=rho), DESCENT.averaged(decay=decay)
    found = bound_method(noise, method, mu=MU, L=L, measure="distance")
    weights = np.convolve([1.0, -0.5], (1 - decay) * decay ** np.arange(400))
    inverse = np.convolve([1.0, -decay], 0.5 ** np.arange(400)) / (1 - decay)
    squared = float(np.sum(inverse**2)) if after else 1 / (1 - 0.25)
    response, theta = [], 0.0
    for t in range(4000):
        theta -= 0.1 * (MU * theta + (weights[t] if t < len(weights) else 0.0))
        response.append(theta)
    energy = squared / (2 * rho) * float(np.sum(np.square(response)))
    yield Fact("the slowest quadratic", float(found.lower), energy, 1e-9)
    yield Within("bound over it, at least", found.ratio, 1.0)
    free = GradientNoise(variance=0.25)
    noisy = bound_method(noise, DESCENT, mu=MU, L=L, gradient_noise=free)
    same = bound_method(Noise(correlation=beta, rho=rho, sigma_sgd=0.5), DESCENT, mu=MU, L=L)
    yield Fact("gradient noise of variance 1/4 and sigma_sgd = 1/2", float(noisy.value), float(same.value), 1e-7)


def _every_noise(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Within]:
    """For descent the bound over all noises against 2 K(1 - eta L) / pi, and below bounds of noises."""
    from scipy.special import ellipk

    for eta in (0.1, 0.5, 1.0):
        closed = eta**2 / 2 * (2 / np.pi * ellipk((1 - eta) ** 2)) ** 2
        found = bound_of(gradient_descent(eta=eta), [1.0])
        yield Fact(f"gradient descent, eta = {eta:g}", factor * float(found.lower_every_noise), closed, 1e-9)
    dear = Noise(correlation=correlations.independent(), rho=0.2, d=3, clip_norm=0.7)
    closed = 3 * 0.49 / 0.4 * 0.1**2 / 2 * (2 / np.pi * ellipk(0.9**2)) ** 2
    told = bound_method(dear, DESCENT, mu=MU, L=L).lower_every_noise
    yield Fact("with more coordinates and another budget", factor * float(told), closed, 1e-9)
    for method in (DESCENT, FAST, NESTEROV, heavy_ball(eta=MU, momentum=0.81)):
        for weights in ([1.0], [1.0, -0.9], [1.0, 0.3]):
            correlation = correlations.from_coefficients(weights)
            one = bound_method(Noise(correlation=correlation, rho=0.5), method, mu=MU, L=L)
            least, rate = float(one.lower_every_noise), method.rate(MU, L)
            label = f"{method.name} of rate {rate:.3f}, {weights}: worst quadratic over it"
            yield Within(label, float(one.lower) / least, 1.0)


NOISE = Claim(
    id="ftrl/beyond-methods-noise",
    where=f"{OURS}: averages and equivalent noise",
    kind="inequality",
    statement=(
        r"Averages of the output leave the privacy of the noise as it is: the error counts $gamma_oo$ of $B$, not of "
        "$B$ times the filter.",
        r"No noise of the same privacy has a worst quadratic below $d G^2\/(2 rho) (1/(2 pi) integral "
        r"sqrt(Psi_pi))^2$, $Psi_pi$ the mean of $h abs(X\/W)^2\/2$ over any law $pi$ of curvatures.",
        r"For gradient descent this is $d G^2 eta^2 L\/(4 rho) ((2\/pi) K(1 - eta L))^2$ at best.",
    ),
    hypotheses=r"$eta L <= 1$ in the last part.",
    checks=(
        Agreement(decides="a", facts=_paid, impostors={"gamma after averaging": {"facts": {"after": True}}}),
        Agreement(decides="bc", facts=_every_noise, impostors={"1 % off": {"facts": {"factor": 1.01}}}),
    ),
)
