"""Appendix B: Proposition 5 and (18), the privacy of Algorithm 3."""

from __future__ import annotations

import math
from typing import Any

from dpbounds.arithmetic import FLOATS
from dpbounds.ols import LinearMixingScales, failure_probability, mixing_log_delta, sketch
from dpbounds.privacy import gaussian_log_delta
from verify.checks import Inequality, Search, Times
from verify.checks.domains import Real, Whole
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

DELTAS = Real(1e-10, 0.5, "log")
ROWS = Whole(1, 2000, "log")
GAMMAS = Real(2.51, 1e6, "log")
# The classical bound sqrt(2 log(1.25/delta)) mu on epsilon holds below this for every delta <= 1/3; at 4.9 it does not.
CLASSICAL = 4.8
# Of (17), sqrt(2 log(3.75/delta)): that bound at a third of delta.
TEST_TERM = 3.75
# Up to this epsilon~ all of Algorithm 3 together keeps delta: the test's part is then at most HALF_REACH, and it keeps
# delta/2.
REACH, HALF_REACH = 10, "6.1"

# --- the test of the eigenvalue, and the rows beside it ---


def _of_the_test(m: Any, s: Any, epsilon: Any) -> Any:
    """delta at epsilon of the Gaussian mechanism of mu = epsilon/s, over e^(-s²/2)/sqrt(2 pi): Q(s - mu/2) - e^epsilon
    Q(s + mu/2), Q the normal tail, which is the Mills ratio times the density.
    """
    mu = epsilon / s
    return m.exp(epsilon / 2 - mu * mu / 8) * (m.mills(s - mu / 2) - m.mills(s + mu / 2))


# s² = 2 log(1.25/delta), delta up to 1/3 and a little beyond.
CLASSICAL_TEST = Inequality(
    smaller=_of_the_test,
    larger=lambda m, s, epsilon: m.number("5/4") * m.sqrt(2 * m.pi) + 0 * s,
    box={"s": Real(1.6255, 40.0, "log"), "epsilon": Real(0.0, CLASSICAL)},
    impostors={"1.2 for 1.25": {"larger": Times("24/25")}},
)
TEST = (
    "The test at $delta'$ has $mu = epsilon_t\\/s$, $s = sqrt(2 log(1.25\\/delta'))$; with the ratio $R$ of the "
    "normal tail to its density its $delta$ is $e^(-s^2\\/2)\\/sqrt(2 pi) dot e^(epsilon_t\\/2 - mu^2\\/8) (R(s - "
    "mu\\/2) - R(s + mu\\/2)) <= 1.25 e^(-s^2\\/2) = delta'$ for $epsilon_t <= 4.8$ and $delta' <= 1\\/3$: certified "
    "up to $s = 40$, and beyond by $R(x) <= 1\\/x$. "
)
# The same at delta/2 for a share of delta/3.
HALF_TEST = Inequality(
    smaller=_of_the_test,
    larger=lambda m, s, epsilon: m.number("15/8") * m.sqrt(2 * m.pi) + 0 * s,
    box={"s": Real(1.6255, 40.0, "log"), "epsilon": Real(0.0, float(HALF_REACH))},
    impostors={"up to a third": {"larger": Times("8/9")}},
)


def _rows_at_least(m: Any, w: Any, y: Any, test: Any = HALF_REACH) -> Any:
    """Less than the rows' part of (17) beside a test's part of `test`, ell = log(3/delta) = 1/y, order 1 + w ell."""
    x = y / w
    gain = m.log(1 + x) + m.minimum(x * m.log(1 + x) + 2 * m.sqrt(x) / m.exp(m.number(1)), m.number(1))
    return m.number(test) ** 2 * (y + w) / (8 * (1 + m.log(m.number("5/4")) * y)) + 1 / w - gain


