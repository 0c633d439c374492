"""Proofs that `dpbounds verify --proofs DIR` wrote, checked again; it needs Python alone.

    python verify/proof_checker.py DIR

It shares no code with dpbounds and uses integers alone. A formula is a list of steps, each a number, a variable, or an
operation on steps before it, and is printed in plain notation. Kinds of files:

- `boxes`: smaller <= larger for all variables of a box. Cuts divide the box, and on every part the difference is
  bounded from below: by the values of the steps (v), or by derivatives, computed backwards (d): in a variable in which
  the difference rises the lower end decides, and in one of unknown direction the middle and the slope; (z) as d, where
  the one corner that decides has exactly 0. With `factor`: larger - smaller = factor * certificate, factor >= 0 and
  certificate >= 0 on every part.
- `point`: relations between steps at a point of fractions; `exact`: the same by fractions, without enclosures;
  `integral`: the same with steps that are integrals of steps over one more variable, from 0 to 1, cut into parts.
- `generic`: identities of rational functions in the variables and in what other functions give.
- `sign`: for positive variables such a function is >= 0, being equal to one in which nothing is subtracted; `squares`:
  for all real variables, being equal to one of positive numbers and of squares.
- `derivation`: a statement from files and from lemmas of the list LEMMAS.

Numbers are intervals whose ends are whole numbers times powers of 2, rounded outwards. Identities are tried modulo a
prime at a point, both drawn by a hash of the file (`Residues`): one that is false passes with a probability below
2^-150. A file is named by the hash of its content. Exit status: 0 every file is accepted, 2 one is refused, or none is.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cmp_to_key, lru_cache
from math import gcd, isqrt, prod
from pathlib import Path
from typing import Any

End = tuple[int, int]  # m and e of m * 2^e
Interval = tuple[End, End]
Box = tuple[tuple[Fraction, Fraction], ...]
Residue = tuple[int, Fraction | None, tuple[int, int]]  # modulo the prime, exactly if known, and degrees
Sensitivity = tuple[Interval | None, Interval | None]  # d f / d step, and step * d f / d step; to be added

FORMAT = "dpbounds-proof/2"
# What is looked at: bytes, steps, cuts times steps, bits, digits of a number, whole powers, signs of a text.
MOST_BYTES, MOST_STEPS, MOST_WORK, MOST_BITS, MOST_DIGITS = 4_000_000, 5000, 5_000_000, 4000, 4000
MOST_POWER, MOST_SHOWN = 10_000, 4000
ZERO, ONE = (0, 0), (1, 0)
NIL: Interval = (ZERO, ZERO)
UNIT: Interval = (ONE, ONE)
TWO: Interval = ((1, 1), (1, 1))
FOUR: Interval = ((1, 2), (1, 2))
SMALL, GUARD = prod(range(3, 2000, 2)), 32  # small factors; bits that fixed-point sums have to spare
LEMMAS = (  # by the names under which the books have them
    "conjunction, Cauchy-Schwarz, Jensen, Hölder, triangle inequality, submultiplicativity, Rayleigh, Weyl, spectral "
    "theorem, Schur complement, Loewner monotony, Parseval, residues, geometric series, binomial series, induction, "
    "monotony, mean value theorem, concavity, smooth convex functions, linearity, independence, total expectation, "
    "Isserlis, Stein, Markov, union bound, data processing, Rényi divergence of normal laws, zCDP of a sum, GDP of a "
    "sum, privacy profile of the Gaussian mechanism, Davidson and Szarek, matrix Chernoff, basic composition, "
    "substitution"
)


class Refused(Exception):
    """The file is none, or says what is not proved; a value is not known to be defined."""


def demand(condition: bool, reason: str) -> None:
    """`Refused` for that reason where the condition does not hold."""
    if not condition:
        raise Refused(reason)


@lru_cache(maxsize=256)
def log_2(places: int) -> int:
    """2 atanh(1/3) in units of 2^-places, less than one off: places / 3 + 9 floors, and 16 bits to spare."""
    return sum((2 << places + 16) // ((2 * j + 1) * 3 ** (2 * j + 1)) for j in range(places // 3 + 8)) >> 16


@lru_cache(maxsize=256)
def pi(places: int) -> int:
    """16 atan(1/5) - 4 atan(1/239), likewise."""
    terms = ((c * (-1) ** j, (2 * j + 1) * x ** (2 * j + 1)) for c, x in ((16, 5), (-4, 239)) for j in range(places))
    return sum(c * ((1 << places + 16) // below) for c, below in terms) >> 16


class Intervals:
    """Interval arithmetic with this many bits, 16 at least. Functions that are monotone are those of the ends."""

    def __init__(self, bits: int) -> None:
        self.bits, self.places = max(bits, 16), max(bits, 16) + GUARD
        self.pi = self.near(pi(self.places), 1, self.places)

    def down(self, m: int, e: int) -> End:
        """m * 2^e, rounded."""
        spare = m.bit_length() - self.bits
        return (m >> spare, e + spare) if spare > 0 else (m, e)

    def up(self, m: int, e: int) -> End:
        """The same upwards."""
        spare = m.bit_length() - self.bits
        return (-(-m >> spare), e + spare) if spare > 0 else (m, e)

    def total(self, x: End, y: End, way: int) -> End:
        """x + y, exact unless one is so small beside the other that only its sign is kept: then to the side `way`."""
        (a, e), (b, f) = (x, y) if x[1] >= y[1] else (y, x)
        if not a or not b:
            return (a, e) if a else (b, f)
        far = e - self.bits - 2
        if f + b.bit_length() <= far:  # |b 2^f| < 2^far
            return (a << self.bits + 2) + (b > 0 if way > 0 else -(b < 0)), far
        return (a << e - f) + b, f

    def sign_of_difference(self, x: End, y: End) -> int:
        """The sign of x - y."""
        m = self.total(x, (-y[0], y[1]), 1)[0]
        return (m > 0) - (m < 0)

    def least(self, *ends: End) -> End:
        """The smallest."""
        return min(ends, key=cmp_to_key(self.sign_of_difference))

    def most(self, *ends: End) -> End:
        """The largest."""
        return max(ends, key=cmp_to_key(self.sign_of_difference))

    def near(self, value: int, error: int, places: int) -> Interval:
        """A number that is this far, at most, from `value`, in units of 2^-places."""
        return self.down(value - error, -places), self.up(value + error, -places)

    def ratio(self, number: Fraction) -> Interval:
        """A fraction, exactly where its denominator is a power of 2."""
        top, bottom = number.numerator, number.denominator
        shift = max(bottom.bit_length(), self.bits + 2 + bottom.bit_length() - top.bit_length())
        return self.down((top << shift) // bottom, -shift), self.up(-((-top << shift) // bottom), -shift)

    def add(self, x: Interval, y: Interval) -> Interval:
        """x + y."""
        return self.down(*self.total(x[0], y[0], -1)), self.up(*self.total(x[1], y[1], 1))

    def neg(self, x: Interval) -> Interval:
        """-x."""
        return (-x[1][0], x[1][1]), (-x[0][0], x[0][1])

    def sub(self, x: Interval, y: Interval) -> Interval:
        """x - y."""
        return self.add(x, self.neg(y))

    def mul(self, x: Interval, y: Interval) -> Interval:
        """x y."""
        (a, b), (c, d) = x, y
        if a[0] >= 0 and c[0] >= 0:
            return self.down(a[0] * c[0], a[1] + c[1]), self.up(b[0] * d[0], b[1] + d[1])
        ends = [(p[0] * q[0], p[1] + q[1]) for p in x for q in y]
        return self.down(*self.least(*ends)), self.up(*self.most(*ends))

    def inverse(self, x: Interval) -> Interval:
        """1 / x."""
        demand(not x[0][0] <= 0 <= x[1][0], "a quotient by what may be 0")
        (a, e), (b, f) = x
        shifts = [self.bits + 2 + n.bit_length() for n in (a, b)]
        return self.down((1 << shifts[1]) // b, -f - shifts[1]), self.up(-((-1 << shifts[0]) // a), -e - shifts[0])

    def div(self, x: Interval, y: Interval) -> Interval:
        """x / y."""
        return self.mul(x, self.inverse(y))

    def half(self, x: Interval) -> Interval:
        """x / 2."""
        return (x[0][0], x[0][1] - 1), (x[1][0], x[1][1] - 1)

    def whole_power(self, x: Interval, n: int) -> Interval:
        """x^n."""
        if n < 0:
            return self.inverse(self.whole_power(x, -n))
        result, x = UNIT, x if n % 2 else self.absolute(x)
        while n:
            result, x, n = self.mul(result, x) if n & 1 else result, self.mul(x, x), n >> 1
        return result

    def sqrt(self, x: Interval) -> Interval:
        """The square root."""
        demand(x[0][0] >= 0, "the root of what may be negative")
        return self._root(*x[0])[0], self._root(*x[1])[1]

    def _root(self, m: int, e: int) -> Interval:
        shift = max(0, 2 * self.bits + 2 - m.bit_length())
        shift += (e - shift) % 2
        root, half = isqrt(m << shift), (e - shift) // 2
        return self.down(root, half), self.up(root + (root * root != m << shift), half)

    def absolute(self, x: Interval) -> Interval:
        """|x|."""
        if x[0][0] >= 0:
            return x
        return self.neg(x) if x[1][0] <= 0 else (ZERO, self.most((-x[0][0], x[0][1]), x[1]))

    def of(self, name: str, *x: Interval) -> Interval:
        """An operation of `ARITY`."""
        if name in ("minimum", "maximum"):
            chosen = self.least if name == "minimum" else self.most
            return chosen(*(low for low, _ in x)), chosen(*(high for _, high in x))
        if name not in MONOTONE:
            return getattr(self, name)(*x)
        function, (low, high) = getattr(self, f"_{name}"), x[0] if MONOTONE[name] else x[0][::-1]
        first = function(low)
        return first[0], (first if low == high else function(high))[1]

    def _fixed(self, x: End, places: int) -> int:
        """x in units of 2^-places, less than one unit below."""
        m, e = x
        return m << e + places if e + places >= 0 else m >> -e - places

    def _exp(self, x: End) -> Interval:
        """e^x = 2^k e^r, |r| <= .35. As ln 2 is less than a unit off, k ln 2 is |k| units of 2^-(places + size + 4), so
        r has less than 2 of 2^-places.
        A term is that before times r / n. Its error e_n <= (e_{n-1} |r| + 2 |term|) / n + 2, two floors, stays below
        7; what is cut off is at most the last term, which is below 8.
        """
        size, places = x[0].bit_length() + x[1], self.places
        demand(size <= 30 or x[0] <= 0, "an exponential that is too large")
        if size > 30 or x[0] == 0:
            return (ZERO, (1, -(1 << 30))) if x[0] else UNIT
        extra = max(size, 0) + 4
        r, ln = self._fixed(x, places + extra), log_2(places + extra)
        k = (2 * r + ln) // (2 * ln)
        r, term, total, n = (r - k * ln) >> extra, 1 << places, 1 << places, 0
        while term not in (0, -1):
            n += 1
            term = (term * r >> places) // n
            total += term
        return self.near(total, 8 * (n + 2), places - k)

    def _log(self, x: End) -> Interval:
        """log(2^k f) = k log 2 + 2 atanh(p / q), .7 <= f < 1.4, p / q = (f - 1) / (f + 1), relative to |p / q| < 1/5.
        z = p / q is 1 unit off and its square 2; a power has the error e <= e / 25 + 2 + 1 < 4, and one more by its
        division; what is cut off is less than 1.
        """
        m, e = x
        demand(m > 0, "the logarithm of what may not be positive")
        one, k = 1 << m.bit_length(), m.bit_length() + e
        if 10 * m < 7 * one:
            m, k = 2 * m, k - 1
        if m == one and k == 0:
            return NIL
        places = self.places + k.bit_length() + max(0, (m + one).bit_length() - abs(m - one).bit_length())
        power = total = (m - one << places) // (m + one)
        square, n = power * power >> places, 0
        while power not in (0, -1):
            n += 1
            power = power * square >> places
            total += power // (2 * n + 1)
        return self.near(2 * total + k * log_2(places), 10 * (n + 1) + abs(k), places)

    def power(self, x: Interval, y: Interval) -> Interval:
        """x^y for positive x."""
        return self.of("exp", self.mul(y, self.of("log", x)))

    def _mills(self, t: End) -> Interval:
        """M(t) = Phi(-t) / phi(t) of the normal distribution, sqrt(pi / 2) e^{t^2 / 2} - sum_k t^{2k+1} / (2 k + 1)!!.
        A term is t^2 / (2 k + 1) times that before, t^2 being 2 t + 2 units off, and two floors. Products of such
        factors are at most e^{t^2 / 2} < 2^(.73 most + 1), so a term has at most 6 n times that as its error, n terms
        and what is cut off, where a term is at most half of that before, 8 (n + 1)^2 times that.
        """
        if t[0] < 0:  # M(-t) + M(t) = sqrt(2 pi) e^{t^2 / 2}
            whole = self.mul(self.sqrt(self.mul(TWO, self.pi)), self._exp((t[0] * t[0], 2 * t[1] - 1)))
            return self.sub(whole, self._mills((-t[0], t[1])))
        demand(t[0].bit_length() + t[1] <= 6, "a tail of the normal distribution beyond 64")
        most = self._fixed((t[0] * t[0], 2 * t[1]), 0) + 1  # t^2 <= most
        grown = (73 * most) // 100 + 2
        finer = Intervals(self.bits + GUARD + grown)
        places = finer.places + grown
        z = self._fixed(t, places)
        square = z * z >> places
        term, total, n = z, z, 0
        while term or 2 * n + 3 < 2 * most:
            n += 1
            term = (term * square >> places) // (2 * n + 1)
            total += term
        root = finer.mul(finer.sqrt(finer.half(finer.pi)), finer._exp((t[0] * t[0], 2 * t[1] - 1)))
        found = finer.sub(root, finer.near(total, 8 * (n + 1) ** 2 << grown, places))
        return self.down(*found[0]), self.up(*found[1])

    def complete(self, x: Interval, y: Interval, r: Interval, A: Interval, B: Interval) -> Interval:
        """int_0^oo (A s^2 + B r) / (s^2 + r^2) ds / sqrt((s^2 + x^2) (s^2 + y^2)) for positive x, y, r, A, B.
        Gauss: t = (s - x y / s) / 2 runs through all reals, t^2 + ((x + y) / 2)^2 = (s^2 + x^2) (s^2 + y^2) / (2 s)^2
        and ds / sqrt(...) = dt / 2 / sqrt((t^2 + ((x + y) / 2)^2) (t^2 + x y)); to -t belongs x y / s. With g = x y /
        r, the fractions at s and x y / s add up to 2 (A' t^2 + B' r') / (t^2 + r'^2), r' = (r + g) / 2, A' = (A + B /
        r) / 2, B' = (B + A g) / 2, so the integral is the same with (x + y) / 2, sqrt(x y), r', A', B'. It falls in x
        and y and is (pi / 2) (A x + B) / (x (x + r)) where x = y.
        """
        done = False
        while not done:
            done = self._close(x, y)
            product = self.mul(x, y)
            g = self.div(product, r)
            sums = (A, self.div(B, r)), (B, self.mul(A, g)), (r, g), (x, y)
            (A, B, r, x), y = (self.half(self.add(*terms)) for terms in sums), self.sqrt(product)
        ends = [(end, end) for end in (self.most(x[1], y[1]), self.least(x[0], y[0]))]
        tops = (self.mul(self.half(self.pi), self.add(self.mul(A, x), B)) for x in ends)
        found = [self.div(top, self.mul(x, self.add(x, r))) for top, x in zip(tops, ends, strict=True)]
        return found[0][0], found[1][1]

    def _close(self, x: Interval, y: Interval) -> bool:
        """Whether two numbers agree to more than half of the bits: their means then agree to all."""
        (m, e), half = self.most(x[1], y[1]), self.bits // 2 + 4
        low = self.least(x[0], y[0])
        demand(low[0] > 0, "a mean of what may be 0")
        return self.sign_of_difference(low, ((m << half) - m, e - half)) >= 0

    def _mean(self, y: End, rounded: Callable[[int, int], End], way: int) -> End:
        """A bound on the arithmetic-geometric mean of 1 and y: it rises with both, and all is rounded one way."""
        x, done = ONE, False
        while not done:
            done = self._close((x, x), (y, y))
            m, e = self.total(x, y, way)
            x, y = rounded(m, e - 1), self._root(x[0] * y[0], x[1] + y[1])[way > 0]
        return self.most(x, y) if way > 0 else self.least(x, y)

    def _first_kind(self, c: Interval) -> Interval:
        """K = pi / 2 over the mean of 1 and c."""
        return self.div(self.half(self.pi), (self._mean(c[0], self.down, -1), self._mean(c[1], self.up, 1)))

    def _rest(self, c: Interval) -> Interval:
        """(E - c^2 K) / k^2 = K (1/2 - sum_{n >= 1} 2^{n-1} d_n), from the means of 1 and c.
        d_n = c_n^2 / k^2 with c_{n+1} = (a_n - b_n) / 2 and c_n^2 = 4 c_{n+1} a_{n+1}: d_1 = (1 - c) / (4 (1 + c)),
        d_{n+1} = d_n^2 k^2 / (4 a_{n+1})^2, at most d_n / 4, so what is cut off is at most the last term.
        """
        below, above = self.sub(UNIT, c), self.add(UNIT, c)
        x, y = self.half(above), self.sqrt(c)
        d = term = total = self.div(below, self.mul(FOUR, above))
        n, done = 0, False
        while not done:
            n, done = n + 1, self._close(x, y)
            x, y = self.half(self.add(x, y)), self.sqrt(self.mul(x, y))
            d = self.mul(self.whole_power(self.div(d, self.mul(FOUR, x)), 2), self.mul(below, above))
            term = self.mul(((1, n), (1, n)), d)
            total = self.add(total, term)
        left = self.sub(self.half(UNIT), (total[0], self.add(total, term)[1]))
        return self.mul(self._first_kind(c), left)

    def _complement(self, a: End) -> Interval:
        """c at k = 1 - a, a in (0, 1]: c^2 = a (2 - a)."""
        demand(a[0] > 0 and self.sign_of_difference(a, ONE) <= 0, "not in (0, 1]")
        return self.sqrt(self.mul((a, a), self.sub(TWO, (a, a))))

    def _integral_inverse(self, a: End) -> Interval:
        """int_{-pi}^{pi} d omega / |1 - a - e^{i omega}| = 4 K(1 - a), a in (0, 1]."""
        return self.mul(FOUR, self._first_kind(self._complement(a)))

    def _ratio(self, a: End, b: End) -> Interval:
        """4 (2 - a) / (2 - b)^2 times `complete` with x = 1, y = u = a / (2 - a), r = v = b / (2 - b), A = 1, B r =
        u^2: |1 - a - e^{i omega}|^2 = (2 - a)^2 (u^2 cos^2 + sin^2)(omega / 2), s = tan(omega / 2).
        """
        left, right = self.sub(TWO, (a, a)), self.sub(TWO, (b, b))
        u, v = self.div((a, a), left), self.div((b, b), right)
        mean = self.complete(UNIT, u, v, UNIT, self.div(self.whole_power(u, 2), v))
        return self.mul(self.div(self.mul(FOUR, left), self.whole_power(right, 2)), mean)

    def integral_ratio(self, a: Interval, b: Interval) -> Interval:
        """int |1 - a - e^{i omega}| / |1 - b - e^{i omega}|^2 d omega, a and b in (0, 1].
        (2 - b) / (2 - a) times it rises in a and falls in b. In a: |1 - a - e^{i omega}| / (2 - a) rises with u. In b:
        with q = 1 - b and Poisson's kernel (1 + q) int = 2 pi sum_j S_j q^j, S_j the partial sums of the cosine series
        of |1 - a - e^{i omega}| at 0. That is the root of A - B cos, 0 <= B <= A, so no coefficient after the first is
        positive; S_j falls to a >= 0, and the sum rises with q.
        """
        left, right = self.sub(TWO, a), self.sub(TWO, b)  # ends: 2 - a[1], 2 - a[0]
        (near, far), (low, high) = left, right
        loose = self.mul(self.div((near, near), (far, far)), self.div((low, low), (high, high)))
        return self.mul(self._ratio(a[0], b[1]), loose)[0], self.div(self._ratio(a[1], b[0]), loose)[1]

    def mills_slope(self, x: Interval) -> Interval:
        """M'(x) = x M(x) - 1, which rises, as M is convex."""
        ends = [self.sub(self.mul((end, end), self._mills(end)), UNIT) for end in x]
        return ends[0][0], ends[1][1]

    def inverse_slope(self, a: Interval) -> Interval:
        """a times the derivative of `integral_inverse`: -4 D (1 - a) / (2 - a) with D = (E - c^2 K) / k^2 = -c d K / d
        c, as c^2 = a (2 - a). It rises, since D and (1 - a) / (2 - a) fall.
        """
        ends = []
        for point in ((end, end) for end in a):
            share = self.div(self.sub(UNIT, point), self.sub(TWO, point))
            ends.append(self.neg(self.mul(FOUR, self.mul(self._rest(self._complement(point[0])), share))))
        return ends[0][0], ends[1][1]


