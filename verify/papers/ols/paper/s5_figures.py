"""Figures 1 to 7: the paper's comparison on the sets at hand, cell by cell; and on sets that scikit-learn ships.

Every figure also shows the runs under tight accounting: all methods at equal true privacy.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Literal

import numpy as np

from simulators.ols import LeastSquares, perceptron
from verify.checks import Agreement, Survey, Within
from verify.papers.ols.paper.s5_choices import SMALL_SIGNAL
from verify.papers.ols.tools.contest import ADASSP, DPGD, IHM, LINMIX, TRIALS, Arena, Contest, Entrant
from verify.papers.ols.tools.experiments import Method, experiment, setup_of
from verify.papers.ols.tools.table_2 import ROWS, at_hand, digest, lacking, uci
from verify.statements.claims import Claim, Correction, Fault

PANELS_1 = ("crime", "pol", "concreteslump", "solar")
PANELS_2 = ("protein", "pendulum", "yacht")
FIGURE_2 = (*PANELS_2, "slice", "buzz")
FIGURE_3 = tuple(name for name in ROWS if name not in (*PANELS_1, *FIGURE_2))
FIGURE_4 = (*PANELS_1, "protein", "pendulum", "fertility", "slice", "buzz")
FIGURE_5 = tuple(name for name in ROWS if name not in FIGURE_4)
PANELS_6 = tuple(name for name in SMALL_SIGNAL if name != "3droad")
ADASSP_FOR_IHM = {"AdaSSP": {"champion": ADASSP, "opponents": (LINMIX, IHM)}}
TWO_STEPS = Entrant(name="IHM, T = 2", method="IHM", options={"steps": 2})


def sets(*names: str) -> list[Arena]:
    """Sets of the paper that are at hand; all of them unless named."""
    return [Arena(name=name, load=partial(uci, name)) for name in at_hand() if not names or name in names]


def _signal(name: str, epsilon: float) -> bool:
    """Cells of sets that Appendix K does not except."""
    return name not in SMALL_SIGNAL


def _panels(*names: str, opponents: tuple[Entrant, ...] = (LINMIX, ADASSP)) -> tuple[Contest, ...]:
    """One picture for each panel; what they show is decided over all sets at once."""
    return tuple(
        Contest(arenas=partial(sets, name), opponents=opponents, most_losses=1.0, panel=True, level="full")
        for name in names
    )


SETTING = (
    "The training parts of Table 2 (as many rows as printed, drawn at random; columns standardised where that gives "
    "the printed eigenvalues), $epsilon in {0.1, 0.25, 0.63, 1, 1.6, 4, 10}$, 500 runs. A cell is lost where the "
    "intervals of the medians (and of the means, where they can be judged) do not meet, at a rate of false alarms "
    "below $10^(-6)$ for all cells together; ties count as matched. Decided under the paper's accounting, shown "
    "under the tight one too. Written from two random splits, checked on a third."
)
MATCHES = "IHM matches or outperforms linear mixing and AdaSSP at every $epsilon in [0.1, 10]$"
CONCEDED = "outside of Appendix K's eight sets"

FIG_1 = Claim(
    id="ols/fig-1",
    where="Figure 1, Section 5",
    equation="Figure 1",
    kind="mc-rate",
    statement=(
        f"Communities and Crime, Pol, Concrete Slump, Solar: {MATCHES}, here and consistently over the full suite."
    ),
    setting=SETTING,
    fault=Fault(
        severity="slip",
        touches="text",
        finding=(
            "Over the sets at hand IHM loses ${losses}$ of ${cells}$ cells to linear mixing or AdaSSP, the worst by "
            "${excess:2}$ % of the train MSE at $epsilon = {epsilon}$."
        ),
        consequence=(
            "Little: Appendix K excepts eight sets itself, Solar among them, where $L^*$ is near $norm(Y)^2$, and all "
            "cells lost are of these, to AdaSSP on Kin40K and Pumadyn32nm. On the others IHM is never significantly "
            "worse."
        ),
    ),
    checks=(Contest(arenas=sets, level="full", impostors=ADASSP_FOR_IHM),),
    correction=Correction(
        statement=f"{MATCHES}, {CONCEDED}.",
        ground="${runs}$ runs of every method on every set at hand.",
        checks=(
            *_panels(*PANELS_1),
            Contest(
                arenas=sets,
                counts=_signal,
                level="full",
                impostors=ADASSP_FOR_IHM,
            ),
        ),
    ),
    given={"runs": TRIALS["full"]},
    user_data=digest,
    missing=partial(lacking, *PANELS_1),
)

FIG_2 = Claim(
    id="ols/fig-2",
    where="Figure 2, Appendix I",
    equation="Figure 2",
    kind="mc-rate",
    statement=f"Protein, Pendulum, Yacht, Slice, Buzz: {MATCHES}.",
    setting=SETTING,
    remark="On Protein, Pendulum and Yacht; of the sets at hand none is Slice or Buzz.",
    checks=(
        Contest(arenas=partial(sets, *FIGURE_2), level="full", impostors=ADASSP_FOR_IHM),
        *_panels(*PANELS_2),
    ),
    user_data=digest,
    missing=partial(lacking, *PANELS_2),
)

FIG_3 = Claim(
    id="ols/fig-3",
    where="Figure 3, Appendix I",
    equation="Figure 3",
    kind="mc-rate",
    statement=f"The 24 sets of Table 2 that are not in Figures 1 and 2: {MATCHES}.",
    setting=SETTING + " Of the 24 sets those at hand.",
    fault=Fault(
        severity="slip",
        touches="text",
        finding=(
            "Over the sets of Figure 3 at hand IHM loses ${losses}$ of ${cells}$ cells, the worst by ${excess:2}$ % "
            "of the train MSE at $epsilon = {epsilon}$."
        ),
        consequence="As for Figure 1.",
        root="ols/fig-1",
    ),
    checks=(Contest(arenas=partial(sets, *FIGURE_3), level="full", impostors=ADASSP_FOR_IHM),),
    correction=Correction(
        statement=f"On these sets {MATCHES}, {CONCEDED}.",
        ground="${runs}$ runs of every method on every set at hand.",
        checks=(
            Contest(
                arenas=partial(sets, *FIGURE_3),
                counts=_signal,
                level="full",
                impostors=ADASSP_FOR_IHM,
            ),
        ),
    ),
    given={"runs": TRIALS["full"]},
    user_data=digest,
    missing=lacking,
)


def _against_descent(*names: str) -> Contest:
    """Wins in most cells: more than a half is the least that a large majority can mean."""
    return Contest(
        arenas=partial(sets, *names),
        opponents=(DPGD,),
        better=0.5,
        level="full",
        impostors={"DP-GD against IHM": {"champion": DPGD, "opponents": (IHM,)}},
    )


DESCENT = (
    "Of ${cells_DPGD}$ cells on the sets at hand IHM wins ${won_DPGD}$, ${tied_DPGD}$ are tied, ${lost_DPGD}$ lost. On "
    "most sets a rate above $1\\/4$ does better (`ols/exp-lr`)."
)

FIG_4 = Claim(
    id="ols/fig-4",
    where="Figure 4, Appendix J",
    equation="Figure 4",
    kind="mc-rate",
    statement=(
        "With DP-GD ($T = 3$, $b = 0.25$, $C = C_Y$, (157)) on Crime, Pol, Slump, Solar, Protein, Pendulum, "
        "Fertility, Slice, Buzz: IHM is better in the large majority of instances."
    ),
    setting=SETTING + " Majority: more than half of the cells of the sets at hand.",
    remark=DESCENT,
    checks=(
        _against_descent(*FIGURE_4),
        *_panels("pol", "solar", opponents=(LINMIX, ADASSP, DPGD)),
    ),
    user_data=digest,
    missing=partial(lacking, *PANELS_1, "fertility"),
)

FIG_5 = Claim(
    id="ols/fig-5",
    where="Figure 5, Appendix J",
    equation="Figure 5",
    kind="mc-rate",
    statement="The 24 sets that are not in Figure 4: IHM is better than DP-GD in the large majority of instances.",
    setting=SETTING + " Majority: more than half of the cells of the sets at hand.",
    remark=DESCENT,
    checks=(_against_descent(*FIGURE_5),),
    user_data=digest,
    missing=lacking,
)


def _smaller_gaps(rng: np.random.Generator, steps: int = 2, trials: int = 2000) -> Iterator[Within]:
    """Median train MSE over AdaSSP's, T = 2 against T = 3, for epsilon <= 1."""
    for name in PANELS_6:
        problem = uci(name)
        for epsilon in (0.1, 0.25, 0.63, 1.0):
            found = {}
            runs: tuple[tuple[str, Method, int], ...] = (("2", "IHM", steps), ("3", "IHM", 3), ("AdaSSP", "AdaSSP", 3))
            for label, method, T in runs:
                run = experiment(problem, setup_of(problem, steps=T), method, epsilon, trials=trials)
                found[label] = float(np.median(run.run_block(0, seed=0)["risk"] + problem.least_loss))
            two, three = found["2"] / found["AdaSSP"], found["3"] / found["AdaSSP"]
            label = f"{name}, epsilon = {epsilon:g}, T = 2"
            yield Within(f"{label}: over AdaSSP", two, most=1.03)
            if three > 1.01:
                yield Within(f"{label}: a smaller gap than at T = 3", two, most=three)


