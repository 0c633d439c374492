"""Beyond the paper: the elliptic integrals that everything rests on, in floats, in digits and as proved enclosures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import flint
import mpmath
import numpy as np

from dpbounds import arithmetic, elliptic
from dpbounds.elliptic import balls, digits
from dpbounds.errors import AccuracyError
from verify.checks import Agreement, Fact, Holds, Identity, Times, Within, refused, taken
from verify.checks.domains import Real
from verify.statements.claims import Claim


def _root(m, a, s):
    """E_a = |1 - a - e^{i omega}| at s = sin^2(omega / 2)."""
    return m.sqrt(a * a + 4 * (1 - a) * s)


def _ratio_quadrature(m, a, b):
    return m.integral(lambda s: _root(m, a, s) / (b * b + 4 * (1 - b) * s))


def _inverse_quadrature(m, a):
    return m.integral(lambda s: 1 / _root(m, a, s))


# Legendre's integrals, theta = omega / 2.


def _first_quadrature(m, k):
    return m.integral(lambda s: 1 / m.sqrt(1 - k * k * s)) / 4


def _second_quadrature(m, k):
    return m.integral(lambda s: m.sqrt(1 - k * k * s)) / 4


def _third_quadrature(m, n, k):
    return m.integral(lambda s: 1 / ((1 - n * s) * m.sqrt(1 - k * k * s))) / 4


CASES: dict[str, tuple[Callable[..., Any], tuple[tuple[float, ...], ...]]] = {
    "K": (_first_quadrature, ((0.0,), (0.3,), (0.999,))),
    "E": (_second_quadrature, ((0.0,), (0.3,), (0.999,))),
    "Pi": (_third_quadrature, ((0.5, 0.3), (-7.0, 0.9), (0.99, 0.999))),
    "integral_inverse": (_inverse_quadrature, ((1e-12,), (0.01,), (0.4,), (1.0,))),
    "integral_ratio": (
        _ratio_quadrature,
        ((1e-9, 1e-9), (1e-6, 0.3), (0.3, 1e-6), (0.2, 0.5), (0.0, 0.5), (0.0, 1e-9), (1.0, 0.5), (0.7, 1.0)),
    ),
}


def _all_kinds(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Floats, 30 digits and 128 bits against quadrature in 40 digits, also near the singular ends."""
    for name, (quadrature, points) in CASES.items():
        for point in points:
            with arithmetic.digits(40) as m:
                stated = quadrature(m, *map(m.number, point))
                text = stated.mid().str(36, radius=False)
            shown = ", ".join(f"{value:g}" for value in point)
            yield Fact(f"floats: {name}({shown})", getattr(elliptic, name)(*point), float(text), 5e-15)
            with mpmath.workdps(30):
                quotient = getattr(digits, name)(*point) / mpmath.mpf(text)
                yield Fact(f"digits: {name}({shown}) less its value", float(quotient - 1), 0.0, 1e-28)
            with flint.ctx.workprec(128):
                gap = getattr(balls, name)(*map(flint.arb, point)) / flint.arb(text) - 1
                yield Fact(f"balls: {name}({shown}) less its value", float(abs(gap).upper()), 0.0, 1e-28)
    many = np.array([0.01, 0.4, 1.0])
    together = [float(elliptic.integral_ratio(a, 0.3)) for a in many]
    yield Fact("arrays", elliptic.integral_ratio(many, 0.3), together, 1e-15)
    yield Fact("quadrature in floats", elliptic.integral(lambda s: 1 / (1 + s)), 2 * np.pi / np.sqrt(2), 1e-13)
    with mpmath.workdps(30):
        quadrature = digits.integral(lambda s: 1 / (1 + s)) / (mpmath.sqrt(2) * mpmath.pi)
        yield Fact("quadrature in digits, less its value", float(quadrature - 1), 0.0, 1e-28)
        narrow = mpmath.mpf("1e-29")
        peak = 2 * mpmath.pi / mpmath.agm(mpmath.sqrt(1 + narrow**2), narrow)
        quadrature = digits.integral(lambda s: 1 / mpmath.sqrt(s + narrow**2)) / peak
        yield Fact("a peak as narrow as is allowed, less its value", float(quadrature - 1), 0.0, 1e-28)
    for kind, integral in (("floats", elliptic.integral), ("digits", digits.integral)):
        yield Holds(f"{kind}: that a kink is too much for the rule is told", _is_told(integral))
    with mpmath.workdps(60):
        moduli = [mpmath.mpf(place) / 64 for place in range(64)]
        pairs = [(digits.K(k), mpmath.ellipk(k * k)) for k in moduli] + [
            (digits.E(k), mpmath.ellipe(k * k)) for k in moduli
        ]
        worst = max(float(abs(own / other - 1)) for own, other in pairs)
        yield Fact("60 digits at many moduli, against those of mpmath, the largest difference", worst, 0.0, 1e-58)


