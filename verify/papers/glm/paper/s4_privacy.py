"""Privacy of the messages of Algorithms 1 to 4: Theorems 7, 13, the first parts of 22 and 25, Appendix B."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import norm

from dpbounds.glm import privacy
from dpbounds.privacy import gaussian_delta
from simulators.glm import Settings, bounded
from verify.checks import Agreement, Fact, Inequality, Search, Within
from verify.checks.domains import Real
from verify.papers.glm.paper.s4_noise import SHIFT, sensitivities, shift, within_bounds
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

# --- every record within the bounds, every budget ---


def _share_of_delta(m: Any, epsilon: Any, l: Any, variance: float = 32.0) -> Any:
    """e^(epsilon/2 - v l/9 + l) M(0), v = `variance` the factor of log(2.5/delta) = l in both variances."""
    return m.exp(epsilon / 2 + l - variance * l / 9) * m.mills(m.number(0))


_ENOUGH = Inequality(
    smaller=_share_of_delta,
    larger=lambda m, epsilon, l: m.number("5/2") * m.sqrt(2 * m.pi) + 0 * l,
    box={"epsilon": Real(0.0, 1.0), "l": Real(0.916, 100.0)},
    impostors={"2 in place of 32": {"smaller": {"variance": 2.0}}},
)
_PROVED = Derivation(
    text=(
        "In units of the bounds ($norm(x), norm(x') <= 1$, $abs(y), abs(y') <= 1$) the upper triangle of $x x^top - x' "
        "x'^top$ has at most the Frobenius norm, whose square, seen in the plane of $x$ and $x'$, is $norm(x)^4 + "
        "norm(x')^4 - 2 c^2 <= 2 - 2 c^2$, $c = abs(x^top x')$, and $norm(x y - x' y')^2 <= 2 + 2 c$: together at most "
        "$9\\/2$. With $l = "
        "log(2.5\\/delta)$ the message has $mu^2 <= 9 epsilon^2\\/(64 l)$; with $s = epsilon\\/mu$ and the ratio $M$ "
        "of the normal tail to its density its $delta$ at $epsilon$ is $e^(-s^2\\/2)\\/sqrt(2 pi) dot "
        "e^(epsilon\\/2 - mu^2\\/8) (M(s - mu\\/2) - M(s + mu\\/2))$, which grows with $mu$. As $s^2 = 64 l\\/9 >= "
        "epsilon\\/2$ the arguments are positive, where $M <= M(0)$, and it is at most $e^(epsilon\\/2 - 32 l\\/9) "
        "M(0)\\/sqrt(2 pi) <= 2.5 e^(-l) = delta$: certified up to $l = 100$, and beyond as the left side falls with "
        "$l$. In the $ell_1$ ball $norm(x) <= norm(x)_1$."
    ),
    lemmas=("Cauchy-Schwarz", "monotony", "privacy profile of the Gaussian mechanism"),
)

# --- the least noise ---


def _tight(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Fact]:
    """The least noise: (epsilon, delta) is met exactly, by a formula for the divergence that shares nothing."""
    for epsilon, delta, gram in ((1.0, 1e-5, True), (10.0, 1e-6, True), (0.5, 1e-3, False)):
        scales = privacy.noise_scales(
            epsilon,
            delta,
            radius=2.0,
            label_bound=3.0,
            calibration="tight",
            release_gram=gram,
            ratio=0.8 if gram else 1.0,
        )
        a1, a2 = scales.gram / 4.0, scales.cross / 6.0
        squared = 2 / a1**2 + 2 / a2**2 + a1**2 / (2 * a2**4) if gram else 4 / a2**2
        mu = factor * math.sqrt(squared)
        exact = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
        yield Fact(f"delta at epsilon = {epsilon:g}", exact, delta, 1e-6)
        if gram:
            yield Fact("ratio of the two noises", a1 / a2, 0.8)


# --- what the statements allow: records outside the radius, labels without bound ---


def refused(size: float) -> bool:
    """Whether Algorithm 1 as it is simulated leaves out a record of this norm, radius 1: its message is "outside"."""
    sent, _ = bounded(size * np.eye(2)[:1], np.zeros(1), Settings(beyond="refuse", radius=1.0))
    return len(sent) == 0


def _refused(rng: np.random.Generator) -> Iterator[Fact]:
    """The event "outside" has probability 0 or 1 for a record: the divergence of a pair that it tells apart."""
    stated = float(privacy.exact_delta(1.0, 1.0, 1.0, radius=1.0, accepts="any"))
    for inside, outside in ((0.5, 1.5), (0.99, 1.01)):
        delta = float(refused(outside)) - math.e * float(refused(inside))
        yield Fact(f"records of norms {inside:g} R and {outside:g} R", delta, stated)


def _refusal_costs(epsilon: float, size: float) -> tuple[float, float]:
    """(delta at this epsilon of the pair (size R, R / 2), 1e-3): 1 if the first is refused."""
    scales = privacy.noise_scales(epsilon, 1e-3, radius=1.0)
    if refused(size):
        return float(refused(size)) - math.exp(epsilon) * float(refused(0.5)), 1e-3
    mu = shift((np.array([size, 0.0]), 1.0), (np.array([0.5, 0.0]), -1.0), scales.gram, scales.cross)
    return float(gaussian_delta(mu, epsilon)), 1e-3


def _clipped_records(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Within]:
    """Clipped to the radius and the label bound, no pair of records of any size exceeds the release's mu."""
    for p, gram, cross in ((1, 0.7, 1.0), (3, 1.0, 1.0), (5, 0.5, 0.8)):
        mu = float(privacy.release_mu(gram, cross, radius=1.0, p=p))
        worst = 0.0
        for _ in range(300):
            pair = []
            for _ in range(2):
                x, y = (
                    rng.standard_normal(p) * 10.0 ** rng.uniform(-1, 2),
                    rng.standard_normal() * 10.0 ** rng.uniform(-1, 2),
                )
                pair.append((factor * x * min(1.0, 1.0 / float(np.linalg.norm(x))), float(np.clip(y, -1.0, 1.0))))
            worst = max(worst, shift(pair[0], pair[1], gram, cross))
        yield Within(f"largest shift of clipped records over mu, p = {p}", worst / mu, 0.0, 1 + 1e-9)


