"""Beyond the paper: where PRN wins and where it loses, cell by cell, all methods at equal true privacy.

The statements are written from random splits 0 and 1 of every data set, and checked on split `SPLIT`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from simulators.ols import BUNDLED, LeastSquares, bundled, family, has_bundled
from simulators.ols.datasets import Columns
from verify.papers.ols.tools.contest import ADASSP, DPGD, IHM, Arena, Contest, Entrant
from verify.papers.ols.tools.table_2 import SPLIT, at_hand, digest, lacking, uci
from verify.statements.claims import Claim

PRN = Entrant(name="PRN", method="PRN")
ISO = Entrant(name="AdaSSP, iso", method="AdaSSP, iso")
RIVALS = (IHM, ISO)
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
COMMON: dict[str, Any] = {
    "epsilons": EPSILONS,
    "accountings": ("tight",),
    "measure": "excess risk",
    "readings": ("median",),
}
MAJORITY, ALL = 0.5, 1.0
IMPOSTORS = {"AdaSSP as the champion": {"champion": ISO, "opponents": (PRN,)}}

# --- sets that scikit-learn ships ---


def _stand_ins(outcome: Columns, *names: str) -> Callable[[], Sequence[Arena]]:
    """All four unless named."""
    shown = "" if outcome == "raw" else f", {outcome}"
    return lambda: [Arena(name=name + shown, load=partial(_bundled, name, outcome)) for name in names or BUNDLED]


@cache
def _bundled(name: str, outcome: Columns) -> LeastSquares:
    return bundled(name, seed=SPLIT, outcome=outcome).train


def _lost(name: str, epsilon: float) -> bool:
    """Cells that PRN loses with raw outcomes."""
    return epsilon == 1.0 or (name == "breast-cancer" and epsilon > 1.0)


def _rival(champion: Entrant) -> Contest:
    """Ahead of PRN in each of those cells."""
    return Contest(
        arenas=_stand_ins("raw", "breast-cancer", "wine"),
        champion=champion,
        opponents=(PRN,),
        counts=_lost,
        better=ALL,
        trials={"quick": 500},
        impostors={"PRN as the champion": {"champion": PRN, "opponents": (champion,)}},
        **{**COMMON, "epsilons": EPSILONS[2:]},
    )


def _no_scikit_learn() -> str:
    return "" if has_bundled() else "needs scikit-learn, which ships the sets: `pip install 'dpbounds[data]'`"


BEYOND_NEWTON_STAND_INS = Claim(
    id="ols/beyond-newton-stand-ins",
    where="Beyond the paper",
    kind="mc-rate",
    statement=(
        (
            "At equal true privacy, the median excess risk of PRN against IHM (the paper's $k$, $T = 3$, $C = C_Y$) "
            "and against AdaSSP with isotropic noise on four sets that scikit-learn ships: with centred outcomes PRN "
            "loses no cell (data set, $epsilon$) and wins most;"
        ),
        (
            "with raw outcomes, as the paper prepares its sets, it wins all cells of digits, is not seen to lose one "
            "of diabetes in so few runs, and loses to both on breast cancer at $epsilon >= 1$ and on wine at $epsilon "
            "= 1$."
        ),
    ),
    setting=(
        "Diabetes, breast cancer, wine (regressors standardised) and digits; $epsilon = 0.1, 0.3, 1, 3, 10$, $delta = "
        "n^(-2)$, zero-out; a cell is won or lost where the intervals of the medians do not meet. Centred outcomes "
        "were tried after raw ones. Written from two random splits, checked on a third."
    ),
    checks=(
        Contest(
            decides="a",
            arenas=_stand_ins("centred"),
            champion=PRN,
            opponents=RIVALS,
            trials={"quick": 80, "full": 500},
            impostors=IMPOSTORS,
            **COMMON,
        ),
        Contest(
            decides="a",
            arenas=_stand_ins("centred"),
            champion=PRN,
            opponents=RIVALS,
            better=MAJORITY,
            trials={"quick": 80, "full": 500},
            impostors=IMPOSTORS,
            **COMMON,
        ),
        Contest(
            decides="b",
            arenas=_stand_ins("raw", "digits"),
            champion=PRN,
            opponents=RIVALS,
            better=ALL,
            trials={"quick": 80, "full": 500},
            impostors=IMPOSTORS,
            **COMMON,
        ),
        Contest(
            decides="b",
            arenas=_stand_ins("raw", "diabetes"),
            champion=PRN,
            opponents=RIVALS,
            trials={"quick": 80, "full": 500},
            impostors={"AdaSSP as the champion": {"champion": ISO, "opponents": (PRN,), "trials": {"quick": 500}}},
            **COMMON,
        ),
        *(_rival(champion).deciding("b") for champion in RIVALS),
    ),
    missing=_no_scikit_learn,
)

# --- the paper's sets ---

OPPONENTS = (IHM, ISO, ADASSP, DPGD)
# Where PRN lost some cell on one of the first two splits.
LOST_SOME = ("airfoil", "breastcancer", "pumadyn32nm", "tamielectric")


def _sets() -> Sequence[Arena]:
    return [Arena(name=name, load=partial(uci, name)) for name in at_hand()]


def _elsewhere(name: str, epsilon: float) -> bool:
    return name not in LOST_SOME


BEYOND_NEWTON_SETS = Claim(
    id="ols/beyond-newton-sets",
    where="Beyond the paper",
    kind="mc-rate",
    statement=(
        "On the sets of Table 2 at hand, at equal true privacy, PRN wins by medians the majority of cells (data "
        "set, $epsilon$) against each of IHM (the paper's $k$, $T = 3$, $C = C_Y$), AdaSSP, AdaSSP with isotropic "
        "noise and DP-GD, and loses none outside of airfoil, breastcancer, pumadyn32nm and tamielectric."
    ),
    setting=(
        "The training parts of Table 2; $epsilon = 0.1, 0.3, 1, 3, 10$, $delta = n^(-2)$, zero-out. The four sets are "
        "those on which it lost a cell on one of two random splits; the statement is checked on a third. PRN's "
        "constants are the same for all sets, and were chosen with these sets at hand."
    ),
    remark=(
        "Won, tied, lost of ${cells_IHM}$ cells: ${won_IHM}$, ${tied_IHM}$, ${lost_IHM}$ against IHM; "
        "${won_AdaSSPiso}$, ${tied_AdaSSPiso}$, ${lost_AdaSSPiso}$ against isotropic AdaSSP; ${won_AdaSSP}$, "
        "${tied_AdaSSP}$, ${lost_AdaSSP}$ against AdaSSP; ${won_DPGD}$, ${tied_DPGD}$, ${lost_DPGD}$ against DP-GD."
    ),
    checks=(
        *(
            Contest(
                arenas=_sets,
                champion=PRN,
                opponents=(opponent,),
                better=MAJORITY,
                trials={"quick": 80, "full": 150},
                level="full",
                impostors=IMPOSTORS,
                **COMMON,
            )
            for opponent in OPPONENTS
        ),
        Contest(
            arenas=_sets,
            champion=PRN,
            opponents=OPPONENTS,
            counts=_elsewhere,
            trials={"quick": 80, "full": 150},
            level="full",
            impostors=IMPOSTORS,
            **COMMON,
        ),
    ),
    user_data=digest,
    missing=lacking,
)

# --- residuals that avoid 0 ---


def _two_sided() -> Sequence[Arena]:
    return [Arena(name="residual", load=partial(family, "residual", n=4096, seed=SPLIT))]


def _between(champion: Entrant, other: Entrant, epsilons: Sequence[float]) -> Contest:
    """Every cell won."""
    return Contest(
        arenas=_two_sided,
        champion=champion,
        opponents=(other,),
        better=ALL,
        trials={"quick": 500},
        impostors={"the other as the champion": {"champion": other, "opponents": (champion,)}},
        **{**COMMON, "epsilons": tuple(epsilons)},
    )


BEYOND_NEWTON_LOSES = Claim(
    id="ols/beyond-newton-loses",
    where="Beyond the paper",
    kind="mc-rate",
    statement=(
        (
            "PRN is not best everywhere: on the family `residual`, whose residuals avoid 0, IHM has less median excess "
            "risk at $epsilon = 1, 3, 10$, for a gradient clipped far below the residuals' size sees their signs alone;"
        ),
        "at $epsilon = 0.1, 0.3$ PRN has less.",
    ),
    setting="$n = 4096$, all at equal true privacy; written from two data sets of the family, checked on a third.",
    checks=(_between(IHM, PRN, EPSILONS[2:]).deciding("a"), _between(PRN, IHM, EPSILONS[:2]).deciding("b")),
)