# Operations on steps by how many they take, and those that rise or fall with their argument.
ARITY: dict[str, int] = {
    **dict.fromkeys(("neg", "absolute", "sqrt", "exp", "log", "mills", "integral_inverse"), 1),
    **dict.fromkeys(("add", "sub", "mul", "div", "minimum", "maximum", "power", "integral_ratio"), 2),
}
MONOTONE: dict[str, bool] = {"exp": True, "log": True, "mills": False, "integral_inverse": False}
SIGNS = {"add": " + ", "sub": " - ", "mul": " * ", "div": " / ", "power": "^"}
LEAVES = ("number", "variable", "pi")
GROWING = ("variable", "pi", "add", "mul", "div", "whole_power")  # positive if what they take is


class Program:
    """Steps, each of a number, a variable, pi, a whole power, or an operation on steps before it."""

    def __init__(self, steps: Any, variables: Sequence[str], integrals: bool = False) -> None:
        demand(isinstance(steps, list) and 0 < len(steps) <= MOST_STEPS, f"not 1 to {MOST_STEPS} steps")
        self.variables, self.others = variables, ("whole_power", *(["integral"] if integrals else []))
        self.steps = [self._step(place, step) for place, step in enumerate(steps)]
        self.varies: list[bool] = []
        for name, arguments in self.steps:
            self.varies.append(name == "variable" or any(self.varies[k] for k in used(name, arguments)))

    def _step(self, place: int, step: Any) -> tuple[str, tuple[Any, ...]]:
        demand(isinstance(step, list) and step != [] and isinstance(step[0], str), f"step {place} is none")
        (name, *arguments), where = step, f"step {place}"
        demand(name in (*ARITY, *LEAVES, *self.others), f"{where}: no operation is called {name[:40]!r}")
        count = {"pi": 0, "number": 1, "variable": 1, "whole_power": 2, "integral": 2, **ARITY}[name]
        demand(len(arguments) == count, f"{where}: {name} has other arguments")
        if name == "number":
            return name, (fraction(where, arguments[0]),)
        if name == "variable":
            return name, (index(where, arguments[0], len(self.variables)),)
        if name == "whole_power":
            n = arguments[1]
            demand(type(n) is int and abs(n) <= MOST_POWER, f"{where}: no whole power of at most {MOST_POWER}")
            return name, (index(where, arguments[0], place), n)
        if name == "integral":
            k, cuts = index(where, arguments[0], place), arguments[1]
            demand(isinstance(cuts, str) and len(cuts) * place <= MOST_WORK, f"{where}: cuts is no text, or too long")
            return name, (k, cuts)
        return name, tuple(index(where, k, place) for k in arguments)

    def values(self, m: Intervals, box: Sequence[Any], constants: Any, end: int | None = None) -> list[Any]:
        """What every step (before `end`) is, anywhere on the box; `constants` keeps what does not vary. None for what
        depends on a variable that is None.
        """
        found, hidden = list[Any](), None in box
        for place, (name, arguments) in enumerate(self.steps[:end]):
            value = constants.get(place)
            unknown = hidden and name != "integral" and None in [found[k] for k in used(name, arguments)]
            if value is not None or unknown:
                pass
            elif name in LEAVES:
                value = m.pi if name == "pi" else m.ratio(arguments[0]) if name == "number" else box[arguments[0]]
            elif name == "whole_power" or (name == "mul" and arguments[0] == arguments[1]):
                value = m.whole_power(found[arguments[0]], 2 if name == "mul" else arguments[1])
            else:
                integral = name == "integral"
                value = self.integral(m, box, *arguments) if integral else m.of(name, *(found[k] for k in arguments))
            if not self.varies[place]:
                constants[place] = value
            found.append(value)
        return found

    def integral(self, m: Intervals, box: Sequence[Interval], step: int, cuts: str) -> Interval:
        """Of a step over the last variable from 0 to 1: on a part of width w its values (v), or (d) that in the middle,
        from which its mean is at most (q - p) w / 8 away, its slopes being in [p, q].
        """
        total = NIL
        for ((a, b),), by in parts(((Fraction(0), Fraction(1)),), ["linear"], cuts):
            inside = self.values(m, [*box[:-1], (m.ratio(a)[0], m.ratio(b)[1])], {}, step + 1)
            value, width = inside[step], m.ratio(b - a)
            if by != "v":
                p, q = self.slopes(m, inside, step)[-1]
                off = m.mul(m.ratio((b - a) / 8), m.sub((q, q), (p, p)))[1]
                value = self.values(m, [*box[:-1], m.ratio((a + b) / 2)], {}, step + 1)[step]
                value = m.add(value, ((-off[0], off[1]), off))
            total = m.add(total, m.mul(width, value))
        return total

    def slopes(self, m: Intervals, v: list[Interval], larger: int, smaller: int | None = None) -> list[Interval]:
        """The derivatives of larger (- smaller) in the variables, computed backwards from the values on a box.
        For each step d f / d step is a sum A + R / step: what comes through products, powers and logarithms keeps the
        relative part R = step * d f / d step, which does not depend on the step's own width. Where a function has no
        derivative (|x| at 0) it has one almost everywhere on any line, within the interval given, which is all that
        differences need.
        """
        parts: tuple[dict[int, Interval], dict[int, Interval]] = {}, {}
        handed: list[Any] = [(0, larger, UNIT), *([] if smaller is None else [(0, smaller, m.neg(UNIT))])]
        total = [NIL] * len(self.variables)
        for place in range(len(v) - 1, -1, -1):
            for relative, step, value in handed:
                if value is not None:
                    part = parts[relative]
                    part[step] = m.add(part[step], value) if step in part else value
            own, handed = (parts[0].pop(place, None), parts[1].pop(place, None)), []
            name, arguments = self.steps[place]
            if own == (None, None) or not self.varies[place]:
                continue
            if name == "variable":
                total[arguments[0]] = m.add(total[arguments[0]], slope(m, own, v[place]))
            else:
                handed = passed(m, v, place, name, arguments, own)
        return total

    def plain(self, *ends: int) -> list[str]:
        """Formulas in plain notation, and after them those of the steps that they share."""
        needed, count, texts, shared = set(ends), [0] * len(self.steps), [""] * len(self.steps), []
        for place in range(len(self.steps) - 1, -1, -1):
            for k in used(*self.steps[place]) if place in needed else ():
                needed.add(k)
                count[k] += 1
        for place in sorted(needed):
            name, arguments = self.steps[place]
            text = self._plain(name, arguments, texts)
            if (count[place] > 1 and name not in LEAVES) or len(text) > 200:
                shared.append(f"s{place} = {text}")
                text = f"s{place}"
            texts[place] = text
        where = f", where {'; '.join(shared)}" if shared else ""
        return [*(texts[end] for end in ends), where]

    def _plain(self, name: str, arguments: Any, texts: list[str]) -> str:
        if name in LEAVES:
            variable = name == "variable"
            return self.variables[int(arguments[0])] if variable else "pi" if name == "pi" else shown(*arguments)
        if name == "whole_power":
            return f"{texts[arguments[0]]}^{shown(Fraction(arguments[1]))}"
        if name == "integral":
            return f"integral of {texts[arguments[0]]} over 0 <= {self.variables[-1]} <= 1"
        if name in SIGNS:
            return f"({SIGNS[name].join(texts[k] for k in arguments)})"
        return f"(-{texts[arguments[0]]})" if name == "neg" else f"{name}({', '.join(texts[k] for k in arguments)})"