APART = ((1e-100, 1e-80), (1e-80, 1e-100), (1e-60, 1e-30), (1e-9, 1e-12), (1e-30, 0.5), (0.5, 1e-30), (0.2, 0.5))


def _bits(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """Exact arguments far apart, or near a singular end: how many of 128 bits are proved, and those of a mean."""
    with flint.ctx.workprec(128):
        for a, b in APART:
            found = balls.integral_ratio(flint.arb(a), flint.arb(b)).rel_accuracy_bits()
            yield Within(f"bits of integral_ratio({a:g}, {b:g})", found, 120, 128)
        for n, k in ((1 - 1e-12, 1 - 1e-12), (-1e9, 0.3), (0.3, 0.3)):
            found = balls.Pi(flint.arb(n), flint.arb(k)).rel_accuracy_bits()
            yield Within(f"bits of Pi({n:g}, {k:g})", found, 122, 128)
    with mpmath.workdps(60):
        small = [mpmath.mpf(2) ** (-place / mpmath.mpf(3)) for place in range(400)]
        means = [2 * mpmath.pi / mpmath.agm(1, mpmath.sqrt(a * (2 - a))) for a in small]
        worst = max(float(abs(digits.integral_inverse(a) / b - 1)) for a, b in zip(small, means, strict=True))
        yield Fact("60 digits of integral_inverse, against those of mpmath, the largest difference", worst, 0.0, 1e-58)
    small = [2.0 ** (-place / 3) for place in range(1200)]
    means = [float(2 * mpmath.pi / mpmath.agm(1, mpmath.sqrt(mpmath.mpf(a) * (2 - mpmath.mpf(a))))) for a in small]
    worst = max(abs(float(elliptic.integral_ratio(a, a)) / b - 1) for a, b in zip(small, means, strict=True))
    yield Fact("floats of integral_ratio at a = b, the largest difference", worst, 0.0, 4e-15)


def _is_told(integral: Callable[..., Any]) -> bool:
    try:
        integral(lambda s: abs(s - 0.3))
    except AccuracyError:
        return True
    return False


WIDE: dict[str, tuple[tuple[float, float], ...]] = {
    "K": ((0.2, 0.9),),
    "E": ((0.2, 0.9),),
    "Pi": ((-0.5, 0.5), (0.2, 0.9)),
    "integral_inverse": ((0.01, 0.5),),
    "integral_ratio": ((0.1, 0.4), (0.05, 0.2)),
}


def _enclosures(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """Wide balls: the enclosure holds the values on a grid and reaches no further than they do (`integral_ratio`: by
    at most the quotient of its factor's ends, on each side); radii have 30 bits.
    """
    for name, ranges in WIDE.items():
        grids = np.meshgrid(*(np.linspace(low, high, 9) for low, high in ranges))
        values = np.asarray(getattr(elliptic, name)(*grids))
        with flint.ctx.workprec(128):
            enclosure = getattr(balls, name)(*(flint.arb(low).union(flint.arb(high)) for low, high in ranges))
            low, high = float(enclosure.lower()), float(enclosure.upper())
        outside = int(np.sum((values < low * (1 - 1e-14)) | (values > high * (1 + 1e-14))))
        yield Fact(f"values of {name} outside their enclosure", outside, 0, 0)
        loose = (1.9 / 1.6) * (1.95 / 1.8) if name == "integral_ratio" else 1.0
        excess = max(values.min() / low, high / values.max())
        yield Within(f"{name}: the enclosure's ends over those of the range", excess, 1 - 1e-14, loose * (1 + 1e-8))
    with flint.ctx.workprec(128):
        cut = balls.E(flint.arb(1, 0.1))
        yield Fact("E on the part of [0.9, 1.1] where it is defined", float(cut.lower()), 1.0, 1e-8)


# What is refused, and what is still taken: arguments and which of them it is.
OUTSIDE: dict[str, tuple[tuple[str, tuple[float, ...]], ...]] = {
    "K": (("k", (1.0,)), ("k", (-0.01,)), ("k", (1.01,))),
    "E": (("k", (1.01,)), ("k", (-0.01,))),
    "Pi": (
        ("alpha_squared", (1.0, 0.3)),
        ("alpha_squared", (1.01, 0.3)),
        ("k", (0.5, 1.0)),
        ("k", (0.5, 1.01)),
        ("k", (0.5, -0.01)),
    ),
    "integral_inverse": (("a", (0.0,)), ("a", (1.01,))),
    "integral_ratio": (("a", (-0.01, 0.5)), ("a", (1.01, 0.5)), ("b", (0.5, 0.0)), ("b", (0.5, 1.01))),
}
INSIDE: dict[str, tuple[tuple[float, ...], ...]] = {
    "K": ((0.0,), (0.99,)),
    "E": ((0.0,), (1.0,)),
    "Pi": ((0.99, 0.0), (-99.0, 0.99)),
    "integral_inverse": ((0.01,), (1.0,)),
    "integral_ratio": ((0.0, 0.01), (1.0, 1.0)),
}


def _domains(rng: np.random.Generator) -> Iterator[Holds]:
    """Floats and digits refuse what is outside, by its name, and take the ends that are inside."""
    for kind, functions in (("floats", elliptic), ("digits", digits)):
        for name, outside in OUTSIDE.items():
            for parameter, point in outside:
                label = f"{kind}: {name}({', '.join(f'{value:g}' for value in point)})"
                yield refused(label, parameter, lambda name=name, at=point, of=functions: getattr(of, name)(*at))
            for point in INSIDE[name]:
                label = f"{kind}: {name}({', '.join(f'{value:g}' for value in point)})"
                yield taken(label, lambda name=name, at=point, of=functions: getattr(of, name)(*at))
    for name, outside in OUTSIDE.items():  # a ball on the end holds points inside
        for parameter, point in outside:
            if not {0.0, 1.0} & set(point):
                label = f"balls: {name}({', '.join(f'{value:g}' for value in point)})"
                yield refused(label, parameter, lambda name=name, at=point: getattr(balls, name)(*map(flint.arb, at)))


def _elementary(rng: np.random.Generator) -> Iterator[Fact]:
    """The elementary functions of all four arithmetics at a point, against those of Python."""
    z = complex(0.6, 0.3)
    with arithmetic.balls() as real, arithmetic.digits(30) as many, arithmetic.complex_balls() as m:
        for name in ("sqrt", "exp", "log", "log1p", "expm1", "sin", "cos"):
            expected = getattr(np, name)(z)
            found = complex(getattr(m, name)(flint.acb(z.real, z.imag)))
            yield Fact(f"{name} of a complex ball", [found.real, found.imag], [expected.real, expected.imag], 1e-14)
            values = [float(getattr(other, name)(other.number(0.7))) for other in (real, many, arithmetic.FLOATS)]
            yield Fact(f"{name} of balls, digits and floats", values, [getattr(np, name)(0.7)] * 3, 1e-14)
        for exponent in (3, 1.75):
            found, expected = complex(m.power(flint.acb(z.real, z.imag), exponent)), z**exponent
            yield Fact(f"z^{exponent}", [found.real, found.imag], [expected.real, expected.imag], 1e-14)


BEYOND_ELLIPTIC = Claim(
    id="ftrl/beyond-elliptic",
    where="beyond the paper: elliptic integrals",
    kind="identity",
    statement=(
        (
            'With $E_a (omega) = abs(1 - a - e^(i omega))$, $integral dif omega \\/ E_a = 2 pi \\/ op("agm")(2 - a, a)$'
            ", and $integral E_a \\/ E_b^2 dif omega$ is a complete elliptic integral of the third kind for all $0 <= "
            "a <= 1$, $0 < b <= 1$: one transformation of Gauss gives both to full precision at any ratio of $a$ to "
            "$b$;"
        ),
        "arguments outside of their ranges are refused.",
    ),
    setting="Floats to $5 dot 10^(-15)$, digits and proved enclosures to 28 digits, against quadrature.",
    checks=(
        Agreement(decides="a", facts=_elementary, impostors={"1e-12 off": {"facts": Times(1 + 1e-12)}}),
        Identity(
            decides="a",
            left=_ratio_quadrature,
            right=lambda m, a, b: m.integral_ratio(a, b),
            box={"a": Real(1e-9, 1.0, "log"), "b": Real(1e-9, 1.0, "log")},
            random_points=10,
            impostors={"1e-40 off": {"right": Times("1.0000000000000000000000000000000000000001")}},
        ),
        Agreement(decides="b", facts=_domains),
        Agreement(decides="a", facts=_all_kinds, impostors={"1e-13 off": {"facts": Times(1 + 1e-13)}}),
        Agreement(decides="a", facts=_bits, impostors={"two thirds of them": {"facts": Times(0.67)}}),
        Agreement(decides="a", facts=_enclosures, impostors={"1 % off": {"facts": Times(1.01)}}),
    ),
)
