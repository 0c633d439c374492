"""A second proof of bounds for first-order methods that `MethodBound.data()` wrote as JSON; it needs Python alone.

    python verify/storage_checker.py bound.json

It shares no code with dpbounds and uses fractions alone. A file holds one bound, or a list of them: for every
mu-strongly convex, L-smooth F, the method xi' = A xi + B (grad F(y) + w + n), y = C xi, x = row xi, and noise w = sum_k
b_k e_{t-k} with draws e_t independent of the past, E |e|^2 = N = d clip_norm^2 gamma^2 / (2 rho),

    lower <= sup over F of the mean of J_t <= value,   J = F(x) - F*, |x - theta*|^2 or |grad F(x)|^2.

With theta* = 0, p = grad F(y) - mu y, phi = F - F* - mu |.|^2 / 2, l = L - mu, the state is s = (xi, z, q_1..q_T,
p_1..p_T): z that of the noise, q_k = y_{t-k} - y_t, p_k = p at y_{t-k}; then the same of x where F or its gradient is
judged at x != y. Its inputs are p at y_t, and there p at x_t. Convex smooth functions satisfy for all points i, j

    I_ij = phi_i - phi_j - <p_j, x_i - x_j> - |p_i - p_j|^2 / (2 l) >= 0.

- value: V = s' P s. The matrix of V(s') - V(s) + J + sum lambda_ij I_ij, without draws and phi's, is negative definite,
  lambda >= 0, and the phi's cancel for each kind of point. Then the mean of E J is at most N draw' P draw + sigma^2
  error' P error, if E |s|^2 is bounded.
- E |s|^2 is bounded: W = s' P s + sum gamma_k phi(y_{t-k}), of the same kind with J = |y|^2 and phi's that telescope,
  has W - sum nu_ij I_ij - c |s|^2 >= 0 for pairs of past points.
- lower: the second moment of the linear loop on F = curvature |theta|^2 / 2.
- statement "limit": the second W needs no past points, so that it holds for differences of two runs with the same
  draws too, which therefore meet. Otherwise "time average", limsup of the mean over t of E J_t.

Definiteness is decided by elimination in fractions. The proof may be looser than the file by 1e-9.

Exit status: 0 every bound is proved, 2 the file or a bound is refused.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from fractions import Fraction
from itertools import zip_longest
from typing import Any

Vector = list[Fraction]
Matrix = list[Vector]
# (place, p, kind, lag): rows over state and inputs; theta* has the kind "".
Point = tuple[Vector, Vector, str, int]

MOST_BYTES, MOST_BOUNDS, MOST_STATE, LOOSER = 4_000_000, 50, 40, Fraction(1, 10**9)
NAMES = {
    "bound": "format kind method noise mu L measure memory gradient_noise P multipliers stability value lower "
    "curvature statement",
    "method": "A B C row name",
    "noise": "correlation rho d clip_norm sigma_sgd",
    "stability": "memory P multipliers past",
    "gradient_noise": "variance co distance gradient",
}


class Refused(Exception):
    """The file is no such file, or says what is not proved."""


def demand(condition: bool, reason: str) -> None:
    """`Refused` for that reason where the condition does not hold."""
    if not condition:
        raise Refused(reason)


# --- data ---


def fields(place: str, data: Any) -> list[Any]:
    """The values of an object that has the keys of `NAMES` and no others."""
    names = NAMES[place].split()
    demand(isinstance(data, dict) and set(data) == set(names), f"{place} must have the entries {', '.join(names)}")
    return [data[name] for name in names]


def number(place: str, value: Any) -> Fraction:
    """A number of JSON, as the fraction that its double is."""
    demand(type(value) in (int, float), f"{place} is not a number")
    try:
        return Fraction(float(value))
    except (OverflowError, ValueError):
        raise Refused(f"{place} is not finite") from None


def numbers(place: str, values: Any) -> Vector:
    """A list of them."""
    demand(isinstance(values, list) and len(values) <= 1000, f"{place} is not a list of at most 1000 numbers")
    return [number(place, value) for value in values]


def matrix(place: str, rows: Any) -> Matrix:
    """A square matrix."""
    demand(isinstance(rows, list) and 0 < len(rows) <= MOST_STATE, f"{place} is not a matrix")
    found = [numbers(place, row) for row in rows]
    demand(all(len(row) == len(found) for row in found), f"{place} is not square")
    return found


def whole(place: str, value: Any) -> int:
    """A count."""
    demand(type(value) is int and 0 <= value <= MOST_STATE, f"{place} is not a whole number up to {MOST_STATE}")
    return value


# --- linear algebra in fractions ---


def dot(x: Sequence[Any], y: Sequence[Fraction]) -> Fraction:
    """Sum of products."""
    return sum((a * b for a, b in zip(x, y, strict=True) if a and b), Fraction(0))


def times(x: Matrix, y: Matrix) -> Matrix:
    """Matrix product."""
    columns = list(zip(*y, strict=True))
    return [[dot(row, column) for column in columns] for row in x]


def add(x: Vector, y: Vector, factor: Fraction | int = 1) -> Vector:
    """x + factor y."""
    return [a + factor * b for a, b in zip(x, y, strict=True)]


def energy(P: Matrix, x: Vector) -> Fraction:
    """x' P x."""
    return dot(x, [dot(row, x) for row in P])


