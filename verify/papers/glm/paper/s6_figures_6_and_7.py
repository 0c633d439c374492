"""Figure 6, real data, and Figure 7, the number of public records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from verify.checks import Quantiles, Ratio, Reading
from verify.papers.glm.paper.s6_figures import CHOSEN, axes_of, level_of
from verify.papers.glm.tools.cells import Cell
from verify.statements.claims import Claim

# --- Figure 7: m ---

PUBLIC = tuple(10_000 * k for k in range(2, 17, 2))


def _by_public(base: Cell, epsilons: Sequence[float]) -> list[Reading]:
    ends = (PUBLIC[0], PUBLIC[-1])
    return [
        replace(base, m=m, epsilon=epsilon).reading(
            m, f"$epsilon = {epsilon:g}$", level=level_of(m in ends and epsilon == 10), trials=160
        )
        for epsilon in epsilons
        for m in PUBLIC
    ]


def _few_suffice(base: Cell, axis: str, most: float) -> Quantiles:
    """The median with few public records over that with many; with the printed noise both exceed 1, that of w = 0."""
    few, many = (replace(base, m=m).label for m in (PUBLIC[0], PUBLIC[-1]))
    ratio = Ratio(label="few public records over many", above=few, below=many, at_most=most)
    lost = [Ratio(label=f"error, {label}", above=label, at_least=1.0) for label in (few, many)]
    return Quantiles(
        readings=partial(_by_public, base, (10.0, 5.0, 3.0)),
        ratios=(ratio, *(lost if base.noise == "printed" else ())),
        axes=axes_of(base, axis),
        impostors={"ten times better": {"ratios": (replace(ratio, at_least=50.0, at_most=500.0),)}},
    )


def _figure_7(place: str, what: str, link: str, remark: str = "") -> Claim:
    base = Cell(link=link, p=10, n=200_000, epsilon=10.0, delta=1 / 200_000)
    return Claim(
        id=f"glm/fig-7-{place}",
        where=f"Figure 7({place})",
        kind="mc-rate",
        statement=(
            f"{what}, $x_j = plus.minus 1\\/p$, $p = 10$, $n = 2 dot 10^5$, $delta = 1\\/n$: sometimes there is no "
            "need for a large $m$, of $m in 10^4 {2, 4, ..., 16}$ and for $epsilon in {10, 5, 3}$."
        ),
        equation="Figure 7",
        setting=CHOSEN + "tight noise, $R = 1\\/sqrt(p)$.",
        remark=remark,
        open=(
            "With the printed noise nothing is estimated at any $m$, so none helps. With tight noise and $m = 2 dot "
            "10^4$ the squared error is less than 4 times that with $m = 16 dot 10^4$; of this $((1 + 16\\/20)\\/(1 + "
            "2\\/20))^2 approx 2.7$ is the noise of $x x^top$, which public records dilute. Whether that is a need the "
            "paper does not say."
        ),
        checks=(
            _few_suffice(base, "$m$, noise as printed", 16.0),
            _few_suffice(replace(base, noise="least"), "$m$, least noise", 4.0),
        ),
    )


FIG_7_A = _figure_7("a", "Logistic", "logistic", 'The text also says "the same amount of public data".')
FIG_7_B = _figure_7("b", "Cubic, $C = 0.001$", "cubic")

# --- Figure 6 ---


def _real(place: str, name: str, rows: str, train: int, largest: int, records: int) -> Claim:
    overlap = 2 * largest - train
    return Claim(
        id=f"glm/fig-6-{place}",
        where=f"Figure 6 {place}",
        kind="number",
        statement=f"{name}, {rows}: the accuracy of logistic regression approaches the non-private one.",
        equation="Figure 6",
        not_run=(
            f"Needs {name}, prepared as in the paper, which does not say how it is normalised, which features are "
            f"left out, "
            f"and what $r$ is. Of the protocol: $n$ private and as many public rows of the same {train} are distinct "
            f"up to "
            f"$n = {train // 2}$ alone; at $n = {largest}$ at least {overlap} rows are both"
            + (f", and {2 * largest - records} with the test rows." if 2 * largest > records else ".")
        ),
    )


FIG_6_LEFT = _real(
    "left",
    "Covertype",
    "44 features, 406708 training and 174304 test rows, $n$ to 390000, $epsilon in {20, 10, 5}$",
    406_708,
    390_000,
    581_012,
)
FIG_6_RIGHT = _real(
    "right",
    "SUSY",
    "18 features, 350000 training and 150000 test rows, $n$ to 330000, $epsilon in {20, 10, 5}$",
    350_000,
    330_000,
    500_000,
)
