"""Section 3: sub-Gaussian norms, local privacy, the Gaussian mechanism, the model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import gammaln, log_ndtr

from dpbounds.glm import privacy
from dpbounds.privacy import gaussian_delta
from verify.checks import Agreement, Fact, Inequality, Search, Within
from verify.checks.domains import Real
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

# --- Definition 1: the sub-Gaussian norm ---

ORDERS = np.concatenate([np.linspace(1.0, 4.0, 61), np.arange(5.0, 201.0)])


def _absolute_moments() -> dict[str, np.ndarray]:
    """(E |x|^m)^{1/m} over `ORDERS` for laws of variance 1."""
    normal = (ORDERS / 2 * math.log(2) + gammaln((ORDERS + 1) / 2) - 0.5 * math.log(math.pi)) / ORDERS
    share, far = 0.1, 3.0  # +-3 with probability 1/10, variance 0.9
    rare = np.log(share * far**ORDERS) / ORDERS
    return {
        "normal": np.exp(normal),
        "sign": np.ones_like(ORDERS),
        "uniform": math.sqrt(3.0) * np.exp(-np.log1p(ORDERS) / ORDERS),
        "rare": np.exp(rare),
    }


def _norms(*, power: float = -0.5) -> Iterator[Fact | Within]:
    """Suprema by the definition against their values: at m = 1 for laws that spread little."""
    roots = {name: moments * ORDERS**power for name, moments in _absolute_moments().items()}
    yield Fact("norm of a sign", roots["sign"].max(), 1.0)
    yield Fact("norm of N(0, 1)", roots["normal"].max(), math.sqrt(2 / math.pi))
    yield Fact("norm of a uniform variable", roots["uniform"].max(), math.sqrt(3.0) / 2)
    for name, moments in _absolute_moments().items():
        bound = np.sqrt(ORDERS) * roots[name].max()
        yield Within(
            f"largest of (E |v|^k)^(1/k) over sqrt(k) kappa, {name} law", (moments / bound).max(), 0.0, 1 + 1e-12
        )
    yield Fact(
        "real and whole orders give one norm",
        [roots[n].max() for n in roots],
        [roots[n][ORDERS % 1 == 0].max() for n in roots],
    )


DEF_1 = Claim(
    id="glm/def-1",
    where="Definition 1",
    kind="number",
    statement=(
        r"$norm(x)_psi_2 = sup_(m >= 1) m^(-1\/2) (bb(E) abs(x)^m)^(1\/m)$, for vectors the supremum over unit "
        "projections."
    ),
    equation="Definition 1",
    setting="Normal, sign, uniform and a rare two-point law, orders up to 200; real and whole orders agree on them.",
    checks=(
        Agreement(facts=lambda rng, **changed: _norms(**changed), impostors={"m^(-0.4)": {"facts": {"power": -0.4}}}),
    ),
)

# --- Definitions 2 and 3: the divergence behind (epsilon, delta) ---


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """sup over events of P(E) - e^epsilon Q(E) for two finite laws."""
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def _best_event(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """The same over all 2^k events."""
    events = (np.arange(2 ** len(p))[:, None] >> np.arange(len(p))) & 1
    return float((events @ (p - math.exp(epsilon) * q)).max())


def _divergences(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Fact]:
    for _ in range(4):
        p, q = rng.dirichlet(np.ones(7), 2)
        epsilon = float(rng.uniform(0.0, 1.0))
        yield Fact(
            f"best event at epsilon = {epsilon:.3f}", hockey_stick(p, q, factor * epsilon), _best_event(p, q, epsilon)
        )
    grid = np.linspace(-12.0, 13.0, 2_000_001)
    density = np.exp(-0.5 * grid**2) / math.sqrt(2 * math.pi) * (grid[1] - grid[0])
    for mu, epsilon in ((1.0, 0.5), (0.3, 1.0)):
        moved = density * np.exp(mu * grid - mu * mu / 2)
        yield Fact(
            f"normal pair, mu = {mu}",
            hockey_stick(moved, density, epsilon),
            float(gaussian_delta(mu, factor * epsilon)),
            1e-6,
        )


DEF_2 = Claim(
    id="glm/def-2",
    where="Definitions 2 and 3",
    kind="privacy",
    statement=(
        "$(epsilon, delta)$-privacy: $P(Q(D) in E) <= e^epsilon P(Q(D') in E) + delta$ for all events $E$, local: all "
        "pairs of records, non-interactive: one round."
    ),
    equation="Definitions 2 and 3",
    setting="Finite laws over all events, normal pairs on a grid: the exact divergence that this paper's claims use.",
    checks=(Agreement(facts=_divergences, impostors={"epsilon 1 % off": {"facts": {"factor": 1.01}}}),),
)

# --- Lemma 4: the Gaussian mechanism ---


def _classical(delta: np.ndarray, epsilon: np.ndarray, *, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """(log of the exact delta of sigma = sqrt(2 ln(1.25 / delta)) / epsilon, log delta)."""
    mu = epsilon / (noise * np.sqrt(2.0 * np.log(1.25 / delta)))
    first, second = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    return np.exp(first + np.log1p(-np.exp(second - first))) / delta, np.ones_like(delta)


def _ranges(*, factor: float = 1.0) -> Iterator[Within]:
    """Where the lemma stops to hold, by the divergence from another formula."""
    for delta in (1e-2, 1e-5, 1e-6, 1e-12):
        end = factor * float(privacy.classical_range(delta))
        inside, outside = (
            _classical(np.array([delta]), np.array([share * end]))[0][0] for share in (1 - 1e-6, 1 + 1e-6)
        )
        yield Within(f"exact delta just inside the range, over {delta:g}", inside, 0.0, 1.0)
        yield Within(f"exact delta just outside the range, over {delta:g}", outside, 1.0)
        numbers = {f"end_{-math.log10(delta):.0f}": end}
        yield Within(f"end of the range, which contains (0, 1], at delta = {delta:g}", end, 1.0, numbers=numbers)


def _classical_ratio(m: Any, s: Any, epsilon: Any, noise: float = 1.0) -> Any:
    """A bound on sqrt(2 pi) e^(s²/2) times delta at epsilon of mu = epsilon/t, t = `noise` s: e^(s²/2 - t²/2) times
    e^(epsilon/2) R(t - epsilon/(2 t)), R the normal tail over its density.
    """
    t = noise * s
    return m.exp(((1 - noise * noise) * s * s + epsilon) / 2) * m.mills(t - epsilon / (2 * t))


# s² = 2 log(1.25/delta), delta at most 1/2.
CLASSICAL = Inequality(
    smaller=_classical_ratio,
    larger=lambda m, s, epsilon: m.number("5/4") * m.sqrt(2 * m.pi) + 0 * s,
    box={"s": Real(1.353, 40.0, "log"), "epsilon": Real(0.0, 1.0)},
    impostors={"without the factor sqrt(2)": {"smaller": {"noise": 1 / math.sqrt(2.0)}}},
)
CLASSICAL_TEXT = (
    "The noise has $mu <= epsilon\\/s$, $s = sqrt(2 log(1.25\\/delta)) >= 1.353$ for $delta <= 1\\/2$; with the ratio "
    "$M$ of the normal tail to its density $delta$ at $epsilon$, which grows with $mu$, is $e^(-s^2\\/2)\\/sqrt(2 pi) "
    "dot e^(epsilon\\/2 - mu^2\\/8) (M(s - mu\\/2) - M(s + mu\\/2))$ at $mu = epsilon\\/s$, at most "
    "$e^(-s^2\\/2)\\/sqrt(2 pi) dot e^(epsilon\\/2) M(s - epsilon\\/(2 s)) <= 1.25 e^(-s^2\\/2)$ for $epsilon <= 1$: "
    "certified up to $s = 40$, and beyond as $M$ falls."
)

LEM_4 = Claim(
    id="glm/lem-4",
    where="Lemma 4",
    kind="privacy",
    statement=(
        "Gaussian noise with $sigma >= sqrt(2 ln(1.25\\/delta)) Delta_2 \\/ epsilon$ gives $(epsilon, delta)$-privacy."
    ),
    equation="Lemma 4",
    setting="$epsilon$ up to 100, $delta$ from $10^(-12)$ to 1/2; exact divergence of two normal laws.",
    fault=Fault(
        severity="hypothesis",
        touches="statement",
        finding=(
            "Lemma 4 states no range of $epsilon$; at $epsilon = {epsilon}$, $delta = {delta}$ the noise it names "
            "gives $delta = {smaller:3} dot {delta}$ at best."
        ),
        consequence=(
            "Theorems 7, 13, 22 and 25 assume $epsilon < 1$ and use it where it holds; the experiments run at "
            "larger $epsilon$, where the lemma fails for one release, but not the algorithms' joint noise, which "
            "wastes more than it lacks."
        ),
    ),
    correction=Correction(
        statement=(
            (
                r"For $epsilon <= 1$ and $delta <= 1\/2$, Gaussian noise with $sigma >= sqrt(2 ln(1.25\/delta)) "
                "Delta_2 "
                r"\/ epsilon$ gives $(epsilon, delta)$-privacy;"
            ),
            (
                "the range ends at $epsilon = {end_2:3}$, ${end_5:3}$, ${end_6:3}$ for $delta = 10^(-2)$, $10^(-5)$, "
                "$10^(-6)$."
            ),
        ),
        ground="The exact divergence of two normal laws.",
        checks=(
            CLASSICAL.deciding("a"),
            Search(
                decides="a",
                sides=_classical,
                box={"delta": Real(1e-12, 0.5, "log"), "epsilon": Real(1e-3, 1.0, "log")},
                vectorised=True,
                impostors={"without the factor sqrt(2)": {"sides": {"noise": 1 / math.sqrt(2.0)}}},
                role="control",
            ),
            Agreement(
                decides="b",
                facts=lambda rng, **changed: _ranges(**changed),
                impostors={"ranges 1 % off": {"facts": {"factor": 1.01}}},
            ),
        ),
        derivation=Derivation(
            text="(a) " + CLASSICAL_TEXT, lemmas=("monotony", "privacy profile of the Gaussian mechanism")
        ),
    ),
    checks=(
        Search(
            sides=_classical,
            box={"delta": Real(1e-12, 0.5, "log"), "epsilon": Real(1e-3, 100.0, "log")},
            extremal=lambda: ({"delta": 1e-5, "epsilon": 10.0},),
            vectorised=True,
            closed=True,
        ),
    ),
)