ROWS_BESIDE = Inequality(
    smaller=lambda m, w, y: REACH - m.number(HALF_REACH) + 0 * w,
    larger=_rows_at_least,
    box={"w": Real(0.125, 2.0), "y": Real(0.0, 0.9103)},
    impostors={"a test of 5": {"larger": {"test": "5"}}},
)
OTHERS = (
    "The rows given $tilde(lambda) <= lambda_min$ keep $delta\\/3$ at their part (Lemmas 1 and 3, `ols/lem-1`, "
    "`ols/lem-3`), and $tilde(lambda)$ is larger with probability $PP(z > tau) <= delta\\/6$ (`ols/thm-1-tau`), "
    "whatever the data: $epsilon$ and $delta$ add."
)

# --- Proposition 5 ---


def _eigenvalue_alone(eta: float, gamma: float, k: float, delta: float, factor: float = 1.0) -> tuple[float, float]:
    """log delta of the released eigenvalue alone, at epsilon~, against log delta: the sketch reveals the eigenvalue as
    its number of columns grows.
    """
    epsilon = factor * _spent(eta, gamma, k, delta)
    return math.exp(float(gaussian_log_delta(1 / eta, epsilon)) - math.log(delta)), 1.0


SMALL_NOISE = {"eta": 0.4, "gamma": 1000.0, "k": 1.0, "delta": 1e-6}


def _spent(eta: float, gamma: float, k: float, delta: float) -> float:
    """epsilon~ of (17)."""
    return float(sketch.guarantee(eta, gamma, int(k), delta))


def _parts(eta: float, gamma: float, k: float, delta: float, factor: float = 1.0) -> tuple[float, float]:
    """The dearest of the three parts of (17), each at delta/3: test, rows, P(z > tau). Noise of the test at least so
    much that its share of epsilon is within the classical bound.
    """
    rows, share = int(k), delta / 3
    least = math.sqrt(2 * math.log(TEST_TERM / delta)) / CLASSICAL
    test = factor * math.sqrt(2 * math.log(TEST_TERM / delta)) / (eta * least)
    spent = [
        float(gaussian_log_delta(1 / (eta * least), test)),
        sketch.exact_log_delta(factor * float(sketch.renyi_epsilon(gamma, rows, share)), rows, 1 / gamma),
        math.log(failure_probability(math.sqrt(2 * math.log(3 / delta)))),
    ]
    return math.exp(max(spent) - math.log(share)), 1.0


def _together(gamma: float, k: float, delta: float, factor: float = 1.0) -> tuple[float, float]:
    """All of Algorithm 3 at eta = gamma / sqrt(k), where epsilon~ is at most REACH, by the joint profile."""
    rows, tau = int(k), math.sqrt(2 * math.log(3 / delta))
    epsilon = float(sketch.epsilon(gamma, rows, delta))
    if epsilon > REACH:
        return 0.0, 1.0
    joint = mixing_log_delta(factor * epsilon, LinearMixingScales(k=rows, gamma=gamma, tau=tau))
    return math.exp(joint - math.log(delta)), 1.0