_CLIPPED = (
    "With $x$ scaled down to norm $R$ where it is longer, and $y$ clipped to the bound that the noise is made for, the "
    "algorithm is $(epsilon, delta)$-NLDP for all $0 < epsilon, delta < 1$, for every record."
)
_CLIP_CHECKS = (
    SHIFT,
    _ENOUGH,
    Agreement(facts=_clipped_records, impostors={"clipped at 1.5 R": {"facts": {"factor": 1.5}}}, role="control"),
    Search(
        sides=within_bounds,
        box={"epsilon": Real(0.01, 1.0, "log"), "delta": Real(1e-12, 0.99, "log")},
        evaluations=200,
        impostors={"2 in place of 32": {"sides": {"variance": 2.0}}},
        role="control",
    ),
)

THM_7 = Claim(
    id="glm/thm-7",
    where="Theorem 7",
    kind="privacy",
    statement="Algorithm 1 is $(epsilon, delta)$-NLDP for all $0 < epsilon, delta < 1$.",
    equation="Theorem 7",
    setting="All pairs of records that the algorithm accepts, as Definition 3 has it: $x$ in $bb(R)^p$.",
    fault=Fault(
        severity="substantive",
        touches="statement",
        finding=(
            'A user whose $norm(x)_2$ exceeds $R$ sends the message "outside" and nobody else does: for the pair of '
            "records of norms ${size} R$ and $R\\/2$ the least $delta$ is $1$ at every $epsilon$, stated is less."
        ),
        consequence=(
            "Local privacy is about all pairs of records, so Theorem 7 and the first part of Theorem 22 fail for every "
            "$delta < 1$; for records within the radius they hold with room to spare, and clipping repairs both at no "
            "cost in accuracy."
        ),
    ),
    correction=Correction(
        statement=_CLIPPED,
        ground="Clipped records obey the bounds that the noise is calibrated to.",
        checks=_CLIP_CHECKS,
        derivation=_PROVED,
    ),
    checks=(
        Search(
            sides=_refusal_costs,
            box={"epsilon": Real(0.01, 1.0, "log"), "size": Real(0.0, 3.0)},
            extremal=lambda: ({"epsilon": 0.5, "size": 1.5},),
            evaluations=200,
            closed=True,
        ),
        Agreement(facts=_refused),
    ),
)

THM_13 = Claim(
    id="glm/thm-13",
    where="Theorem 13",
    kind="privacy",
    statement="Algorithm 2 is $(epsilon, delta)$-NLDP for $0 < epsilon, delta < 1$.",
    hypotheses="Every record has $norm(x)_1 <= r$, $abs(y) <= 1$",
    equation="Theorem 13",
    remark=r"In the $ell_1$ ball opposite records are the worst pair: $mu = epsilon\/sqrt(8 log(5\/(2 delta)))$.",
    checks=(
        SHIFT,
        _ENOUGH,
        Search(
            sides=lambda epsilon, delta, **changed: within_bounds(epsilon, delta, inputs="l1", **changed),
            box={"epsilon": Real(0.02, 1.0, "log"), "delta": Real(1e-12, 0.999, "log")},
            evaluations=400,
            impostors={"2 in place of 32": {"sides": {"variance": 2.0}}},
            role="control",
        ),
        Agreement(facts=sensitivities, impostors={"mu 1 % off": {"facts": {"factor": 1.01}}}, role="control"),
        Agreement(facts=_tight, impostors={"mu 1 % off": {"facts": {"factor": 1.01}}}, role="control"),
    ),
    derivation=_PROVED,
)