def used(name: str, arguments: Sequence[Any]) -> Sequence[int]:
    """The steps that a step uses."""
    return () if name in LEAVES else arguments[:1] if name in ("whole_power", "integral") else arguments


def slope(m: Intervals, own: Sensitivity, value: Interval) -> Interval:
    """A + R / step."""
    a, r = own
    return a or NIL if r is None else m.add(a or NIL, m.div(r, value))


def passed(m: Intervals, v: list[Interval], place: int, name: str, arguments: Any, own: Sensitivity) -> list[Any]:
    """What a step hands on of its A and R: to A (0) or R (1) of which step, and how much."""
    first, last, (a, r), w = arguments[0], arguments[-1], own, v[place]
    x, y = v[first], v[last] if name != "whole_power" else UNIT

    def by(part: Interval | None, factor: Interval) -> Interval | None:
        return None if part is None else m.mul(part, factor)

    if name == "mul":
        return [(0, first, by(a, y)), (0, last, by(a, x)), (1, first, r), (1, last, r)]
    if name == "neg":
        return [(0, first, by(a, m.neg(UNIT))), (1, first, r)]
    if name == "whole_power":
        n = m.ratio(Fraction(last))
        return [(0, first, a and by(by(a, n), m.whole_power(x, last - 1))), (1, first, by(r, n))] if last else []
    if name in ("div", "sqrt", "power"):
        whole = m.add(r or NIL, by(a, w) or NIL)
        if name == "div":
            return [(0, first, a and m.div(a, y)), (1, first, r), (1, last, m.neg(whole))]
        if name == "sqrt":
            return [(1, first, m.half(whole))]
        return [(1, first, m.mul(whole, y)), (0, last, m.mul(whole, m.of("log", x)))]
    t = slope(m, own, w)
    if name in ("add", "sub"):
        return [(0, first, t), (0, last, t if name == "add" else m.neg(t))]
    if name == "log":
        return [(1, first, t)]
    if name in ("minimum", "maximum"):
        if m.sign_of_difference(x[1], y[0]) <= 0 or m.sign_of_difference(y[1], x[0]) <= 0:
            below = first if m.sign_of_difference(x[1], y[0]) <= 0 else last
            return [(0, below if name == "minimum" else first + last - below, t)]
        return [(0, step, m.mul(t, (ZERO, ONE))) for step in arguments]
    if name == "integral_ratio":
        # a d/da |1 - a - e^{i omega}| is at most that, and the integral over 2 - a rises; likewise in b
        low, high = m.neg(m.div(x, m.sub(TWO, x)))[0], m.div(y, m.sub(TWO, y))[1]
        return [(1, first, m.mul(m.mul(t, w), (low, ONE))), (1, last, m.mul(m.mul(t, w), ((-2, 0), high)))]
    if name == "integral_inverse":
        return [(1, first, m.mul(t, m.inverse_slope(x)))]
    if name == "absolute":
        w = UNIT if x[0][0] >= 0 else m.neg(UNIT) if x[1][0] <= 0 else ((-1, 0), ONE)
    return [(0, first, m.mul(t, m.mills_slope(x) if name == "mills" else w))]  # of exp: w