PROP_5 = Claim(
    id="ols/prop-5",
    where="Proposition 5, (17)",
    equation="(17)",
    kind="privacy",
    statement="Algorithm 3 is $(tilde(epsilon)(eta, gamma, k, delta), delta)$-DP with $tilde(epsilon)$ of (17).",
    hypotheses="$norm(x_i) <= 1$, $k >= 1$, $gamma > 5\\/2$, $eta > 0$, $tau >= sqrt(2 log(3\\/delta))$.",
    checks=(
        Search(
            sides=_eigenvalue_alone,
            box={"eta": Real(0.05, 100.0, "log"), "gamma": GAMMAS, "k": ROWS, "delta": DELTAS},
            extremal=lambda: [SMALL_NOISE],
            evaluations=200,
            closed=True,
        ),
    ),
    fault=Fault(
        severity="hypothesis",
        touches="statement",
        finding=(
            "Proposition 5 allows every $eta > 0$; its term $sqrt(2 log({term}\\/delta))\\/eta$ is the classical bound "
            "for Gaussian noise, which fails for large $epsilon$: at $eta = {eta}$, $k = {k}$, $gamma = {gamma}$, "
            "$delta = {delta}$ the eigenvalue, which the sketch reveals as $d -> oo$, needs ${smaller}$ times $delta$ "
            "at $tilde(epsilon) = {spent:3}$."
        ),
        consequence=(
            "Only budgets above ${classical}$ for the eigenvalue alone are concerned. With $eta = gamma\\/sqrt(k)$, as "
            "the paper always takes it, and $tilde(epsilon) <= {reach}$ all releases together keep $delta$."
        ),
    ),
    correction=Correction(
        statement=(
            (
                "Algorithm 3 is $(tilde(epsilon)(eta, gamma, k, delta), delta)$-DP for $eta >= sqrt(2 "
                r"log({term}\/delta)) \/ {classical}$;"
            ),
            r"and for $eta = gamma\/sqrt(k)$ wherever $tilde(epsilon) <= {reach}$.",
        ),
        ground="Each of the three parts keeps a share of $delta$ by its law; in (b) the test has half of it.",
        checks=(
            CLASSICAL_TEST.deciding("a"),
            HALF_TEST.deciding("b"),
            ROWS_BESIDE.deciding("b"),
            Search(
                decides="a",
                role="control",
                sides=_parts,
                box={"eta": Real(1.0, 1e3, "log"), "gamma": GAMMAS, "k": ROWS, "delta": DELTAS},
                extremal=lambda: [{"eta": 1.0, "gamma": 2.51, "k": 1.0, "delta": 0.5}],
                evaluations=150,
                impostors={"10 % less": {"sides": {"factor": 0.9}}},
            ),
            Search(
                decides="b",
                role="control",
                sides=_together,
                box={"gamma": GAMMAS, "k": ROWS, "delta": DELTAS},
                extremal=lambda: [{"gamma": 10.0, "k": 20.0, "delta": 1e-6}],
                evaluations=150,
                impostors={"a third of it": {"sides": {"factor": 1 / 3}}},
            ),
        ),
        derivation=Derivation(
            text="(a) "
            + TEST
            + "Here $delta' = delta\\/3 <= 1\\/3$, and $epsilon_t = s\\/eta <= 4.8$ by the bound on $eta$. "
            + OTHERS
            + " (b) With $ell = log(3\\/delta)$, $v = 1\\/gamma$ and $epsilon_t^2 = 2 (ell + log(5\\/4)) k v^2$ the "
            "rows' part is the least over $alpha = 1 + w ell$ of $phi + (ell - log alpha)\\/(alpha - 1) + log(1 - "
            "1\\/alpha)$, where $phi = k\\/(2 (alpha - 1)) sum_j (alpha^j - alpha) v^j\\/j >= k alpha v^2\\/4$; with "
            "$y = 1\\/ell$, $x = y\\/w$ it is at least $epsilon_t^2 (y + w)\\/(8 (1 + y log(5\\/4))) + 1\\/w - (1 + x) "
            "log(1 + x) + x log x$, where $-x log x <= 2\\/e sqrt(x)$ and $x log(1 + 1\\/x) <= 1$. At $epsilon_t = "
            "6.1$ that is at least $10 - 6.1$: certified for $1\\/8 <= w <= 2$; for smaller $w$ all but the first term "
            "is at least $1\\/w - 1 - log(1 + y\\/w)$, which falls in $w$ and is above 4 at $1\\/8$; for larger the "
            "first term is at least 7, and what is subtracted at most 2. It rises in $epsilon_t$, so $tilde(epsilon) "
            "<= 10$ has $epsilon_t <= 6.1$, where the test keeps $3\\/2$ times its share, $delta\\/2$ (second check, "
            "and beyond $s = 40$ by $R(x) <= 1\\/x$). The rest as in (a): $delta\\/2 + delta\\/3 + delta\\/6$.",
            lemmas=("privacy profile of the Gaussian mechanism", "union bound", "monotony", "basic composition"),
        ),
    ),
    given={"term": TEST_TERM, "classical": CLASSICAL, "reach": REACH, "spent": _spent(**SMALL_NOISE)},
)

# --- the two inequalities behind (18) ---


# k over log(4/delta) from which (18) is above (17) wherever it is at most MOST_SPENT. Not 3: there, as delta -> 0, (17)
# is above by a thousandth.
ROWS_NEEDED, MOST_SPENT = "3.2", 5