FIG_6 = Claim(
    id="ols/fig-6",
    where="Figure 6, Appendix K",
    equation="Figure 6",
    kind="mc-rate",
    statement=(
        (
            "With $T = 2$ on Solar, Pendulum, Fertility, Forest, Pumadyn32nm, TamiElectric, Kin40k the gap to AdaSSP "
            "at $epsilon <= 1$ shrinks substantially;"
        ),
        "IHM is similar or better.",
    ),
    setting=SETTING,
    remark=(
        "The paper does not say what similar is: with $T = 2$ the median is within 3 % of AdaSSP's everywhere, and "
        "the gap is smaller wherever it was above 1 % with $T = 3$."
    ),
    checks=(
        Agreement(
            decides="a", facts=_smaller_gaps, level="full", alpha=1e-9, impostors={"T = 4": {"facts": {"steps": 4}}}
        ),
        *(
            Contest(
                decides="b",
                arenas=partial(sets, name),
                champion=TWO_STEPS,
                opponents=(LINMIX, ADASSP, IHM),
                panel=True,
                most_losses=1.0,
                level="full",
            )
            for name in ("solar", "pumadyn32nm")
        ),
    ),
    user_data=digest,
    missing=partial(lacking, *PANELS_6),
)


# --- Figure 7 ---

