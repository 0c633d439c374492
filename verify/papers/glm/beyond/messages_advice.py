"""Beyond the paper: what `solve glm` says of surveys by messages, and runs of it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dpbounds.glm import message_rows, messages, recommend, what_helps
from dpbounds.glm.problem import build_problem
from dpbounds.glm.surveys import MessagePrediction
from simulators.glm import message_experiments
from verify.checks import Agreement, Fact, Holds, Times, Within
from verify.statements.claims import Claim

RUNS = 240


def _rows(rng: np.random.Generator) -> Iterator[Fact | Holds | Within]:
    """The rows against the formula, which is recommended, and what is said where none is useful."""
    for link, n, useful in (("logistic", 10**5, True), ("poisson", 10**5, True), ("sigmoid", 150, False)):
        found = recommend(link, p=3, n=n, m=3000, epsilon=1.0, delta=1e-6)
        problem = found.problem
        for row in found.messages:
            noise = row.name.removesuffix("-message")
            delta = 1e-6 if noise == "gaussian" else None
            cut = row.label_bound if problem.link.labels == "count" else None
            law = messages.message_law(link, problem.w, problem.covariance, label_bound=cut)
            stated = messages.error_of(law, n=n, m=3000, epsilon=1.0, delta=delta, noise=noise)  # type: ignore[arg-type]
            yield Fact(f"{link}, {row.name}: leading order", row.terms.total, stated.total / problem.w_norm**2, 1e-9)
            if useful:
                share = float(row.relative) / row.terms.total - 1.0
                yield Fact(f"{link}, {row.name}: excess", 1.0 + row.excess, 1.0 + share, 1e-9)
        least = min((*found.under("tight"), *found.messages), key=lambda row: row.rank)
        error = float(least.median if isinstance(least, MessagePrediction) else least.relative)
        name = getattr(least, "name", getattr(least, "estimator", ""))
        yield Holds(f"{link}: the least is recommended", found.recommended == (name if error < 1 else "zero"))
        yield Holds(f"{link}: its median is told", found.median == min(error, 1.0))
        yield Holds(f"{link}: useful below half of the error of w = 0", found.useful is (error < 0.5) is useful)
        yield Holds(f"{link}: help where none is", (found.helps is None) is useful)
    helps = what_helps(build_problem("logistic", p=3, n=500, m=3000, epsilon=0.5))
    for label, n, m, epsilon in (("n", helps.n, None, 0.5), ("epsilon", 500, 3000, helps.epsilon)):
        if n is not None and epsilon is not None:
            other = build_problem("logistic", p=3, n=n, m=m or 6 * n, epsilon=epsilon)
            yield Fact(f"error with the {label} that helps", message_rows(other)[2].terms.total, 0.25, 0.02)
    none = recommend("cubic", p=3, n=10**4, epsilon=1.0)
    yield Holds("labels without bounds have no message", not none.messages and not message_rows(none.problem))


def _runs(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Within]:
    """Medians of runs of each message over the forecast: 6 standard errors, about 1.3 sqrt(2 / p) / sqrt(runs) each."""
    found = recommend("logistic", p=4, n=50_000, m=2000, epsilon=2.0, delta=1e-6)
    experiments = message_experiments(found)
    reach = 6 * 1.3 * math.sqrt(0.5 / RUNS)
    for row in found.messages:
        blocks = experiments[row.name].run(RUNS // 10, seed=int(rng.integers(2**31)))
        ratio = float(np.median(blocks["relative_l2"])) / (factor * float(row.median))
        yield Within(f"{row.name}: median of runs over the forecast", ratio, 1 - reach, 1 + reach)


BEYOND_MESSAGES_ADVICE = Claim(
    id="glm/beyond-messages-advice",
    where="recommendation of `solve glm`",
    kind="algorithm",
    statement=(
        (
            "`solve glm` recommends the least predicted error of all rows that are private for every record, messages "
            "included, and nothing where it is not predicted to beat $w = 0$ in half of the runs;"
        ),
        (
            "where half of the runs of the best have half of its error or more it says which $n$ and which $epsilon$ "
            "would give a quarter;"
        ),
        "the medians of the messages' runs are those forecast, as far as the runs tell.",
    ),
    setting="Three links at $p = 3$; 240 runs of each message, which would show half as much again.",
    checks=(
        Agreement(decides="ab", facts=_rows, impostors={"3 % off": {"facts": Times(1.03)}}),
        Agreement(decides="c", facts=_runs, alpha=1e-8, impostors={"two thirds": {"facts": {"factor": 0.6}}}),
    ),
)