def add_product(form: Matrix, x: Vector, y: Vector, factor: Fraction) -> None:
    """Add factor <x, v> <y, v>."""
    for i, a in enumerate(x):
        for j, b in enumerate(y):
            if (a and b) or (x[j] and y[i]):
                form[i][j] += factor * (a * b + x[j] * y[i]) / 2


def definite(form: Matrix) -> bool:
    """Whether a symmetric matrix is positive definite: all pivots are positive."""
    rows = [list(row) for row in form]
    for k, row in enumerate(rows):
        if row[k] <= 0:
            return False
        for below in rows[k + 1 :]:
            if below[k]:
                factor = below[k] / row[k]
                for column in range(k + 1, len(rows)):
                    below[column] -= factor * row[column]
    return True


def responses(step: Matrix, row: Vector) -> Matrix:
    """X with X = M' X M + row row' for M = 1 + step: x' X x is the energy of the output after a push x."""
    size = len(row)
    pairs = [(i, j) for i in range(size) for j in range(i, size)]
    places = {pair: k for k, pair in enumerate(pairs)}
    system = [[Fraction(0)] * len(pairs) + [-row[i] * row[j]] for i, j in pairs]
    for (i, j), equation in zip(pairs, system, strict=True):
        for a in range(size):
            for weight, b in ((step[a][i], j), (step[a][j], i)):
                equation[places[min(a, b), max(a, b)]] += weight
            for b in range(size):
                equation[places[min(a, b), max(a, b)]] += step[a][i] * step[b][j]
    for k in range(len(pairs)):
        pivot = next((r for r in range(k, len(pairs)) if system[r][k]), None)
        demand(pivot is not None, "the loop has no second moment on its quadratic")
        system[k], system[pivot or k] = system[pivot or k], system[k]
        for r in range(len(pairs)):
            if r != k and system[r][k]:
                system[r] = add(system[r], system[k], -system[r][k] / system[k][k])
    found = [system[k][-1] / system[k][k] for k in range(len(pairs))]
    return [[found[places[min(i, j), max(i, j)]] for j in range(size)] for i in range(size)]


# --- noise ---