def _unbounded_labels(epsilon: float, label: float) -> tuple[float, float]:
    """(delta of the pair y = label, y = 0 at x = R e_1 with noise for labels to 1, 1e-3)."""
    scales = privacy.noise_scales(epsilon, 1e-3, radius=1.0, label_bound=1.0)
    mu = shift((np.eye(2)[0], label), (np.eye(2)[0], 0.0), scales.gram, scales.cross)
    return float(gaussian_delta(mu, epsilon)), 1e-3


_LABELS = Search(
    sides=_unbounded_labels,
    box={"epsilon": Real(0.01, 1.0, "log"), "label": Real(0.01, 100.0)},
    extremal=lambda: ({"epsilon": 0.5, "label": 100.0},),
    evaluations=200,
    closed=True,
)

THM_22_PRIV = Claim(
    id="glm/thm-22-priv",
    where="Theorem 22, first part",
    kind="privacy",
    statement="Algorithm 3 is $(epsilon, delta)$-NLDP for all $0 < epsilon, delta < 1$.",
    equation="Theorem 22",
    setting="Records $(x, y)$ in $bb(R)^p times bb(R)$, as the algorithm takes them; labels in units of its bound.",
    fault=Fault(
        severity="substantive",
        touches="statement",
        finding=(
            "Algorithm 3 takes $y$ in $bb(R)$ and adds noise for $abs(y) <= L R + abs(f(0)) + C = B$: the records $(x, "
            "{label} B)$ and $(x, 0)$ have $delta = {smaller:3}$ at $epsilon = {epsilon}$ with the noise for $delta = "
            "{larger}$."
        ),
        consequence=(
            "The bound on $abs(y)$ comes from model (10), which a user need not obey; as in Theorem 7 the message "
            '"outside" alone gives $delta = 1$. With both clipped the statement holds.'
        ),
        root="glm/thm-7",
    ),
    correction=Correction(statement=_CLIPPED, ground="As for Theorem 7.", checks=_CLIP_CHECKS, derivation=_PROVED),
    checks=(_LABELS,),
)

THM_25_PRIV = Claim(
    id="glm/thm-25-priv",
    where="Theorem 25, first part; Appendix B",
    kind="privacy",
    statement=(
        "Algorithm 4 is $(epsilon, delta)$-NLDP for $0 < epsilon, delta < 1$, because $norm(x_i y_i) <= norm(x_i) (L "
        "norm(x_i) + abs(f(0)) + C)$."
    ),
    hypotheses="$norm(x)_1 <= r$",
    equation="Theorem 25",
    fault=Fault(
        severity="substantive",
        touches="statement",
        finding=(
            "Algorithm 4 takes $y$ in $bb(R)$; the bound on $abs(y)$ that its noise is made for holds for data from "
            "model (10) only: the records $(x, {label} B)$ and $(x, 0)$ have $delta = {smaller:3}$ at $epsilon = "
            "{epsilon}$ with the noise for $delta = {larger}$."
        ),
        consequence=(
            "Local privacy must not rest on the model; with $y$ clipped to $L r + abs(f(0)) + C$ the theorem holds."
        ),
    ),
    correction=Correction(
        statement=(
            "With $y$ clipped to $plus.minus (L r + abs(f(0)) + C)$, Algorithm 4 is $(epsilon, delta)$-NLDP for $0 < "
            "epsilon, delta < 1$."
        ),
        ground="$norm(x) <= norm(x)_1 <= r$ and clipped labels obey the bounds that the noise is calibrated to.",
        checks=_CLIP_CHECKS,
        derivation=_PROVED,
    ),
    checks=(_LABELS,),
)

APPB = Claim(
    id="glm/appb",
    where="Appendix B",
    kind="privacy",
    statement=(
        "Privacy of Algorithms 1 and 2 follows from the Gaussian mechanism and composition;",
        "of Algorithm 4 also from the bound on $norm(x_i y_i)$.",
    ),
    equation="Appendix B",
    fault=Fault(
        severity="substantive",
        touches="proof",
        finding=(
            'The proof covers the two noisy messages of records within the bounds, not the message "outside" of '
            "Algorithm 1: records of norms ${size} R$ and $R\\/2$ are told apart with certainty. The bound on "
            "$norm(x_i y_i)$ is one of the model (10), not of Algorithm 4, which takes every $y$."
        ),
        consequence="Algorithm 2 is covered; 1, 3 and 4 need clipping.",
        root="glm/thm-7",
        exhibit=0,
    ),
    correction=Correction(
        statement=(
            "For records clipped to the bounds, privacy of Algorithms 1 to 4 follows from the Gaussian mechanism and "
            "composition."
        ),
        ground="As for Theorem 7.",
        checks=_CLIP_CHECKS,
        derivation=_PROVED,
    ),
    checks=(THM_7.checks[0].deciding("a"), _LABELS.deciding("b")),
)