@lru_cache(maxsize=4)
class Residues:
    """Steps modulo a prime of 256 bits, variables and what other functions give being drawn by a hash of the file.
    Two rational functions in variables and in values of other functions, each value an unknown of its own, that agree
    there are equal, but for a chance of less than degree / 2^255, the degree being below 2^64, and for primes that
    divide all coefficients of the difference, fewer than 2^90 of about 2^247. Equal arguments make equal unknowns. At
    a point of fractions some values are known: those of a root, of log 1, of the integral at its end.
    """

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.prime = self._drawn("prime") | 1 << 255 | 1
        while not self._is_prime():
            self.prime += 2

    def _drawn(self, label: str) -> int:
        return int.from_bytes(hashlib.sha256(f"{label}/".encode() + self.content).digest(), "big")

    def _is_prime(self) -> bool:
        """Miller and Rabin, 40 bases."""
        p = self.prime
        if gcd(p, SMALL) > 1:
            return False
        twos = (p - 1 & 1 - p).bit_length() - 1
        for k in range(40):
            x = pow(self._drawn(f"base {k}") % (p - 3) + 2, p - 1 >> twos, p)
            if x not in (1, p - 1) and not any((x := x * x % p) == p - 1 for _ in range(twos - 1)):
                return False
        return True

    def values(self, program: Program, point: Sequence[Fraction] = ()) -> list[int]:
        """What every step is, modulo the prime: for all variables, or at a point."""
        return [value for value, _, _ in self.found(program, point)]

    def found(self, program: Program, point: Sequence[Fraction]) -> list[Residue]:
        """The same, with exact values at a point, where they are known, and degrees."""
        found: list[Residue] = []
        for name, arguments in program.steps:
            exact, degree = None, (0, 0)
            if name == "number" or (name == "variable" and point):
                exact = arguments[0] if name == "number" else point[arguments[0]]
                value = exact.numerator * self._inverse(exact.denominator)
            elif name in ("variable", "pi"):
                value, degree = self._drawn(f"{name} {arguments}"), (1, 0)
            else:
                value, exact, degree = self._operation(name, arguments, found)
            long = 0 if exact is None else exact.numerator.bit_length() + exact.denominator.bit_length()
            demand(long <= 100_000, "a fraction that is too long")
            demand(max(degree).bit_length() <= 64, "an identity of too high a degree")
            found.append((value % self.prime, exact, degree))
        return found

    def _inverse(self, value: int) -> int:
        demand(value % self.prime != 0, "an identity divides by 0")
        return pow(value, -1, self.prime)

    def _operation(self, name: str, arguments: Any, found: Any) -> tuple[int, Fraction | None, tuple[int, int]]:
        x, first, (p, q) = found[arguments[0]]
        if name == "whole_power":
            n = arguments[1]
            value = pow(x, n, self.prime) if n >= 0 else pow(self._inverse(x), -n, self.prime)
            return value, exactly(name, [first, n]), (p * n, q * n) if n >= 0 else (-q * n, -p * n)
        y, _, (r, s) = found[arguments[-1]]
        exact = exactly(name, [found[k][1] for k in arguments])
        if exact is not None:
            return exact.numerator * self._inverse(exact.denominator), exact, (0, 0)
        if name in ("add", "sub"):
            return x + y if name == "add" else x - y, None, (max(p + s, r + q), q + s)
        if name == "mul":
            return x * y, None, (p + r, q + s)
        if name == "div":
            return x * self._inverse(y), None, (p + s, q + r)
        if name == "neg":
            return -x, None, (p, q)
        if name == "integral_inverse" and first == 1:
            return 2 * self._drawn("pi ()"), None, (1, 0)
        return self._drawn(f"{name} {[found[k][0] for k in arguments]}"), None, (1, 0)