class Colour:
    """w = c z + d e, z' = A z + b e, and gamma^2, the energy of the inverse, which has to be stable."""

    def __init__(self, data: Any) -> None:
        kind = data.get("kind") if isinstance(data, dict) else None
        keys = {"coefficients": {"kind", "beta"}, "half_powers": {"kind", "label", "zeros", "poles"}}
        demand(isinstance(data, dict) and set(data) == keys.get(str(kind), {"kind", "nu"}), "no known correlation")
        if kind == "half_powers":
            zeros, poles = (halved(data[name]) for name in ("zeros", "poles"))
            pairs = list(zip_longest(zeros, poles, fillvalue=Fraction(0)))
            self.A, self.b, self.c, self.d = sections(pairs)
            A, b, c, _ = sections([(pole, zero) for zero, pole in pairs])
            self.gamma_squared = 1 + (energy(responses(less_one(A), c), b) if b else 0)
            return
        beta = numbers("beta", data["beta"]) if kind == "coefficients" else [Fraction(1), number("nu", data["nu"]) - 1]
        demand(kind in ("coefficients", "damped_anti_pgd") or (kind == "nu" and beta[1] == 0), "not rational noise")
        while len(beta) > 1 and beta[-1] == 0:
            beta.pop()
        demand(beta[:1] not in ([], [0]) and len(beta) <= MOST_STATE, "not a weight other than 0 first, or too many")
        K = len(beta) - 1
        self.A = [[Fraction(j == i - 1) for j in range(K)] for i in range(K)]
        self.b, self.c, self.d = [Fraction(i == 0) for i in range(K)], beta[1:], beta[0]
        self.gamma_squared, row = 1 / beta[0] ** 2, beta
        while len(row) > 1:  # step-down: all |k| < 1 iff no zero lies in the closed unit disc
            k = row[-1] / row[0]
            demand(abs(k) < 1, "the noise has a zero in the closed unit disc")
            self.gamma_squared /= 1 - k * k
            row = [x - k * y for x, y in zip(row[:-1], row[:0:-1], strict=True)]


def sections(pairs: Sequence[tuple[Fraction, Fraction]]) -> tuple[Matrix, Vector, Vector, Fraction]:
    """prod (1 - a / zeta) / (1 - p / zeta): z' = p z + input, output = input + (p - a) z."""
    A: Matrix = []
    c: Vector = []
    for k, (a, p) in enumerate(pairs):
        A.append([*c, p, *[Fraction(0)] * (len(pairs) - k - 1)])
        c.append(p - a)
    return A, [Fraction(1)] * len(pairs), c, Fraction(1)


def halved(roots: Any) -> Vector:
    """Real roots inside the unit disc that stand in pairs, one of each."""
    demand(isinstance(roots, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in roots), "no roots")
    found = [numbers("roots", pair) for pair in roots]
    demand(all(y == 0 and abs(x) < 1 for x, y in found), "roots are not real, or not inside the unit disc")
    values = sorted(x for x, _ in found)
    demand(values[::2] == values[1::2], "roots do not stand in pairs")
    return values[::2]


def less_one(A: Matrix) -> Matrix:
    """A - 1."""
    return [[x - (i == j) for j, x in enumerate(row)] for i, row in enumerate(A)]


# --- the loop ---