Activation = Literal["tanh", "relu", "sigmoid"]
DRAWN = 2**16


@cache
def _features(activation: Activation, seed: int) -> LeastSquares:
    return perceptron(n=DRAWN, activation=activation, seed=seed)


def _clipping_share(rng: np.random.Generator, activation: Activation, at_least: float = 0.5) -> Iterator[Within]:
    """Share of iterations after the first in which some residual is clipped, at every epsilon."""
    problem = _features(activation, 0)
    for epsilon in (0.1, 1.0, 10.0):
        run = experiment(problem, setup_of(problem), "IHM", epsilon, trials=100).run_block(0, seed=0)
        share = float(np.mean(run["clipped"][:, 1:] > 0))
        yield Within(f"{activation}, epsilon = {epsilon:g}: share", share, least=at_least)


def _outperforms(activation: Activation, champion: Entrant = IHM) -> Contest:
    return Contest(
        arenas=partial(_drawn, activation),
        champion=champion,
        opponents=tuple(entrant for entrant in (IHM, LINMIX, ADASSP) if entrant != champion),
        epsilons=(0.1, 1.0, 10.0),
        accountings=("experiments",),
        trials={"full": 200},
        panel=True,
        level="full",
    )


def _drawn(activation: Activation) -> list[Arena]:
    return [Arena(name=f"{activation} features", load=partial(_features, activation, seed)) for seed in (0,)]


FIG_7 = Claim(
    id="ols/fig-7",
    where="Figure 7, Appendix L",
    equation="Figure 7",
    kind="mc-rate",
    statement=(
        "One-dimensional normal latents through a random two-layer MLP give $2^7$ features, $y = phi^top theta_0 + 0.1 "
        "z$, $n = 2^18$: at each $epsilon$ more than 50 % of the iterations undergo clipping, yet IHM outperforms the "
        "others."
    ),
    setting=(
        "$n = 2^16$, scaled to $norm(x_i), abs(y_i) <= 1$; weights normal of variance $1\\/$fan-in, biases of "
        "variance 1."
    ),
    open=(
        "The paper gives neither activation nor weights nor the scaling of $y$, and the share of clipped iterations "
        "depends on them: none for tanh and sigmoid, a part for ReLU. IHM outperforms the others for tanh and ReLU "
        "at every $epsilon$."
    ),
    checks=(
        Survey(
            settings={
                "more than half of the iterations clipped, tanh": Agreement(
                    facts=partial(_clipping_share, activation="tanh"), level="full", alpha=1e-9
                ),
                "more than half of the iterations clipped, ReLU": Agreement(
                    facts=partial(_clipping_share, activation="relu"), level="full", alpha=1e-9
                ),
                "outperforms, tanh": _outperforms("tanh"),
                "outperforms, ReLU": _outperforms("relu"),
                "outperforms, sigmoid": _outperforms("sigmoid"),
            },
            impostors={"AdaSSP outperforms": {"settings": {"tanh": _outperforms("tanh", ADASSP)}}},
            level="full",
        ),
    ),
)
