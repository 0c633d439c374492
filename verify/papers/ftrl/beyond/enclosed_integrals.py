"""Beyond the paper: the cells of the circle and the integrals over it, on which certificates rest, held against points
on the rims of what they enclose and against closed forms.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import flint
import numpy as np

from dpbounds import AccuracyError
from dpbounds.circle.arcs import RHO, WIDTH, Cells, corner, powers
from dpbounds.circle.balls import HALF_WIDTH, POINTS, allowance, gauss_error, integrate
from dpbounds.circle.balls import RHO as RHO_OF_BALLS
from dpbounds.circle.discs import UNIT, Discs
from dpbounds.circle.floats import means
from verify.checks import Agreement, Fact, Within
from verify.papers.ftrl.beyond.enclosed_discs import BITS, OURS, beyond_points
from verify.statements.claims import Claim

# --- cells of the circle ---

# y of the middles: where s or 1 - s is next to 0, and between. Levels of halving.
MIDDLES, LEVELS = (-30.0, -2.0, 0.1875, 1.5, 30.0), (0, 4, 10)
LAGS = 60


def _reach(level: int) -> Any:
    """Half of the sum of the ellipse's half-axes, in y: the radius of a disc that holds it."""
    rho = flint.arb(RHO)
    return flint.arb(WIDTH) / 2 ** (level + 1) * (rho + 1 / rho) / 2


def _directions() -> tuple[Any, ...]:
    """On the unit circle."""
    return flint.acb(1), flint.acb(-1), flint.acb(flint.fmpq(3, 5), flint.fmpq(4, 5)), flint.acb(0, -1)


def _sine_squared(y: Any) -> Any:
    p = (2 * y).exp()
    return p / (1 + p)


def _cells(rng: np.random.Generator, narrower: float = 0.0) -> Iterator[Within]:
    """s, 1 - s, omega and 1 / cosh y on the rims of the discs, and how far inside them the farthest of these is."""
    for level in LEVELS:
        cells = Cells(np.array(MIDDLES), np.full(len(MIDDLES), level), 1)
        points = cells.discs
        with flint.ctx.workprec(BITS):
            R = _reach(level)
            rims = [[flint.acb(y) + R * turn for turn in _directions()] for y in MIDDLES]
            for name, disc, function in (
                ("s", points.disc, _sine_squared),
                ("1 - s", points.far, lambda y: _sine_squared(-y)),
            ):
                beyond = np.array(
                    [
                        beyond_points(Discs(disc.centre[k], disc.radius[k] * (1.0 - narrower)), [function(y)])
                        for k, rim in enumerate(rims)
                        for y in rim
                    ]
                )
                yield Within(f"{name} on discs of level {level}: rim beyond the farthest, least", beyond.min(), least=0)
                at_end = beyond.reshape(len(MIDDLES), -1)[0 if name == "s" else -1].min()
                yield Within(f"{name} at the end of level {level}: rim beyond the farthest", at_end, most=1e-10)
            moved, sizes = [], []
            for k, rim in enumerate(rims):
                middle = 2 * flint.acb(MIDDLES[k]).exp().atan()
                radius = flint.arb(float(points.radius[k]) * (1.0 - narrower))
                moved += [float(radius - abs(2 * y.exp().atan() - middle)) for y in rim]
                most = flint.arb(float(points.sine.upper()[k] / cells.shrink[k]))
                sizes += [float(most * abs(y.cosh()) - 1) for y in rim]
            yield Within(f"omega on discs of level {level}: least distance from the rim", min(moved), least=0.0)
            yield Within(f"1 / cosh on discs of level {level}: bound over value, less 1, least", min(sizes), least=0.0)
            # int_0^R dt / (2 - e^t) from above, 2 - e^R from below
            angle = flint.acb.integral(lambda t, _: 1 / (2 - t.exp()), 0, flint.acb(R)).real
            sines = points.sine.upper().tolist()
            over = [float(flint.arb(r) / (angle * s) - 1) for r, s in zip(points.radius.tolist(), sines, strict=True)]
            yield Within(f"angle of level {level} over the integral, less 1, least", min(over), least=0.0)
            yield Within(f"angle of level {level} over the integral, less 1, most", max(over), most=1e-12)
            under = [float(1 - flint.arb(x) / (2 - R.exp())) for x in cells.shrink.tolist()]
            yield Within(f"1 less shrinking of level {level} over its bound", min(under), least=0.0, most=1e-12)