class Loop:
    """s' - s = `step` (s, inputs) + `draw` e + `error` n, and the points of the trajectory, theta* first."""

    def __init__(self, method: Sequence[Any], colour: Colour, mu: Fraction, L: Fraction, T: int, *, own: bool) -> None:
        A, B, C, row = method
        n, K = len(B), len(colour.b)
        self.kinds, self.T, self.mu, self.l = ("y", "x") if own else ("y",), T, mu, L - mu
        self.size = size = n + K + 2 * T * len(self.kinds)
        self.width = width = size + len(self.kinds)
        demand(size <= MOST_STATE, f"a state of more than {MOST_STATE} numbers")

        def on(values: Vector, start: int = 0) -> Vector:
            return [Fraction(0)] * start + values + [Fraction(0)] * (width - start - len(values))

        def unit(k: int) -> Vector:
            return on([Fraction(1)], k)

        zero = on([])
        self.y, self.x = on(C), on(row)
        self.slope = add(unit(size), self.y, mu)
        pushed = add(self.slope, on(colour.c, n))
        self.step = [add(on(less), pushed, b) for less, b in zip(less_one(A), B, strict=True)]
        self.step += [on(less, n) for less in less_one(colour.A)]
        self.draw, self.error = [b * colour.d for b in B] + colour.b, B + [Fraction(0)] * K
        self.points: list[Point] = [(zero, zero, "", 0)]
        for index, (kind, place, ahead) in enumerate((("y", self.y, C), ("x", self.x, row))[: len(self.kinds)]):
            start, moved = n + K + 2 * T * index, zero
            for weight, line in zip(ahead, self.step[:n], strict=True):
                moved = add(moved, line, weight)
            differences = [
                add(add(unit(start + k - 1) if k else zero, moved, -1), unit(start + k), -1) for k in range(T)
            ]
            slopes = [
                add(unit(start + T + k - 1) if k else unit(size + index), unit(start + T + k), -1) for k in range(T)
            ]
            self.step += differences + slopes
            self.draw += [-dot(ahead, self.draw[:n])] * T + [Fraction(0)] * T
            self.error += [-dot(ahead, B)] * T + [Fraction(0)] * T
            self.points.append((place, unit(size + index), kind, 0))
            self.points += [(add(place, unit(start + k)), unit(start + T + k), kind, k + 1) for k in range(T)]

    def pairs(self, *, past: bool = False) -> list[tuple[Point, Point]]:
        """Ordered pairs with a point at the present; or of past points of y, and theta*."""
        if past:
            known = [p for p in self.points if p[2] == "" or (p[2] == "y" and p[3])]
            return [(i, j) for i in known for j in known if i is not j] if self.T else []
        return [
            (i, j)
            for i in self.points
            for j in self.points
            if i is not j and min((p[3] for p in (i, j) if p[2]), default=1) == 0
        ]

    def add_weighted(self, form: Matrix, pairs: Sequence[tuple[Point, Point]], weights: Vector) -> None:
        """Add the quadratic parts of I_ij."""
        for (i, j), weight in zip(pairs, weights, strict=True):
            if weight:
                slopes = add(i[1], j[1], -1)
                add_product(form, j[1], add(i[0], j[0], -1), -weight)
                add_product(form, slopes, slopes, -weight / (2 * self.l))

    def inequality(self, P: Matrix, weights: Vector, measure: str, extra: Vector | None) -> None:
        """Refuse unless P and the multipliers satisfy the first condition."""
        pairs = self.pairs()
        demand(
            len(P) == self.size and all(P[i][j] == P[j][i] for i in range(len(P)) for j in range(i)),
            "P has no such shape",
        )
        demand(len(weights) == len(pairs) and min(weights) >= 0, "not as many multipliers of at least 0 as pairs")
        for kind in self.kinds:
            total = sum(((i[2] == kind) - (j[2] == kind)) * w for (i, j), w in zip(pairs, weights, strict=True))
            demand(total == -int(measure == "f" and kind == self.kinds[-1]), "the phi's do not cancel")
        moved = times(P, self.step)
        form = times([list(column) for column in zip(*self.step, strict=True)], moved)
        for i in range(self.size):
            for j in range(self.width):
                form[i][j] += moved[i][j]
                form[j][i] += moved[i][j]
        if measure == "gradient":
            own = add(self.points[1 + self.T + 1][1], self.x, self.mu) if len(self.kinds) == 2 else self.slope
            add_product(form, own, own, Fraction(1))
        else:
            add_product(form, self.x, self.x, self.mu / 2 if measure == "f" else Fraction(1))
        self.add_weighted(form, pairs, weights)
        paid = energy(P, self.error)
        demand(paid >= 0, "errors of the gradient would lower the bound")
        if extra:
            parts = ((self.slope, self.y), (self.y, self.y), (self.slope, self.slope))
            for factor, (x, y) in zip(extra, parts, strict=True):
                add_product(form, x, y, factor * paid)
        demand(definite([[-x for x in row] for row in form]), "the inequality is not negative definite")

    def coercive(self, P: Matrix, weights: Vector, past: Vector) -> None:
        """Refuse unless W >= c |s|^2."""
        pairs, between = self.pairs(), self.pairs(past=True)
        demand(len(past) == len(between) and min(past, default=0) >= 0, "not as many multipliers between past points")
        gamma = Fraction(0)
        for lag in range(self.T):
            gamma -= at(lag, pairs, weights)
            demand(at(lag + 1, between, past) == gamma, "past phi's are not those of the multipliers")
        form = [[Fraction(0)] * self.width for _ in range(self.width)]
        self.add_weighted(form, between, past)
        demand(
            definite([add(row, lost[: self.size], -1) for row, lost in zip(P, form, strict=False)]), "W is not positive"
        )


def at(lag: int, pairs: Sequence[tuple[Point, Point]], weights: Vector) -> Fraction:
    """The weight of phi at y so long ago."""
    signs = [(i[2:] == ("y", lag)) - (j[2:] == ("y", lag)) for i, j in pairs]
    return dot(signs, weights)


# --- the bound ---


