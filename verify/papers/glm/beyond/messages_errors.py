"""Beyond the paper: the error of the estimate from direction messages, against runs; when there is an estimate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import interpolate, optimize, stats

from dpbounds.glm import LINKS, messages, sign_design
from simulators.engine import Streams
from simulators.glm import GaussianModel, InterceptModel, MessageSettings, TwoPointModel, estimate_from_messages
from simulators.glm import messages as sending
from simulators.glm.models import second_moments
from simulators.glm.survey import LocalGLM
from verify.checks import Agreement, Fact, Holds, Times, Within
from verify.papers.glm.tools.records import streams
from verify.statements.claims import Claim

# --- errors by term, against runs ---

WIDE = np.array([[1.0, 0.3, 0.0], [0.3, 0.5, 0.1], [0.0, 0.1, 0.1]])
# link, Sigma (p for I), |Sigma^1/2 w|, n, m, epsilon, noise; delta = 1e-6 where noise is Gaussian. Most of the error is
# noise, and in the last rows that of public records, and sampling.
SETTINGS: tuple[tuple[str, Any, float, int, int, float, str], ...] = (
    ("logistic", 1, 1.0, 10**5, 1000, 1.0, "gaussian"),
    ("logistic", 2, 1.0, 10**5, 2000, 2.0, "cap"),
    ("logistic", 5, 1.0, 10**5, 2000, 4.0, "gaussian"),
    ("logistic", 5, 1.0, 10**5, 2000, 2.0, "cap"),
    ("logistic", 10, 1.0, 10**6, 2000, 2.0, "gaussian"),
    ("logistic", 10, 1.0, 10**5, 2000, 4.0, "hemisphere"),
    ("logistic", 5, 2.0, 10**6, 2000, 2.0, "gaussian"),
    ("logistic", WIDE, 1.0, 10**6, 2000, 2.0, "gaussian"),
    ("boosting", 2, 1.0, 10**5, 2000, 1.0, "hemisphere"),
    ("boosting", WIDE, 0.7, 10**6, 2000, 2.0, "cap"),
    ("sigmoid", 3, 1.0, 10**5, 2000, 2.0, "gaussian"),
    ("poisson", 1, 1.0, 10**5, 1000, 1.0, "hemisphere"),
    ("poisson", 2, 1.0, 10**5, 2000, 2.0, "gaussian"),
    ("poisson", 5, 1.0, 10**5, 2000, 4.0, "gaussian"),
    ("poisson", WIDE, 0.6, 10**6, 2000, 1.0, "cap"),
    ("logistic", 3, 1.0, 10**7, 1000, 8.0, "cap"),
    ("logistic", 3, 1.0, 3000, 4000, 50.0, "gaussian"),
    ("poisson", 3, 0.8, 3000, 4000, 50.0, "gaussian"),
)
RUNS, LEAST, MOST, CHANCE = 60, 0.95, 1.07, 6.0
# Sources, and how far each is from what it is taken for in an impostor.
SOURCES = ("sampling", "noise", "public")


def setting_of(row: tuple[str, Any, float, int, int, float, str]) -> tuple[GaussianModel, MessageSettings]:
    """The model and the messages of a row."""
    link, shape, size, n, m, epsilon, noise = row
    covariance = np.eye(shape) if isinstance(shape, int) else shape
    w = np.arange(1.0, 1.0 + len(covariance)) * np.where(np.arange(len(covariance)) % 2, -1.0, 1.0)
    w *= size / math.sqrt(float(w @ covariance @ w))
    model = GaussianModel(link=LINKS[link], w=w, covariance=covariance, n=n, m=m)
    delta = 1e-6 if noise == "gaussian" else None
    return model, MessageSettings(noise=noise, epsilon=epsilon, delta=delta)  # type: ignore[arg-type]


def formula(model: GaussianModel, settings: MessageSettings) -> messages.MessageError:
    """The error to leading order."""
    return messages.error(
        model.link, model.w, model.covariance, n=model.n, m=model.m, epsilon=settings.epsilon, delta=settings.delta,
        noise=settings.noise,
    )  # fmt: skip


def _runs(rng: np.random.Generator, **wrong: float) -> Iterator[Fact | Within]:
    """Mean squared error over the formula, by runs less what is linear in the means, whose own mean is the formula's.

    That leaves the spread of the remainder alone, a few times smaller than that of the squares; `wrong` are factors of
    the formula's sources.
    """
    for row in SETTINGS:
        model, settings = setting_of(row)
        stated = formula(model, settings)
        parts = {name: getattr(stated, name) for name in SOURCES}
        total = sum(wrong.get(name, 1.0) * part for name, part in parts.items())
        ratios = remainders(model, settings, streams(int(rng.integers(2**31))), RUNS) / total + stated.total / total
        link, shape, _, n, m, epsilon, noise = row
        p = shape if isinstance(shape, int) else len(shape)
        label = f"{link}, p = {p}, n = {n}, m = {m}, epsilon = {epsilon:g}, {noise}"
        reach = CHANCE * float(np.std(ratios)) / math.sqrt(RUNS)
        yield Within(f"{label}: mean error over the formula", float(np.mean(ratios)), LEAST - reach, MOST + reach)
        yield Within(f"{label}: the error", stated.total / float(model.w @ model.w), 0.0, 0.05)


def remainders(model: GaussianModel, settings: MessageSettings, own: Streams, trials: int) -> np.ndarray:
    """||w_hat - w*||^2 - ||l||^2 of runs in law, l = J^-1 (error of the mean message - error of the public mean)."""
    labels, a = messages.scored(model.link), messages.message_matrix(model.covariance)
    law = messages.message_law(model.link, model.w, model.covariance)
    root = np.linalg.cholesky(sending.mean_covariance(law, settings) / model.n)
    found = []
    for _ in range(trials):
        mean = law.first + root @ own.noise.standard_normal(model.p)
        public = model.rows(model.m, own.data)
        at_truth = labels.mean(public @ model.w) @ sending.directions(public, a) / model.m
        linear = law.back @ (mean - at_truth)
        w = messages.solve(mean, public, model.link, matrix=a).w
        found.append(float(np.sum((w - model.w) ** 2) - linear @ linear))
    return np.array(found)


def _by_record(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Within]:
    """Mean messages of 400 runs record by record: each entry's mean and the sum of the variances to 6 standard errors;
    an intercept and two-point records, for which the law is not known, to an error of a tenth.
    """
    pairs: tuple[tuple[str, messages.Noise], ...] = (
        ("logistic", "gaussian"),
        ("poisson", "hemisphere"),
        ("boosting", "cap"),
        ("sigmoid", "gaussian"),
    )
    for link, noise in pairs:
        model = GaussianModel(link=LINKS[link], w=np.array([0.5, -1.0, 1.0]), covariance=WIDE, n=300, m=20)
        settings = MessageSettings(
            noise=noise, epsilon=3.0, delta=1e-3 if noise == "gaussian" else None, by_record=True
        )
        # As they are: for some of many, so few public records give no answer.
        matrix = messages.message_matrix(second_moments(model), settings.rule)
        sent = np.array(list(sending._by_record(model, settings, matrix, streams(int(rng.integers(2**31))), 400)))
        law = messages.message_law(link, model.w, WIDE)
        spread = sending.mean_covariance(law, settings) / 300
        off = (sent.mean(axis=0) - law.first) / np.sqrt(np.diag(spread) / 400)
        yield Within(f"{link}, {noise}: mean message, in standard errors", float(np.abs(off).max()), 0.0, CHANCE)
        share = float(np.trace(np.cov(sent.T)) / np.trace(spread)) * factor
        yield Within(f"{link}, {noise}: its variance over that stated", share, 1 - 6 / 24, 1 + 6 / 24)
    settings = MessageSettings(noise="cap", epsilon=6.0, by_record=True)
    inner = GaussianModel(link=LINKS["logistic"], w=np.array([0.8, -0.5]), covariance=np.diag([1.0, 0.5]), n=9, m=9)
    others = {
        "intercept": InterceptModel(link=inner.link, w=np.array([0.7, 0.8, -0.5]), n=60_000, m=9000, inner=inner),
        "two-point records": TwoPointModel(
            link=LINKS["poisson"], w=np.ones(3), n=60_000, m=9000, design=sign_design(3)
        ),
    }
    for name, model in others.items():
        runs = estimate_from_messages(model, settings, streams(int(rng.integers(2**31))), 3)
        yield Within(f"{name}: relative error", float(runs["relative_l2"].mean()), 0.0, 0.1)


def _survey(rng: np.random.Generator) -> Iterator[Within]:
    """`LocalGLM`, from records to coefficients: within 6 times the predicted deviation."""
    x, public, w = rng.standard_normal((50_000, 2)), rng.standard_normal((5000, 2)), np.array([0.6, -0.4])
    y = rng.random(50_000) < LINKS["logistic"].mean(x @ w)
    own = LocalGLM(link="logistic", epsilon=3.0, seed=int(rng.integers(2**31)))
    found = own.fit(own.message(x, y), public).coef_
    stated = messages.error("logistic", w, np.eye(2), n=50_000, m=5000, epsilon=3.0, noise="cap", matrix=np.eye(2))
    yield Within(
        "survey: error over its predicted deviation",
        math.sqrt(float(np.sum((found - w) ** 2)) / stated.total),
        0.0,
        6.0,
    )


def _reference(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """p = 5, n = 10^6, epsilon = 2, delta = 10^-6, |w| = 1, m = 10^5, by the moments."""
    w, settings = np.full(5, 5**-0.5), {"n": 10**6, "m": 10**5, "epsilon": 2.0}
    moments = messages.moments("logistic", 5, 1.0)
    public = moments.over(moments.P1, moments.P2) / 10**5
    sampled = moments.over(moments.S1, moments.S2) / 10**6
    sigma = messages.gaussian_scale(2.0, 1e-6)
    found = messages.error("logistic", w, np.eye(5), delta=1e-6, **settings)
    yield Fact("Gaussian", found.total, sampled + sigma**2 * moments.unit / 10**6 + public, 1e-8)
    yield Fact("Gaussian, to two digits", found.total, 0.0037, 0.01)
    half = messages.hemisphere(5, 2.0).trace / 5 * moments.unit / 10**6
    found = messages.error("logistic", w, np.eye(5), noise="hemisphere", **settings)
    yield Fact("hemisphere", found.total, half - (moments.g1 / moments.J1) ** 2 / 10**6 + public, 1e-8)
    yield Fact("hemisphere, to one digit", found.total, 0.0005, 0.01)
    yield from _survey(rng)


def _forecasts(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Within]:
    """Medians of 150 runs over the forecast where the leading order is off by up to a third: 6 standard errors (each
    about .11 / sqrt p), beside 10 %.
    """
    for link, p, n, m, epsilon in (
        ("logistic", 5, 10**4, 2000, 2.0),
        ("logistic", 2, 3000, 2000, 2.0),
        ("poisson", 4, 10**4, 2000, 2.0),
    ):
        model, settings = setting_of((link, p, 1.0, n, m, epsilon, "gaussian"))
        expected = messages.forecast(link, model.w, np.eye(p), n=n, m=m, epsilon=epsilon, delta=1e-6)
        runs = estimate_from_messages(model, settings, streams(int(rng.integers(2**31))), 150)
        ratio = float(np.median(runs["relative_l2"])) / (factor * expected.median / float(model.w @ model.w))
        reach = 0.1 + 6 * 0.11 / math.sqrt(p)
        yield Within(f"{link}, p = {p}, n = {n}: median over forecast", ratio, 1 - reach, 1 + reach)
        yield Within(f"{link}, p = {p}, n = {n}: the excess", expected.excess, 0.0)
    spread = np.array([1.0, 0.3, 0.01])
    squares = np.sum(rng.standard_normal((100_000, 3)) ** 2 * spread, axis=1)
    ratio = messages.gaussian_median(spread) / float(np.median(squares))
    yield Within("median of a normal vector's square, over that of draws", ratio, 0.97, 1.03)


def _bend(rng: np.random.Generator, *, power: float = 1.0) -> Iterator[Within]:
    """The median over that of the leading order, by draws of a mean message with isotropic noise: its length gives that
    of w. 2 % are 8 standard errors.
    """
    lengths = np.concatenate([np.linspace(0.0, 3.0, 16), [3.5, 4.0, 5.0, 6.0, 8.0, 10.0]])
    for link, p, n in (("logistic", 2, 1500), ("poisson", 4, 4000)):
        w = np.eye(p)[0]
        found = messages.forecast(link, w, np.eye(p), n=n, m=10**12, epsilon=2.0, delta=1e-6)
        g = np.array([0.0, *(messages.moments(link, p, float(length)).g1 for length in lengths[1:])])
        curve, back = interpolate.CubicSpline(lengths, g), interpolate.PchipInterpolator(g, lengths)
        along, slope = float(curve(1.0)), float(curve(1.0, 1))
        tau = math.sqrt(found.leading / (1.0 / slope**2 + (p - 1) / along**2))
        noise = tau * rng.standard_normal((200_000, p))
        message = along * w + noise
        size = np.linalg.norm(message, axis=1)
        errors = np.sum((message * (back(np.minimum(size, g[-1])) / size)[:, None] - w) ** 2, axis=1)
        leading = np.sum((noise / np.where(w > 0, slope, along)) ** 2, axis=1)
        expected = found.median / messages.gaussian_median(np.linalg.eigvalsh(found.terms.covariance))
        ratio = float(np.median(errors) / np.median(leading)) / expected**power
        yield Within(f"{link}, p = {p}, n = {n}: what the bend adds to the median, over that", ratio, 0.98, 1.02)


BEYOND_MESSAGES_ERRORS = Claim(
    id="glm/beyond-messages-errors",
    where="beyond Theorems 8 and 22",
    kind="mc-equality",
    statement=(
        (
            '$bb(E) norm(hat(w) - w^*)^2 tilde.eq op("tr") J^(-1) [(bb(E)[h h^top M_2] - g g^top + V)\\/n + (bb(E)[h '
            "h^top M^2] - g g^top)\\/m] J^(-top)$, $V$ what the noise adds, where it is below 0.05: the means of runs "
            "do not contradict a ratio within 0.95 and 1.07;"
        ),
        (
            "logistic, $p = 5$, $n = 10^6$, $epsilon = 2$, $delta = 10^(-6)$, $norm(w^*) = 1$: 0.0037, and 0.0005 on "
            "the hemisphere;"
        ),
        "the forecast of the median, which counts the bend of the equation, is near where the leading order is not.",
    ),
    hypotheses="Gaussian records, the link is right.",
    setting=(
        "18 settings of 60 runs, the mean message in law, with each source the largest in some; a source a third less "
        "or half as much again would be seen. Record by record at 300 records, and with an intercept and two-point "
        "records."
    ),
    checks=(
        Agreement(
            decides="a",
            facts=_runs,
            alpha=len(SETTINGS) * 2e-9,
            impostors={f"{name} half as much again": {"facts": {name: 1.5}} for name in SOURCES}
            | {f"{name} a third less": {"facts": {name: 0.67}} for name in SOURCES},
        ),
        Agreement(
            decides="a", facts=_by_record, alpha=3e-8, impostors={"twice the variance": {"facts": {"factor": 2.0}}}
        ),
        Agreement(decides="b", facts=_reference, impostors={"2 % off": {"facts": Times(1.02)}}),
        Agreement(decides="c", facts=_forecasts, alpha=1e-8, impostors={"twice as much": {"facts": {"factor": 2.0}}}),
        Agreement(decides="c", facts=_bend, alpha=1e-11, impostors={"taken away": {"facts": {"power": -1.0}}}),
    ),
)

# --- when there is a root ---


def _roots(rng: np.random.Generator, *, wrong: float = 1.0) -> Iterator[Fact | Holds | Within]:
    """A root exists where b is in the zonotope, by linear programming; where it does it solves the equation."""
    for link, bound in (("logistic", None), ("poisson", 4), ("sigmoid", 1.2)):
        public = rng.standard_normal((60, 2))
        lengths = np.linalg.norm(public, axis=1)
        units = public / lengths[:, None]
        labels = messages.scored(link, bound)
        for size in (0.3, 0.55, 0.6, 0.65, 0.7, 0.9):
            angle = rng.uniform(0.0, 2 * math.pi)
            mean = labels.end * size * np.array([math.cos(angle), math.sin(angle)])
            inside = optimize.linprog(
                np.zeros(60), A_eq=wrong * units.T / 60, b_eq=mean, bounds=(-labels.end, labels.end)
            ).status == 0  # fmt: skip
            found = messages.solve(mean, public, link, label_bound=bound)
            label = f"{link}, length {size:g}"
            yield Holds(f"{label}: a root exists where b is in the zonotope, else not", found.exists is inside)
            if found.exists:
                yield Fact(f"{label}: the equation", units.T @ labels.mean(public @ found.w) / 60, mean, 1e-7)
            elif found.witness is not None:
                margin = labels.end * float(np.mean(np.abs(units @ found.witness))) - float(mean @ found.witness)
                yield Within(f"{label}: mean of |<u, v>| less <b, v> at the witness", margin, -math.inf, 1e-12)


def _many(rng: np.random.Generator) -> Iterator[Fact]:
    """Many public records are solved by parts: the same root; weights; shortened messages."""
    public = rng.standard_normal((20_000, 3))
    w, a = np.array([1.0, -0.5, 0.3]), messages.message_matrix(np.diag([1.0, 0.5, 0.2]))
    for radius in (0.0, 1.0):
        h = sending.directions(public, a, radius)
        mean = messages.scored("logistic").mean(public @ w) @ h / len(public)
        yield Fact(f"R = {radius:g}", messages.solve(mean, public, "logistic", matrix=a, radius=radius).w, w, 1e-6)
    few = public[:3]
    mean = (
        np.array([2.0, 1.0, 1.0]) / 4 * messages.scored("boosting").mean(few @ w) @ sending.directions(few, np.eye(3))
    )
    yield Fact("weights", messages.solve(mean, few, "boosting", weights=[2, 1, 1]).w, w, 1e-6)


def _chance(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Within]:
    """Sigma = I, m = 4000, p = 2: share of 400 runs without a root, against a noncentral chi-square tail at 2 / pi."""
    model = GaussianModel(link=LINKS["logistic"], w=np.array([1.5, 0.0]), covariance=np.eye(2), n=500, m=4000)
    settings = MessageSettings(epsilon=2.0, delta=1e-3)
    spread = messages.gaussian_scale(2.0, 1e-3) ** 2 / model.n
    g1 = messages.moments("logistic", 2, 1.5).g1
    stated = float(stats.ncx2.sf((factor * 2 / math.pi) ** 2 / spread, 2, g1**2 / spread))
    runs = estimate_from_messages(model, settings, streams(int(rng.integers(2**31))), 400)
    reach = 6 * math.sqrt(stated * (1 - stated) / 400) + 0.02
    yield Within(
        "share of runs without a root less that stated", float(np.mean(~runs["has_root"])) - stated, -reach, reach
    )


BEYOND_MESSAGES_ROOT = Claim(
    id="glm/beyond-messages-root",
    where="beyond Lemma 5",
    kind="algorithm",
    statement=(
        (
            "The equation of the messages has a root if and only if $b^top v < M(infinity) bb(E)_m [s abs(x^top v)]$ "
            "for all $v != 0$, $b$ being $A^(-1)$ times the mean message, and `solve` finds it or shows a $v$ that "
            "violates this;"
        ),
        "the root is found for many records, weights and shortened messages;",
        (
            "$Sigma = I$, many public records: there is none with probability $P(chi'^2_p (n g_1^2\\/sigma^2) >= n "
            "r^2\\/sigma^2)$, $r = Gamma(p\\/2)\\/(sqrt(pi) Gamma((p + 1)\\/2))$."
        ),
    ),
    checks=(
        Agreement(decides="a", facts=_roots, impostors={"a zonotope 3 times as large": {"facts": {"wrong": 3.0}}}),
        Agreement(decides="b", facts=_many, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(
            decides="c", facts=_chance, alpha=2e-9, impostors={"an edge a third further": {"facts": {"factor": 1.33}}}
        ),
    ),
)