def exactly(name: str, values: Sequence[Any]) -> Fraction | None:
    """An operation on fractions, where its value is one that is known."""
    if any(value is None for value in values):
        return None
    x, y = values[0], values[-1]
    if name == "whole_power":
        demand(x != 0 or y >= 0, "a quotient by 0")
        demand(abs(y) * (x.numerator.bit_length() + x.denominator.bit_length()) <= 100_000, "a power that is too long")
        return x**y
    if name == "div":
        demand(y != 0, "a quotient by 0")
        return x / y
    if name == "sqrt":
        demand(x >= 0, "the root of a negative number")
        root = Fraction(isqrt(x.numerator), isqrt(x.denominator))
        return root if root * root == x else None
    if name in ("exp", "log"):
        return Fraction(int(name == "exp")) if x == (name == "log") else None
    simple = {
        "add": lambda: x + y, "sub": lambda: x - y, "mul": lambda: x * y, "neg": lambda: -x,
        "absolute": lambda: abs(x), "minimum": lambda: min(x, y), "maximum": lambda: max(x, y),
    }  # fmt: skip
    return simple[name]() if name in simple else None


class Inequality:
    """larger - smaller >= 0 on parts of a box; or, tied by them, factor >= 0 and certificate >= 0."""

    def __init__(self, program: Program, bits: int, ends: Any, content: bytes, tie: Sequence[int] = ()) -> None:
        self.program, self.m, self.content = program, Intervals(bits), content
        self.larger, self.smaller, self.factor = (tie[1], len(program.steps), tie[0]) if tie else (*ends, None)
        program.steps.append(("number", (Fraction(0),)))
        program.varies.append(False)
        self.constants: dict[int, Interval] = {}

    def enclosed(self, box: Box) -> list[Interval]:
        """Intervals that hold the box."""
        return [(self.m.ratio(low)[0], self.m.ratio(high)[1]) for low, high in box]

    def least(self, box: Box) -> End:
        """A lower bound on the difference, by values."""
        values = self.program.values(self.m, self.enclosed(box), self.constants)
        return self.m.sub(values[self.larger], values[self.smaller])[0]

    def decided(self, box: Box, by: str) -> bool:
        """Whether the difference is at least 0 on the box, by values (v) or derivatives (d, z)."""
        ranges = self.enclosed(box)
        values = self.program.values(self.m, ranges, self.constants)
        if self.factor is not None and values[self.factor][0][0] < 0:
            return False
        if by == "v":
            return self.m.sub(values[self.larger], values[self.smaller])[0][0] >= 0
        slopes = self.program.slopes(self.m, values, self.larger, self.smaller)
        face, unknown = [], []
        for k, ((low, high), (fall, rise)) in enumerate(zip(box, slopes, strict=True)):
            if fall[0] < 0 < rise[0] and low != high:
                unknown.append(k)
                face.append((low, high))
            else:
                face.append((low, low) if fall[0] >= 0 else (high, high))
        if by == "z":
            known = [] if unknown else Residues(self.content).values(self.program, [low for low, _ in face])
            return not unknown and known[self.larger] == known[self.smaller]
        bound = self.least(tuple(face))
        if bound[0] < 0 and unknown:
            middles = [low + (high - low) / 2 for low, high in face]
            centre = tuple(zip(middles, middles, strict=True))
            bound = self.least(centre)
            for k in unknown:
                lost = self.m.mul(slopes[k], self.m.sub(ranges[k], self.enclosed(centre)[k]))
                bound = self.m.add((bound, bound), lost)[0]
        return bound[0] >= 0