def _mean_power(m: Any, x: Any) -> Any:
    """(-log(1 - x) - x)/x²."""
    return (-m.log(1 - x) - x) / (x * x)


def _few_rows(m: Any, w: Any) -> tuple[Any, Any]:
    """u and s at w = v/u, v = 1/gamma, as long as v <= 2/5 at the most u, 1/sqrt(3.2)."""
    return 1 / m.sqrt(m.number(ROWS_NEEDED)), m.number("1.09") - m.number("0.4") * w + w * w / 2


def _least_gamma(m: Any, w: Any) -> tuple[Any, Any]:
    """u and s at v = 2/5."""
    return m.number("2/5") / w, m.number("0.63") + m.number("0.62") * w


def _rows_and_test(m: Any, w: Any, u: Any, s: Any, most: Any) -> Any:
    """(17) without its test, over k u v, at the order 1 + b/w, b = s (1 - v); the gain of the order's logarithms, with
    log(1 + b/(w + e^-6)) for log(1 + b/w), no more than makes them 0.
    """
    v = w * u
    b = s * (1 - v)
    gain = m.log(m.number("5/4")) + m.log(1 + b / (w + m.exp(m.number(-6)))) + 1 - w / (2 * b)
    saved = m.minimum(m.number(1), (w * w / 2 + 2 * m.sqrt(m.number(2)) * w) / most * gain)
    return s * _mean_power(m, s * u) / (2 * (1 - v)) + w / (2 * (1 - v)) + (1 - saved) / b


def _rest_of_18(m: Any, w: Any, u: Any) -> Any:
    """(18) less the test, over k u v, and what phi has less; four terms of a series."""
    v = w * u
    return w / 2 + m.sqrt(m.number(2)) + w / 2 * (m.number("1/2") + v / 3 + v * v / 4 + v * v * v / 5)


def _fits(values: Any, low: float, high: float) -> Inequality:
    """On w from `low` to `high`, with u and s there."""

    def smaller(m: Any, w: Any, most: int = MOST_SPENT) -> Any:
        u, s = values(m, w)
        return _rows_and_test(m, w, u, s, most)

    return Inequality(
        smaller=smaller,
        larger=lambda m, w: _rest_of_18(m, w, values(m, w)[0]),
        box={"w": Real(low, high)},
        impostors={"up to 8": {"smaller": {"most": 8}}},
    )


ROWS_FIT = (_fits(_few_rows, 0.0, 0.7156), _fits(_least_gamma, 0.7155, 1.1))
FITS = (
    "Let $u^2 = ell\\/k <= 1\\/3.2$, $v = 1\\/gamma < 2\\/5$, $w = v\\/u$, and $b = s (1 - v)$ with $s$ a function of "
    "$w$, about 1. At the order $alpha = 1 + b\\/w < gamma$, with $M(x) = (-log(1 - x) - x)\\/x^2$, the rows' part is "
    "$k u v$ times $s M(s u)\\/(2 (1 - v)) + w\\/(2 (1 - v)) - w M(v)\\/2 + (1 - G\\/ell)\\/b$, where $G >= "
    "log(5\\/4) + log(1 + b\\/w) + 1 - w\\/(2 b)$ is what the logarithms of $alpha$, and that of the share of "
    "$delta$, save; the bound less the test's $k u v sqrt(2)$ is $k u v (w\\/2 + sqrt(2))$. It is at most 5 where "
    "$ell (w^2\\/2 + 2 sqrt(2) w) <= 5$, so $w <= 1.1$ by $ell >= log 4$, and $1\\/ell$ may be put for its least "
    "value. As $M(v) = sum_j v^j\\/(j + 2)$, the excess falls as $u$ grows with $w$ and $s$ fixed, so it is enough at "
    "the largest $u$, $1\\/sqrt(3.2)$ or $2\\/(5 w)$: one inequality in $w$ each. "
)

# --- (18) ---


def _printed(gamma: float, k: float, delta: float) -> float:
    return float(sketch.printed_epsilon(FLOATS, gamma, k, math.log(4 / delta)))