class Bound:
    """What a file's bound proves: `value`, `lower` and `statement`."""

    def __init__(self, data: Any) -> None:
        form, kind, method, noise, mu, L, measure, memory, extra, P, weights, held, *said = fields("bound", data)
        demand((form, kind) == ("dpbounds-storage/1", "storage"), "its format is not dpbounds-storage/1")
        A, B, C, row, self.name = fields("method", method)
        A, B, C, row = matrix("A", A), numbers("B", B), numbers("C", C), numbers("row", row)
        demand(len(A) == len(B) == len(C) == len(row), "the method's matrices do not fit")
        correlation, *settings = fields("noise", noise)
        rho, d, clip, sigma = (number("noise", x) for x in settings)
        demand(rho > 0 and d >= 1 and d.denominator == 1 and clip > 0 and sigma >= 0, "no such noise")
        low, high, h = number("mu", mu), number("L", L), number("curvature", said[2])
        demand(0 < low < high and low <= h <= high, "not 0 < mu < L with the curvature between")
        demand(measure in ("f", "distance", "gradient"), "no such measure")
        variance, *growth = [number("noise", x) for x in fields("gradient_noise", extra)] if extra else [Fraction(0)]
        demand(variance >= 0, "a negative variance")
        growth = growth if any(growth) else []
        colour, own = Colour(correlation), measure != "distance" and row != C
        draws, errors = d * clip**2 * colour.gamma_squared / (2 * rho), sigma**2 + variance
        loop = Loop((A, B, C, row), colour, low, high, whole("memory", memory), own=own)
        P = matrix("P", P)
        loop.inequality(P, numbers("multipliers", weights), measure, growth)
        past, W, pairs, between = fields("stability", held)
        still = Loop((A, B, C, C), colour, low, high, whole("memory", past), own=False)
        W, pairs = matrix("P", W), numbers("multipliers", pairs)
        still.inequality(W, pairs, "distance", growth)
        still.coercive(W, pairs, numbers("past", between))
        self.value = draws * energy(P, loop.draw) + errors * energy(P, loop.error)
        bare = Loop((A, B, C, row), colour, low, high, 0, own=False)
        step = [add(line[: bare.size], bare.y[: bare.size], line[bare.size] * (h - low)) for line in bare.step]
        seen = responses(step, bare.x[: bare.size])
        factor = {"f": h / 2, "distance": Fraction(1), "gradient": h * h}[measure]
        self.lower = factor * (draws * energy(seen, bare.draw) + (0 if extra else errors) * energy(seen, bare.error))
        self.statement = "limit" if past == 0 and not growth else "time average"
        demand(said[3] == self.statement, f"the statement is not {self.statement}")
        value, lower = number("value", said[0]), number("lower", said[1])
        demand(value >= self.value * (1 - LOOSER), f"value = {float(value)} says more than {float(self.value)}")
        demand(0 < lower <= self.lower * (1 + LOOSER), f"lower = {float(lower)} says more than {float(self.lower)}")

    def __str__(self) -> str:
        return f"{float(self.lower):.9g} <= worst mean <= {float(self.value):.9g} ({self.statement}): {self.name!a}"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    demand(len(dict(pairs)) == len(pairs), "a key stands twice")
    return dict(pairs)


def main(arguments: Sequence[str]) -> int:
    """Prove every bound of the file and print what is proved."""
    if len(arguments) != 1:
        print("usage: python storage_checker.py FILE", file=sys.stderr)
        return 2
    try:
        with open(arguments[0], "rb") as file:  # noqa: PTH123
            content = file.read(MOST_BYTES + 1)
        demand(len(content) <= MOST_BYTES, f"more than {MOST_BYTES} bytes")
        data = json.loads(content, object_pairs_hook=_once)
        bounds = data if isinstance(data, list) else [data]
        demand(0 < len(bounds) <= MOST_BOUNDS, f"not one to {MOST_BOUNDS} bounds")
    except (OSError, ValueError, RecursionError, Refused) as error:
        print(f"{arguments[0]}: refused: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    refused = 0
    for place, bound in enumerate(bounds, 1):
        try:
            print(f"bound {place}: proved: {Bound(bound)}", flush=True)
        except Refused as error:
            refused += 1
            print(f"bound {place}: refused: {error}", flush=True)
    return 2 if refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