def middle(low: Fraction, high: Fraction, scale: str) -> Fraction:
    """Where a side is cut: between the ends, whatever the scale."""
    sizes = (x.numerator.bit_length() - x.denominator.bit_length() for x in (low, high))
    found = Fraction(2) ** (sum(sizes) // 2)
    return found if scale == "log" and 0 < 4 * low < high and low < found < high else (low + high) / 2


def cut(box: Box, axis: int, scale: str) -> tuple[Box, Box]:
    """The two halves of a box."""
    low, high = box[axis]
    at = middle(low, high, scale)
    return (*box[:axis], (low, at), *box[axis + 1 :]), (*box[:axis], (at, high), *box[axis + 1 :])


def parts(box: Box, scales: Sequence[str], cuts: str) -> Iterator[tuple[Box, str]]:
    """The parts of a box and how each is decided: a digit cuts that side, lower half first."""
    pending = [box]
    for sign in cuts:
        demand(pending != [], "more cuts than parts")
        part = pending.pop()
        if sign in "vdz":
            yield part, sign
            continue
        demand(sign.isdecimal() and sign.isascii() and int(sign) < len(box), f"{sign!r} is no side of the box")
        low, high = cut(part, int(sign), scales[int(sign)])
        pending += [high, low]
    demand(pending == [], "a part of the box is left out")


def fields(data: Any, *names: str) -> list[Any]:
    """The values of an object that has these keys and no others."""
    demand(isinstance(data, dict) and set(data) == set(names), f"it must have the entries {', '.join(names)}")
    return [data[name] for name in names]


def index(place: str, value: Any, most: int) -> int:
    """A whole number from 0, below `most`."""
    demand(type(value) is int and 0 <= value < most, f"{place}: {str(value)[:40]} is not from 0 to {most - 1}")
    return value


def fraction(place: str, value: Any) -> Fraction:
    """A fraction as a text of two whole numbers, p/q, or one."""
    demand(isinstance(value, str) and len(value) <= MOST_DIGITS, f"{place} is not a text of {MOST_DIGITS} digits")
    top, slash, bottom = value.partition("/")
    plain = all(part.isascii() and part.isdecimal() for part in (top.removeprefix("-"), *([bottom] if slash else [])))
    demand(plain and (not slash or int(bottom) > 0), f"{place}: {value[:40]!r} is no fraction")
    return Fraction(int(top), int(bottom or "1"))


def text(place: str, value: Any) -> str:
    """A printable text."""
    demand(isinstance(value, str) and len(value) <= MOST_SHOWN, f"{place} is no text of at most {MOST_SHOWN} signs")
    return "".join(sign if sign.isprintable() else "?" for sign in value)


def shown(value: Fraction) -> str:
    """A number as people write it: fractions in brackets, doubles and long numbers by their leading digits."""
    full = str(value)
    if len(full) <= 24:
        return full if full.isdecimal() else f"({full})"
    rounded = float(value) if abs(value) < 1 << 1023 else float(10**308)
    return repr(rounded) if rounded >= 0 and value == Fraction(rounded) else f"(about {rounded!r})"


def names_of(values: Any) -> list[str]:
    """Names of variables."""
    demand(isinstance(values, list) and len(values) <= 100, "the variables are no list of at most 100")
    names = [text("a name", value) for value in values]
    demand(len(set(names)) == len(names) and all(map(str.isidentifier, names)), "a name is none, or stands twice")
    return names


def rows(place: str, values: Any, length: int) -> list[Any]:
    """A list of lists of this length."""
    demand(isinstance(values, list) and len(values) <= 100, f"{place} is no list of at most 100")
    demand(all(isinstance(row, list) and len(row) == length for row in values), f"{place}: not {length} entries each")
    return values


class Folder:
    """The proof files of a folder, each checked once."""

    def __init__(self, place: Path) -> None:
        try:
            self.paths = {path.name: path for path in sorted(place.iterdir())}
        except OSError as error:
            raise Refused(f"{place}: {error.strerror}") from None
        self.found: dict[str, tuple[str, str]] = {}
        self.checked: dict[str, str] = {}
        self.open: list[str] = []
        self.claimed: dict[str, str] = {}

    def verdict(self, name: str) -> tuple[str, str]:
        """("accepted", what is proved) or ("refused", why)."""
        if name not in self.found:
            if name in self.open:
                return "refused", "it rests on itself"
            self.open.append(name)
            try:
                self.found[name] = "accepted", self._proved(name)
            except (Refused, RecursionError) as error:
                self.found[name] = "refused", str(error)
            self.open.remove(name)
        return self.found[name]

    def _read(self, name: str) -> tuple[bytes, Any]:
        demand(name in self.paths, "there is no such file")
        path = self.paths[name]
        demand(path.is_file() and not path.is_symlink(), "it is no regular file")
        try:
            with path.open("rb") as opened:
                content = opened.read(MOST_BYTES + 1)
            demand(len(content) <= MOST_BYTES, f"more than {MOST_BYTES} bytes")
            demand(name == name_of(content), "its name is not the hash of its content")
            strict = {"object_pairs_hook": self._once, "parse_constant": str, "parse_float": str}
            return content, json.loads(content, **strict)
        except (OSError, ValueError, RecursionError) as error:
            raise Refused(" ".join(str(error).split())) from None

    @staticmethod
    def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        demand(len(dict(pairs)) == len(pairs), "a key stands twice")
        return dict(pairs)

    @staticmethod
    def _ranges(names: Sequence[str], box: Box) -> str:
        return ", ".join(f"{shown(a)} <= {n} <= {shown(b)}" for n, (a, b) in zip(names, box, strict=True))

    def _proved(self, name: str) -> str:
        content, data = self._read(name)
        common = ("format", "kind", "claim", "form", "check", "code", "statement")
        demand(isinstance(data, dict) and set(common) < set(data), f"it must have the entries {', '.join(common)}")
        form, kind, *about = (text(key, data.pop(key)) for key in (*common[:4], *common[5:]))
        check = data.pop("check")
        demand(form == FORMAT, f"its format is not {FORMAT}")
        demand(check is None or (type(check) is int and check >= 0), "check is no number of a check")
        place = f"{about[0]}, {about[1]}" + ("" if check is None else f", check {check}")
        demand(self.claimed.setdefault(place, name) == name, f"{self.claimed[place]} is of {place} too")
        kinds = {"boxes": self._boxes, "derivation": self._tree, **PLAIN_KINDS}
        demand(kind in kinds, "it is of no known kind")
        return f"{place} ({kind}): {kinds[kind](data, content)}"

    def _boxes(self, data: Any, content: bytes) -> str:
        tied = ("factor", "certificate") if isinstance(data, dict) and "factor" in data else ()
        places = ("smaller", "larger", *tied)
        variables, steps, bits, cuts, *ends = fields(data, "variables", "steps", "bits", "cuts", *places)
        names = names_of([name for name, *_ in rows("variables", variables, 4)])
        box = tuple((fraction(name, low), fraction(name, high)) for name, low, high, _ in variables)
        scales = [scale for *_, scale in variables]
        demand(len(box) < 10 and all(low <= high for low, high in box), "a range is empty, or more than 9 variables")
        demand(all(scale in ("linear", "log") for scale in scales), "a variable has no scale")
        program = Program(steps, names)
        smaller, larger, *tie = (index(place, k, len(steps)) for place, k in zip(places, ends, strict=True))
        demand(isinstance(cuts, str) and len(cuts) * len(steps) <= MOST_WORK, "cuts is no text, or too long")
        if tie:
            residues = Residues(content)
            value = residues.values(program)
            difference = value[larger] - value[smaller] - value[tie[0]] * value[tie[1]]
            demand(difference % residues.prime == 0, "larger - smaller is not factor * certificate")
        inequality = Inequality(program, index("bits", bits, MOST_BITS), (larger, smaller), content, tie)
        kept = hashlib.sha256(json.dumps([variables, steps, bits, cuts, ends]).encode()).hexdigest()
        if kept not in self.checked:  # claims that rest on the same inequality share the work
            count = 0
            for part, by in parts(box, scales, cuts):
                count += 1
                if not inequality.decided(part, by):
                    raise Refused(f"not decided where {self._ranges(names, part)}")
            self.checked[kept] = f"{count} part{'s' * (count != 1)}"
        left, right, where = program.plain(smaller, larger)
        return f"{left} <= {right} for {self._ranges(names, box)}{where} [{self.checked[kept]}]"

    def _tree(self, data: Any, _: bytes) -> str:
        (tree,) = fields(data, "tree")
        used: list[str] = []
        said = self._node(tree, used, 0)
        demand(used != [], "it rests on no file")
        return f"{said}, by {len(used)} files"

    def _node(self, node: Any, used: list[str], depth: int) -> str:
        demand(depth <= 20 and isinstance(node, dict), "a step of the derivation is none, or too deep")
        if set(node) == {"file"}:
            name = text("file", node["file"])
            verdict, reason = self.verdict(name)
            demand(verdict == "accepted", f"it needs {name}, which is refused: {reason}")
            used.append(name)
            return reason
        if set(node) == {"lemma"}:
            lemma = text("lemma", node["lemma"])
            demand(lemma in LEMMAS.split(", "), f"no lemma is called {lemma[:40]!r}")
            return lemma
        says, rest = fields(node, "says", "from")
        demand(isinstance(rest, list) and 0 < len(rest) <= 100, "a step of the derivation rests on nothing")
        for each in rest:
            self._node(each, used, depth + 1)
        return text("says", says)


def name_of(content: bytes) -> str:
    """How the file of this content is called."""
    return hashlib.sha256(content).hexdigest()[:32] + ".json"


def _point(data: Any, content: bytes) -> str:
    exact, over = "bits" not in data, [data.pop("over")] if "over" in data else []
    point, steps, relations, *bits = fields(data, "point", "steps", "relations", *(() if exact else ("bits",)))
    names = names_of([*(name for name, _ in rows("point", point, 2)), *over])
    numbers, program = [fraction(name, value) for name, value in point], Program(steps, names, bool(over))
    demand(sum(name == "integral" for name, _ in program.steps) == len(over) * (not exact), "not just one integral")
    ends: list[Any] = [(x, x) for _, x, _ in Residues(content).found(program, numbers)] if exact else []
    demand((None, None) not in ends, "a step gives no fraction that is known")
    m = Intervals(64 if exact else index("bits", bits[0], MOST_BITS))
    ends = ends or program.values(m, [*(m.ratio(x) for x in numbers), *(None for _ in over)], {})
    demand(rows("relations", relations, 3) != [], "there are no relations")
    said = []
    for sign, *pair in relations:
        i, j = (index("a relation", k, len(steps)) for k in pair)
        demand(None not in (ends[i], ends[j]), "a relation depends on the variable that is integrated over")
        pairs = (ends[i][1], ends[j][0]), (ends[j][1], ends[i][0])
        below, above = ((x > y) - (x < y) if exact else m.sign_of_difference(x, y) for x, y in pairs)
        signs = {"<": below < 0, "<=": below <= 0, "!=": below < 0 or above < 0, "=": below == 0 == above}
        demand(isinstance(sign, str) and sign in signs, "a relation is none of <, <=, !=, =")
        left, right, where = program.plain(i, j)
        said.append(f"{left} {sign} {right}{where}")
        demand(signs[sign], f"false, or not decided: {said[-1]}")
    return "; ".join(said) + "".join(f", {name} = {shown(x)}" for name, x in zip(names, numbers, strict=False))


def _generic(data: Any, content: bytes) -> str:
    sides = [name for name in ("equal", "nonnegative", "squares") if name in data] or ["equal"]
    variables, steps, *given = fields(data, "variables", "steps", *sides)
    program, said, above, positive = Program(steps, names_of(variables)), [], list[bool](), "nonnegative" in sides
    values = Residues(content).values(program)
    for name, arguments in program.steps:  # what is seen to be at least 0, for positive variables or for all
        square = name == "whole_power" and arguments[1] % 2 == 0
        of_such = name in GROWING and (positive or name != "variable") and all(above[k] for k in used(name, arguments))
        above.append(arguments[0] > 0 if name == "number" else square or of_such)
    for side, pair in [(name, pair) for name, pairs in zip(sides, given, strict=True) for pair in rows(name, pairs, 2)]:
        left, right = (index(side, k, len(steps)) for k in pair)
        demand(values[left] == values[right], "the two sides are not equal")
        demand(side == "equal" or above[right], "what is to be nonnegative does not show it")
        first, other, where = program.plain(left, right)
        said.append(f"{'' if side == 'equal' else '0 <= '}{first} = {other}{where}")
    demand(said != [], "there are no pairs")
    return f"{'; '.join(said)}, wherever defined{' for positive variables' if positive else ''}"


PLAIN_KINDS: dict[str, Any] = dict.fromkeys(("point", "exact", "integral"), _point)
PLAIN_KINDS |= dict.fromkeys(("generic", "sign", "squares"), _generic)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check every file of the folder and print what is proved."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="what dpbounds verify --proofs wrote")
    try:
        folder = Folder(parser.parse_args(arguments).folder)
    except Refused as refusal:
        print(f"refused: {refusal}", file=sys.stderr)
        return 2
    refused = 0
    for name in folder.paths:
        verdict, said = folder.verdict(name)
        refused += verdict == "refused"
        print(text("a line", f"{name}: {verdict}: {said}"[:MOST_SHOWN]), flush=True)
    print(f"{len(folder.paths) - refused} accepted, {refused} refused")
    return 2 if refused or not folder.paths else 0


if __name__ == "__main__":
    sys.exit(main())