def _rows_alone(gamma: float, k: float, delta: float) -> tuple[float, float]:
    """delta at (18) over delta, of k rows on data with lambda_min = 0, where the released eigenvalue is 0 for large tau
    and a unit record has leverage 1/(1 + gamma).
    """
    exact = sketch.exact_log_delta(_printed(gamma, k, delta), int(k), 1 / (1 + gamma))
    return math.exp(min(exact - math.log(delta), 700.0)), 1.0


def _against_17(gamma: float, ratio: float, delta: float, least: float = float(ROWS_NEEDED)) -> tuple[float, float]:
    """(17) against (18), k = `least` * ratio * log(4/delta) or more, where (18) is at most MOST_SPENT."""
    k = math.ceil(least * ratio * math.log(4 / delta))
    printed = _printed(gamma, k, delta)
    return (float(sketch.epsilon(gamma, k, delta)), printed) if printed <= MOST_SPENT else (0.0, 1.0)


EQ_18 = Claim(
    id="ols/eq18",
    where="(18)",
    equation="(18)",
    kind="privacy",
    statement=(
        "With $eta = gamma\\/sqrt(k)$ Algorithm 3 is $(epsilon, delta)$-DP with $epsilon <= k\\/(2 gamma^2) + 2 sqrt(2 "
        "k log(4\\/delta))\\/gamma$."
    ),
    hypotheses="As Proposition 5: $k >= 1$, $gamma > 5\\/2$.",
    checks=(
        Search(
            sides=_rows_alone,
            box={"gamma": GAMMAS, "k": ROWS, "delta": DELTAS},
            extremal=lambda: [{"gamma": 10.0, "k": 1.0, "delta": 1e-10}],
            evaluations=200,
            closed=True,
        ),
    ),
    fault=Fault(
        severity="hypothesis",
        touches="statement",
        finding=(
            "(18) is stated for every $k >= 1$; a sketch's privacy loss has a $chi^2_k$ tail, which few rows leave far "
            "from Gaussian: at $k = {k}$, $gamma = {gamma}$, $delta = {delta}$ the $delta$ that the sketch needs at "
            "the $epsilon$ of (18) is ${smaller}$ times that, and (17) lies above (18) up to $k approx 2 "
            "log(4\\/delta)$."
        ),
        consequence=(
            "Parameters taken from (18) with few rows, as Theorem 1 offers for any $k, T$, are not covered by it; for "
            "$k >= {needed} log(4\\/delta)$ (18) stands. At $k = 3 log(4\\/delta)$ it does not follow from (17) as "
            "$delta -> 0$."
        ),
    ),
    correction=Correction(
        statement=(
            "With $eta = gamma\\/sqrt(k)$, $k >= {needed} log(4\\/delta)$ and a right side of at most 5, Algorithm 3 "
            "is $(epsilon, delta)$-DP with $epsilon <= k\\/(2 gamma^2) + 2 sqrt(2 k log(4\\/delta))\\/gamma$: that is "
            "at least (17)."
        ),
        ground="(17) at one order is compared, from $k = {needed} log(4\\/delta)$ on.",
        checks=(
            CLASSICAL_TEST,
            *ROWS_FIT,
            Search(
                sides=_against_17,
                box={"gamma": GAMMAS, "ratio": Real(1.0, 100.0, "log"), "delta": Real(1e-50, 0.5, "log")},
                evaluations=800,
                impostors={
                    "k from log(4/delta) on": {"sides": {"least": 1.0}},
                    "10 % less": {"sides": Times(1, 0.9)},
                },
                role="control",
            ),
        ),
        derivation=Derivation(
            text=FITS
            + "Here $ell = log(4\\/delta)$: the test's term of (17) is at most $sqrt(2 k ell)\\/gamma = k u v "
            "sqrt(2)$, and $log(3\\/delta) <= ell - log(5\\/4)$. So (17) is at most (18). " + TEST + "Here $delta' = "
            "delta\\/3$ and $epsilon_t$ is at most half of 5. " + OTHERS,
            lemmas=("privacy profile of the Gaussian mechanism", "union bound", "monotony"),
        ),
    ),
    given={"needed": ROWS_NEEDED},
)