def _nodes(rng: np.random.Generator, share: float = 1.0) -> Iterator[Within]:
    """s, 1 - s, sin(omega) at Gauss nodes, weights, and both of the powers, within what is said of their rounding."""
    cells = Cells(np.array([-30.0, 0.1875, 1.5, 30.0]), np.array([0, 1, 0, 3]), LAGS)
    points, nodes = cells.nodes, len(cells.weights) // 4
    chosen = rng.permutation(4 * nodes)[:40]
    with flint.ctx.workprec(BITS):
        gauss = [flint.arb.legendre_p_root(nodes, k, weight=True) for k in range(nodes)]
        ys = [
            flint.arb(float(cells.middle[k // nodes])) + float(cells.half[k // nodes]) * gauss[k % nodes][0]
            for k in chosen
        ]
        omegas = [2 * y.exp().atan() for y in ys]
        for name, disc, truth in (
            ("s", points.s, [(w / 2).sin() ** 2 for w in omegas]),
            ("1 - s", points.complement, [(w / 2).cos() ** 2 for w in omegas]),
            ("sin(omega)", points.sine, [1 / y.cosh() for y in ys]),
        ):
            found = Discs(disc.centre[chosen], disc.radius[chosen] * share)
            beyond = beyond_points(found, [flint.acb(value) for value in truth])
            yield Within(f"{name} at nodes: radius over error, less 1, least", min(beyond), least=0.0)
            units = float(np.max(found.radius / np.abs(found.centre))) / UNIT
            yield Within(f"{name} at nodes: radius in units", units, most=20.0)
        slips = [abs(float(cells.half[k // nodes]) * gauss[k % nodes][1] / float(cells.weights[k]) - 1) for k in chosen]
        yield Within("error of weights in units", float(max(map(float, slips))) / UNIT, most=2.0 * share)
        # from s and sin(omega) as far off as they may be
        slip = 13.0 * UNIT * rng.choice([-1.0, 1.0], len(chosen))
        s, sine = (
            np.array([float(value) for value in row])
            for row in zip(*(((w / 2).sin() ** 2, w.sin()) for w in omegas), strict=True)
        )
        s, sine = s * (1.0 + slip), sine * (1.0 - slip)
        found = powers(s, sine, LAGS)
        for t in (1, 2, 5, 21, LAGS):
            for name, kept, errors, truth in (
                ("1 - cos", found.versines, found.versine_error, [2 * (t * w / 2).sin() ** 2 for w in omegas]),
                ("sin", found.sines, found.sine_error, [(t * w).sin() for w in omegas]),
            ):
                most = np.minimum(found.error[t - 1], errors[t - 1] * kept[:, 0]) * share
                off = [float(abs(flint.arb(x) - y)) for x, y in zip(kept[:, t - 1].tolist(), truth, strict=True)]
                yield Within(f"error of {name} of {t} times omega over its bound", float(np.max(off / most)), most=1.0)


def _sums(rng: np.random.Generator, share: float = 1.0) -> Iterator[Within]:
    """Sums of powers with signs in the order that is worst for them, one signed like the errors of its terms."""
    omega = np.array([1e-6, 0.01, 0.4, 2.0, 3.1])
    with flint.ctx.workprec(BITS):
        s = np.array([float((flint.arb(w) / 2).sin() ** 2) for w in omega])
        found = powers(s * (1.0 + 15 * UNIT), np.sin(omega) * (1.0 - 15 * UNIT), LAGS)
        for name, kept, bound in (
            ("1 - cos", found.versines, found.error_of_versines),
            ("sin", found.sines, found.error_of_sines),
        ):
            exact = [
                [
                    2 * (t * flint.arb(w) / 2).sin() ** 2 if name == "1 - cos" else (t * flint.arb(w)).sin()
                    for w in omega
                ]
                for t in range(1, LAGS + 1)
            ]
            errors = np.array([[float(flint.arb(kept[k, t]) - exact[t][k]) for k in range(5)] for t in range(LAGS)])
            for k, first in enumerate(kept[:, 0]):
                weights = np.sign(errors[:, k]) / np.arange(1, LAGS + 1)
                total = sum(
                    (flint.arb(a) * row[k] for a, row in zip(weights.tolist(), exact, strict=True)), flint.arb(0)
                )
                off = float(abs(flint.arb(float(kept[k] @ weights)) - total))
                most = share * float(bound(np.abs(weights), np.array([first]))[0])
                yield Within(f"error of a sum of {name} at omega = {omega[k]:g} over its bound", off / most, most=1.0)
                # one term, frequency and coefficient as far off as they may be, the same way
                sign = np.sign(errors[0, k])
                weight = 1.0 + 4.0 * sign * UNIT
                off = float(abs(flint.arb(float(kept[k, 0])) * flint.arb(weight) - exact[0][k])) + UNIT * first
                most = share * float(bound(np.ones(1), np.array([first]))[0])
                yield Within(
                    f"error of one term of {name} at omega = {omega[k]:g} over its bound", off / most, 0.75, 1.0
                )


def _corners(rng: np.random.Generator, narrower: float = 0.0) -> Iterator[Within]:
    """What lies beyond the cells, on the circle and on a disc around 0 or pi."""
    for widths in (20, 90):
        for low in (True, False):
            points = corner(widths, 1, low=low)
            with flint.ctx.workprec(BITS):
                radius = flint.arb(float(points.radius[0]) * (1.0 - narrower))
                end = 2 * (flint.arb(-widths) * flint.arb(WIDTH)).exp()
                label = f"{widths} widths {'below' if low else 'above'} pi / 2"
                yield Within(f"{label}: radius over the end, less 1", float(radius / end - 1), least=0.0, most=1e-12)
                disc = points.disc if low else points.far
                rim = (flint.arb(float(points.radius[0])) / 2).sinh() ** 2  # sin^2 at a purely imaginary omega
                held = float(flint.arb(float(disc.radius[0])) / rim)
                yield Within(f"{label}: radius in s over the farthest", held, least=1.0, most=2.01)
                yield Within(f"{label}: centre", float(disc.centre[0]), least=0.0, most=0.0)


CELLS = Claim(
    id="ftrl/beyond-circle-cells",
    where=f"{OURS}: cells of the circle",
    kind="inequality",
    statement=(
        (
            "The discs of cells of the circle hold $s = sin^2 omega\\/2$, $1 - s$, $omega$ and $1\\/cosh y$ on the "
            "ellipses of their Gauss rule, and at the ends of the circle the rims are attained;"
        ),
        "at the nodes all of these, $cos t omega$, $sin t omega$ and sums of them are as near as is said.",
    ),
    setting="$y$ from $-30$ to $30$, cells cut up to ten times, $t <= 60$; against 300 bits.",
    checks=(
        Agreement(decides="a", facts=_cells, impostors={"1e-9 narrower": {"facts": {"narrower": 1e-9}}}),
        Agreement(decides="a", facts=_corners, impostors={"1e-9 narrower": {"facts": {"narrower": 1e-9}}}),
        Agreement(decides="b", facts=_nodes, impostors={"a tenth": {"facts": {"share": 0.1}}}),
        Agreement(decides="b", facts=_sums, impostors={"a hundredth": {"facts": {"share": 0.01}}}),
    ),
)


# --- integrals ---

# q of 1 / |(1 - q e^{i omega}) (1 - q* e^{i omega})|^2: poles next to the circle, at frequencies of every size.
POLES = ((0.999, 0.0), (-0.9999, 0.0), (0.75, 0.5), (0.9375, 0.25), (0.125, 0.984375), (-0.875, 0.46875), (0.0, 0.0))


def _mean(a: Any, b: Any) -> Any:
    """Of the square of that for q = a + i b: the variance of an autoregression of order two, b = 0: of order one."""
    if b == 0:
        return 1 / (1 - a * a)
    first, second = 2 * a, -(a * a + b * b)
    return (1 - second) / ((1 + second) * ((1 - second) ** 2 - first**2))


def _spectrum(a: Any, b: Any, s: Any, far: Any, negative: bool) -> Any:
    """Its denominator from s, or from 1 - s where q is nearer to -1: |4 q s + (1 - q)^2|, squared for a pair."""
    if isinstance(b, int):
        return (1 + a) * (1 + a) - 4 * a * far if negative else 4 * a * s + (1 - a) * (1 - a)
    real = 4 * a * s + (1 - a - b) * (1 - a + b)
    imaginary = 2 * b * (2 * s - (1 - a))
    return real * real + imaginary * imaginary


def _kernels(rng: np.random.Generator, narrower: float = 0.0) -> Iterator[Within]:
    """Both ways of integration hold the mean in closed form, and are narrow. In the impostor the far end moves in."""
    with flint.ctx.workprec(BITS):
        for a, b in POLES:
            truth = _mean(flint.arb(a), flint.arb(b))

            def on_discs(points: Any, a: float = a, b: float = b) -> list[Discs]:
                return [_spectrum(a, b or 0, points.disc, points.far, a < 0).inverse()]

            def on_balls(m: Any, s: Any, a: float = a, b: float = b) -> list[Any]:
                one, other = m.number(a), m.number(b) if b else 0
                return [1 / _spectrum(one, other, s, 1 - s, bool(a < 0))]

            found = {"floats": means(on_discs, 1, 2), "balls": integrate(on_balls, 2)}
            for name, widest in (("floats", 1e-11), ("balls", 3e-9)):
                label = f"{name}, q = {a:g} + {b:g} i"
                enclosure = (found[name] or [flint.arb("nan")])[0]
                radius, off = enclosure.rad() * (1 - flint.arb(narrower)), abs(enclosure.mid() - truth)
                yield Within(
                    f"distance of the mean from the middle over the radius, {label}", float(off / radius), most=1
                )
                yield Within(f"relative radius, {label}", float(radius / truth), most=widest)


def _on_circles(rng: np.random.Generator, far: float = 0.0) -> Iterator[Fact]:
    """A pole on the circle itself is not integrated, wherever it is; one that is `far` from it is."""
    for place in (0.0, 0.25, 1.0, 1e-6):
        refused = means(lambda points, s=place: [((points.disc - s) ** 2 + far).inverse()], 1, 1) is None
        yield Fact(f"integrals that are given over a pole at s = {place:g}", int(not refused), 0, 0)


def _gauss(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Within]:
    """The bound of the rule's error over the error itself: for Chebyshev polynomials, of which it is at most twice, and
    for functions with a pole a little outside the ellipse.
    """
    with flint.ctx.workprec(BITS):
        for nodes, rho in ((20, RHO), (POINTS, RHO_OF_BALLS), (7, 2.0)):
            rule = [flint.arb.legendre_p_root(nodes, k, weight=True) for k in range(nodes)]
            for k in (2 * nodes, 2 * nodes + 2):
                summed = sum((weight * x.chebyshev_t(k) for x, weight in rule), flint.arb(0))
                error = abs(summed + flint.arb(2) / (k * k - 1))
                supremum = (rho**k + rho**-k) / 2
                bound = factor * gauss_error(1.0, supremum, nodes, rho)
                most = 2.0 if k == 2 * nodes else 16.0
                yield Within(f"{nodes} nodes, rho = {rho:g}, T_{k}: bound over error", float(bound / error), 1.0, most)
            for outside in (1.0001, 1.1):
                pole = (rho * outside + 1 / (rho * outside)) / 2
                summed = sum((weight / (pole - x) for x, weight in rule), flint.arb(0))
                error = abs(summed - ((flint.arb(pole) + 1) / (flint.arb(pole) - 1)).log())
                supremum = 1 / (pole - (rho + 1 / rho) / 2)
                bound = factor * gauss_error(1.0, supremum, nodes, rho)
                label = f"{nodes} nodes, rho = {rho:g}, a pole at {outside:g} times rho"
                yield Within(f"{label}: bound over error", float(bound / error), least=1.0)


def _in_balls(rng: np.random.Generator, share: float = 1.0) -> Iterator[Within]:
    """Balls: the discs on which an integrand is asked for its supremum hold s on the cells' ellipses, and the errors
    that follow from the suprema add up to the radius: of s (1 - s), said to be at most 1.
    """
    asked: list[Any] = []

    def integrand(m: Any, s: Any) -> list[Any]:
        if not isinstance(s, flint.acb):
            return [s * (1 - s)]
        asked.append(s)
        return [1 + 0 * s]

    (found,) = integrate(integrand)
    asked.sort(key=lambda ball: float(ball.real.mid()))
    rho, half, R = flint.arb(RHO_OF_BALLS), HALF_WIDTH, flint.arb(0)
    with flint.ctx.workprec(BITS):
        middles = [float((ball.real.mid() / (1 - ball.real.mid())).log() / 2) for ball in asked]
        half = (middles[-1] - middles[0]) / (len(middles) - 1) / 2
        R = flint.arb(half) * (rho + 1 / rho) / 2
        inside, total = [], flint.arb(0)
        for middle, ball in zip(middles, asked, strict=True):
            reach, centre = flint.arb(ball.real.rad()) * share, flint.acb(ball.real.mid())
            points = [_sine_squared(flint.acb(middle) + R * turn) for turn in _directions()]
            inside.append(min(float(reach / abs(point - centre)) for point in points))
            total += gauss_error(half, 1 / (flint.arb(middle).cosh() * (2 - R.exp())), POINTS, RHO_OF_BALLS)
        width = float(flint.arb(found.rad()) * flint.arb.pi() / total)
    yield Within("balls: radius of discs over the farthest of s on the ellipse, least", min(inside), least=1.0 - 1e-9)
    yield Within("balls: the same next to frequency 0", min(inside[:5]), most=1.0 + 1e-6)
    yield Within("balls: radius of the integral over the sum of the errors", share * width, least=0.999, most=1.001)


def _paid(rng: np.random.Generator, units: int = 0) -> Iterator[Fact]:
    """An evaluation in balls costs ten units and the degree: all that they cost together is enough, one less is not."""
    calls: list[Any] = []

    def integrand(m: Any, s: Any) -> list[Any]:
        calls.append(s)
        return [1 + 0 * s]

    for degree in (0, 7):
        calls.clear()
        integrate(integrand, degree)
        cost = len(calls) * (10 + degree) - units
        for short in (0, 1):
            try:
                with allowance(cost - short):
                    ended = len(integrate(integrand, degree)) == 1
            except AccuracyError:
                ended = False
            yield Fact(
                f"integrals that end with {short} less than they cost, degree {degree}", int(ended), 1 - short, 0
            )


def _in_floats(rng: np.random.Generator, share: float = 1.0) -> Iterator[Within]:
    """Floats: by how much the radius for s (1 - s) grows where the supremum is said to be larger."""
    radii, larger = [], 1000.0
    for times in (0.0, larger):

        def integrand(points: Any, times: float = times) -> list[Discs]:
            value = np.maximum(points.s.centre * points.complement.centre, 0.0)
            return [Discs(value, times * value if points.radius.any() else 1e-16 * value)]

        (found,) = means(integrand, 1, 1) or [flint.arb("nan")]
        radii.append(float(found.rad()) * np.pi)
    middles = (np.arange(-92, 78) + 0.5) * WIDTH  # of the first cells, none of which is cut
    values = larger / (4.0 * np.cosh(middles) ** 3)
    with flint.ctx.workprec(BITS):
        shrink = float(2 - _reach(0).exp())
    total = float(np.sum(gauss_error(WIDTH / 2, values / shrink, 20, RHO)))
    yield Within(
        "floats: growth of the radius over that of the errors", share * (radii[1] - radii[0]) / total, 0.99, 1.01
    )


INTEGRALS = Claim(
    id="ftrl/beyond-circle-integrals",
    where=f"{OURS}: integrals over the circle",
    kind="inequality",
    statement=(
        (
            "The error of a Gauss rule is at most what is said, and for $T_(2 n)$ at least half of it, also with a "
            "pole next to the ellipse;"
        ),
        "enclosures of means over the circle hold closed forms, with poles next to the circle at any frequency;",
        "over a pole on the circle nothing is enclosed;",
        "what the suprema on discs around the cells leave of error adds up to the radius;",
        "an integral in balls costs what is said of it.",
    ),
    setting="In floats and in balls; poles from $10^(-4)$ to 1 from the circle.",
    checks=(
        Agreement(decides="a", facts=_gauss, impostors={"half the error": {"facts": {"factor": 0.5}}}),
        Agreement(
            decides="b", facts=_kernels, impostors={"no wider than a point": {"facts": {"narrower": 1.0 - 1e-4}}}
        ),
        Agreement(decides="c", facts=_on_circles, impostors={"none on it": {"facts": {"far": 0.1}}}),
        Agreement(decides="d", facts=_in_balls, impostors={"1 % narrower": {"facts": {"share": 0.99}}}),
        Agreement(decides="e", facts=_paid, impostors={"one unit less": {"facts": {"units": 1}}}),
        Agreement(decides="d", facts=_in_floats, impostors={"2 % narrower": {"facts": {"share": 0.98}}}),
    ),
)
