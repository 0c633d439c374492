"""Beyond the paper: what proves a bound, at its edge. Where the denominator touches 0 nothing may be proved; next to
that, and everywhere else, the number is that of the multipliers to 1e-11.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import flint
import numpy as np

from dpbounds import AccuracyError
from dpbounds.circle.arcs import Cells, Points
from dpbounds.circle.discs import Discs
from dpbounds.ftrl import correlations
from dpbounds.ftrl.strongly_convex import Noise, Program, ProgramName, bound_program
from dpbounds.ftrl.strongly_convex.certificate import enclosed
from dpbounds.ftrl.strongly_convex.floats import Ratio
from verify.checks import Agreement, Fact, Times, Within
from verify.papers.ftrl.beyond.enclosed_powers import powers_of_roots
from verify.statements.claims import Claim

OURS = "beyond the paper"
BITS = 200
# Steps of the trapezoid in y, tan(omega / 2) = e^y, and its ends; the error is far below 1e-15 of the integral.
STEP, REACH = 1 / 8, 40.0


# --- the number of the multipliers ---


def _bound_of(program: Program, noise: Noise, multipliers: list[float]) -> Any:
    """eta^2 times the mean of S psi / eta^2, from complex numbers with 200 bits."""
    mu, L, eta = (flint.acb(x) for x in (program.mu, program.L, program.eta))
    lags, a = len(multipliers) // 2, L / 2
    b = mu / 2 if program.name == "f" else a
    total = flint.acb(0)
    for y in np.arange(-REACH, REACH, STEP).tolist():
        p = flint.acb(y).exp()
        w = (1 + flint.acb(0, 1) * p) ** 2 / (1 + p * p)  # e^{i omega}
        c = a + flint.acb(multipliers[0])
        for t in range(1, lags + 1):
            c += flint.acb(multipliers[t]) * (1 - w**t) + flint.acb(multipliers[lags + t]) * (1 - w**-t)
        u, v = 1 - w - eta * mu, 1 - w - eta * L
        size = [(z * z.conjugate()).real for z in (c, u, v)]
        D = 2 * (c * u.conjugate() * v).real - a.real * size[1] - b.real * size[2]
        total += _density(noise, w) * (size[0] - (a * b).real) / D / flint.arb(y).cosh()
    return (eta**2 * total * flint.acb(STEP)).real / flint.arb.pi()


def _density(noise: Noise, w: Any) -> Any:
    """S = d G^2 gamma^2 |B|^2 / (2 rho) + sigma^2, for B = 1, 1 - z / 2 or (1 - (1 - nu) z)^(1/2)."""
    gamma = flint.arb(noise.d) * flint.arb(noise.clip_norm) ** 2 / (2 * flint.arb(noise.rho))
    power = flint.arb(1)
    if noise.correlation == _noise("weights").correlation:
        power = abs(1 - w / 2) ** 2
        gamma *= flint.fmpq(4, 3)
    if isinstance(noise.correlation, correlations.NuCorrelation):
        kept = 1 - flint.acb(noise.correlation.nu)
        power = abs(1 - kept * w)
        x = float((kept * kept).real)
        gamma *= 2 / flint.arb.pi() * flint.acb(x).elliptic_k().real  # (1 / 2 pi) int |1 - k e^{i omega}|^{-1}
    return gamma * power + flint.arb(noise.sigma_sgd) ** 2


PROBLEMS: tuple[tuple[ProgramName, str, float, float, float, int], ...] = (
    ("f", "nu", 2.0**-8, 2.0, 0.75, 3),
    ("f", "independent", 0.25, 1.0, 0.25, 0),
    ("theta", "nu", 0.125, 1.0, 0.5, 2),
    ("theta", "independent", 0.5, 2.0, 0.875, 4),
    ("f", "weights", 0.25, 1.0, 0.5, 1),
)


def _noise(mechanism: str, sigma: float = 0.5) -> Noise:
    made = {
        "nu": correlations.nu(0.125),
        "independent": correlations.independent(),
        "weights": correlations.from_coefficients([1.0, -0.5]),  # integrated in balls
    }
    return Noise(correlation=made[mechanism], rho=0.75, d=3, clip_norm=1.5, sigma_sgd=sigma)


def _numbers(rng: np.random.Generator, moved: float = 0.0) -> Iterator[Fact | Within]:
    """The value is at or above the number of its multipliers, by little; `moved` in the impostor."""
    for name, mechanism, mu, L, eta, lags in PROBLEMS:
        program, noise = Program(name=name, mu=mu, L=L, eta=eta), _noise(mechanism)
        found = bound_program(noise, program, max_lag=lags)
        label = f"program {name}, {mechanism}, kappa = {L / mu:g}, {lags} lags"
        with flint.ctx.workprec(BITS):
            truth = _bound_of(program, noise, list(found.multipliers))
            low, high = found.value.enclosure or (np.nan, np.nan)
            above = float(flint.arb(high) * (1 - flint.arb(moved)) / truth - 1)
            below = float(1 - flint.arb(low) / truth)
        most = 1e-9 if mechanism == "weights" else 1e-11
        yield Within(f"upper end over the number, less 1, {label}", above, least=0.0, most=most)
        yield Within(f"1 less lower end over the number, {label}", below, least=0.0, most=most)
        yield Fact(f"the value is the upper end, {label}", float(found.value), high, 0)


# --- where the denominator touches 0 ---

# mu, L, eta, all dyadic; D of `theta` without lags touches 0 at frequency 0, the last at pi.
TOUCHING = ((0.25, 2.0, 0.25), (1.5, 1.875, 1.0))


def _edge(mu: float, L: float, eta: float) -> float:
    """The lambda_0 there: D >= 0 is 1 + 2 lambda_0 / L >= (q + 1 / q) / 2 for q = |v| / |u| at both frequencies."""
    quotients = L / mu, (2 - eta * mu) / (2 - eta * L)
    return L / 2 * (max((q + 1 / q) / 2 for q in quotients) - 1)


def _edges(rng: np.random.Generator, slack: float = 0.0) -> Iterator[Fact | Within]:
    """D = 0 somewhere, exactly in floats: refused there and below, proved above, where nearly all of the integral is
    next to that frequency. In the impostor the edge is elsewhere.
    """
    for mu, L, eta in TOUCHING:
        program, noise, edge = Program(name="theta", mu=mu, L=L, eta=eta), _noise("nu"), _edge(mu, L, eta)
        label = f"mu = {mu:g}, L = {L:g}, eta = {eta:g}"
        for off in (0.0, -1e-12):
            proved = _proved(program, noise, edge * (1 + off + slack))
            yield Fact(f"bounds proved at the edge times 1 + {off:g}, {label}", int(proved is not None), 0, 0)
        for off in (1e-6, 1e-2):
            multiplier = edge * (1 + off)
            proved = _proved(program, noise, multiplier)
            with flint.ctx.workprec(BITS):
                truth = _bound_of(program, noise, [multiplier])
                middle, radius = (flint.arb("nan"),) * 2 if proved is None else (proved.mid(), proved.rad())
                distance, width = float(abs(middle - truth) / radius), float(radius / truth)
            yield Within(f"distance from the middle over the radius, {off:g} above, {label}", distance, most=1.0)
            yield Within(f"relative radius, {off:g} above, {label}", width, most=3e-9)


def _proved(program: Program, noise: Noise, multiplier: float) -> Any:
    """The bound of this multiplier as a ball, None where none is proved."""
    try:
        _, _, integral = enclosed(program, noise, np.array([multiplier]), program.L)
    except AccuracyError:
        return None
    return integral * flint.arb(program.eta) ** 2


def _psi(program: Program, multipliers: list[float], omega: Any) -> Any:
    """psi / eta^2 continued to complex frequencies: what is conjugate on the circle is the same function of -omega."""
    mu, L, eta = (flint.acb(x) for x in (program.mu, program.L, program.eta))
    lags, a = len(multipliers) // 2, L / 2
    b = mu / 2 if program.name == "f" else a

    def sides(w: Any) -> tuple[Any, Any, Any]:
        c = a + flint.acb(multipliers[0])
        for t in range(1, lags + 1):
            c += flint.acb(multipliers[t]) * (1 - w**t) + flint.acb(multipliers[lags + t]) * (1 - w**-t)
        return c, 1 - w - eta * mu, 1 - w - eta * L

    (c, u, v), (c_, u_, v_) = sides((flint.acb(0, 1) * omega).exp()), sides((flint.acb(0, -1) * omega).exp())
    return (c * c_ - a * b) / (c * u_ * v + c_ * u * v_ - a * u * u_ - b * v * v_)


def _on_discs(rng: np.random.Generator, share: float = 1.0) -> Iterator[Within]:
    """psi at frequencies on the rims of the discs of cells, wide and narrow, for multipliers that are not the best."""
    settings: tuple[tuple[ProgramName, float, float, float], ...] = (
        ("f", 2.0**-6, 1.0, 0.25),
        ("theta", 0.25, 2.0, 0.875),
    )
    for name, mu, L, eta in settings:
        program = Program(name=name, mu=mu, L=L, eta=eta)
        best = bound_program(_noise("nu"), program, max_lag=3, certify=False).multipliers
        multipliers = [x * (1 + y) for x, y in zip(best, rng.uniform(0.0, 0.02, len(best)).tolist(), strict=True)]
        for level in (2, 6, 12):
            cells = Cells(np.array([-6.0, -3.0, -1.0, 0.1875, 1.5, 4.0]), np.full(6, level), 8)
            disc = Ratio(program, np.array(multipliers)).at(cells.discs)
            shares = []
            with flint.ctx.workprec(BITS):
                for k, y in enumerate(cells.middle.tolist()):
                    middle, radius = 2 * flint.acb(y).exp().atan(), flint.acb(float(cells.discs.radius[k]))
                    off = [
                        abs(_psi(program, multipliers, middle + radius * turn) - flint.acb(float(disc.centre[k])))
                        for turn in (flint.acb(1), flint.acb(-1), flint.acb(0, 1))
                    ]
                    shares.append(max(map(float, off)) / (share * float(disc.radius[k])))
            label = f"program {name}, kappa = {L / mu:g}, eta = {eta:g}, level {level}"
            yield Within(f"psi: farthest on the rim over the radius, {label}", max(shares), most=1.0)
            if level == 12:
                yield Within(f"psi: farthest over the radius, most of the discs, {label}", max(shares), least=0.5)


ENCLOSED = Claim(
    id="ftrl/beyond-enclosed-bounds",
    where=f"{OURS}: certificates of bounds at their edge",
    kind="inequality",
    statement=(
        (
            "The end that a certificate proves is at or above the bound of its multipliers, by a part in $10^11$ at "
            "most in floats and in $10^9$ in balls;"
        ),
        "where $D$ touches 0 on the circle nothing is proved, and a millionth above that the bound is;",
        "$psi$ is in its discs, which are at their tightest no more than twice as wide as they must be.",
    ),
    setting="Programs $f$ and $theta$, white and $nu$-correlated noise, $eta L$ on both sides of 1; 200 bits.",
    checks=(
        Agreement(decides="a", facts=_numbers, impostors={"1e-9 lower": {"facts": {"moved": 1e-9}}}),
        Agreement(decides="b", facts=_edges, impostors={"the edge 1e-6 lower": {"facts": {"slack": 1e-6}}}),
        Agreement(decides="c", facts=_on_discs, impostors={"half as wide": {"facts": {"share": 0.5}}}),
    ),
)


# --- spectra from their roots ---

# Zeros and poles of |B|^2; all of the first three pull the same way, where the rim is attained.
ROOTS: dict[str, tuple[tuple[complex, ...], tuple[complex, ...]]] = {
    "one zero": ((0.75,), ()),
    "one pole": ((), (0.875,)),
    "zeros and a pole of the other sign": ((0.5, 0.75), (-0.25,)),
    "a pair next to the axis": ((0.75 + 2.0**-20 * 1j,), ()),
    "pairs": ((0.5 + 0.5j, 0.25), (0.75 + 0.125j,)),
}


def _power(zeros: tuple[complex, ...], poles: tuple[complex, ...], s: Any) -> Any:
    """|B|^2 continued to complex s, from the definition."""
    total = flint.acb(1)
    for numbers, half in ((zeros, 1), (poles, -1)):
        for q in numbers:
            for number in (q, q.conjugate()) if complex(q).imag else (q,):
                root = (4 * flint.acb(number) * s + (1 - flint.acb(number)) ** 2).sqrt()
                total = total * root**half
    return total


def _spectra(rng: np.random.Generator, narrower: float = 0.0) -> Iterator[Within]:
    """|B|^2 and its inverse on the rims of discs, wide ones and narrow ones, whose rims they reach."""
    for name, (zeros, poles) in ROOTS.items():
        correlation = correlations.HalfPowers(zeros, poles)
        for level in (2, 4, 10):
            points: Points = Cells(np.array([-4.0, -1.5, 0.1875, 2.0]), np.full(4, level), 1).discs
            for told, disc, power in zip(("", "inverse, "), correlation.power_on(points), (1, -1), strict=True):
                shares = _shares(zeros, poles, points, disc, power) / (1.0 - narrower)
                label = f"{told}{name}, level {level}"
                yield Within(f"farthest on the rim over the radius, {label}", float(shares.max()), most=1.0)
                if level == 10 and "pair" not in name:
                    yield Within(
                        f"farthest on the rim over the radius, least, {label}", float(shares.min()), least=0.99
                    )


def _shares(zeros: Any, poles: Any, points: Points, disc: Discs, power: int) -> np.ndarray:
    """For each disc the farthest of four directions on its rim, over the radius."""
    farthest = np.zeros(len(points.radius))
    with flint.ctx.workprec(BITS):
        for turn in (flint.acb(1), flint.acb(-1), flint.acb(0, 1), flint.acb(flint.fmpq(3, 5), flint.fmpq(4, 5))):
            for k in range(len(farthest)):
                s = flint.acb(float(points.disc.centre[k])) + flint.acb(float(points.disc.radius[k])) * turn
                off = abs(_power(zeros, poles, s) ** power - flint.acb(float(disc.centre[k])))
                farthest[k] = max(farthest[k], float(off / flint.arb(float(disc.radius[k]))))
    return farthest


SPECTRA = Claim(
    id="ftrl/beyond-enclosed-spectra",
    where=f"{OURS}: discs of spectra",
    kind="inequality",
    statement=(
        (
            "The discs of $abs(B)^2$ and of its inverse hold their values on discs of $s$, and reach no further than "
            "these by more than 1 % where the discs are small and all roots are real;"
        ),
        "what rounding adds to them is what is stated of each root, and nothing is known where a factor may vanish.",
    ),
    setting="$B$ a ratio of half powers: one zero, one pole, zeros and a pole, pairs; units of rounding of any size.",
    checks=(
        Agreement(decides="a", facts=_spectra, impostors={"1e-8 narrower": {"facts": {"narrower": 1e-8}}}),
        Agreement(decides="b", facts=powers_of_roots, impostors={"1e-9 off": {"facts": Times(1 + 1e-9)}}),
    ),
)
