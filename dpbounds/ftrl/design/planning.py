"""Is correlated noise worth it: learning rate, schedule, batch size and noise chosen together for the least total loss.

Independent noise, the same with Poisson amplification, noise made for prefix sums and noise designed for the loss are
each given the learning rate, schedule and batch size that are best for it, at equal privacy. Comparing them at one
setting, batch size 1 above all, flatters correlated noise many times over.

>>> found = plan(np.ones(2), 64, initial=1.0, rho=1.0, batch_sizes=(4,), buffers=1, amplification=False)
>>> found.pays, found.best.label, found.best.setting.schedule
(True, 'designed', 'linear')
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import LARGEST, DomainError, choice, count, listed, moderate, within
from dpbounds.ftrl.design.amplification import Accounting, installed
from dpbounds.ftrl.design.budget import DELTA, Budget
from dpbounds.ftrl.design.clipped import ProxyRecords
from dpbounds.ftrl.design.judged import SURE, SURE_FORECAST, Verdict, verdict
from dpbounds.ftrl.design.noise_kinds import UNCORRELATED, NoiseKind
from dpbounds.ftrl.design.objective import Objective
from dpbounds.ftrl.design.passes import SHARE, Passes, fewest, passes
from dpbounds.ftrl.design.planner import Planner, PlanRow, amplified_multipliers
from dpbounds.ftrl.design.tuning import Training
from dpbounds.ftrl.design.watching import Progress, no_progress

# Shares of clipped gradients above this are worth a word.
OFTEN = 0.3


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """The rows, each tuned for itself, and the budget they share; how the amplified one was accounted for, and what
    each number of passes reaches where several were asked for.
    """

    training: Training
    rows: tuple[PlanRow, ...]
    budget: Budget
    accounting: Accounting = "exact"
    passes: tuple[Passes, ...] = ()
    momentum: float = 0.0

    def __post_init__(self) -> None:
        strange = [row for row in self.rows if not isinstance(row, PlanRow)]
        if strange or not self.rows:
            raise DomainError("rows", strange[0] if strange else "none", "rows of a plan", "`plan` makes them")

    @typed
    def row(self, kind: NoiseKind) -> PlanRow:
        """The row of this kind of noise; `DomainError` for one that was not planned."""
        kinds = [row.kind for row in self.rows]
        return self.rows[kinds.index(choice("kind", kind, kinds))]

    @typed
    def objective(self, kind: NoiseKind) -> Objective:
        """The run of a row: learning rates, weights, and with momentum as it is without the noise of sampling."""
        setting = self.row(kind).setting
        objective = self.training.objective(setting)
        if not self.momentum:
            return objective
        return replace(objective, momentum=self.momentum, noiseless=True, sigma_sgd=0.0)

    @property
    def best(self) -> PlanRow:
        """The row of least expected loss."""
        return min(self.rows, key=lambda row: row.expected)

    @property
    def gain(self) -> float:
        """Least expected loss of independent noise, amplified or not, over the least of correlated noise."""
        return _least(self.rows, correlated=False).expected / _least(self.rows, correlated=True).expected

    @property
    def verdict(self) -> Verdict:
        """What may be said of correlated against other noise: `take` the better, `probably` better, or `level`."""
        found = verdict(1.0 / self.gain, forecast=self.rows[0].clipped is not None)
        return "probably" if self.momentum and found == "take" else found

    @property
    def pays(self) -> bool:
        """Whether correlated noise is to be taken: its loss is so much lower that the ranking can be relied on."""
        return self.gain > 1.0 and self.verdict == "take"

    @property
    def sentences(self) -> tuple[str, ...]:
        """What to do, why, and what the numbers assume, in words."""
        alone, noise = _least(self.rows, correlated=False), _least(self.rows, correlated=True)
        better = noise if self.gain > 1.0 else alone
        opening, advice = {
            "take": (f"Correlated noise {'pays' if self.pays else 'does not pay here'}", f"Take {_setting(better)}."),
            "probably": ("Probably better, and no more", f"Try {_setting(better)}."),
            "level": ("No difference you can rely on", f"Take the simpler one, {_setting(alone)}."),
        }[self.verdict]
        said = f"{opening}: each tuned for itself, {noise.label} noise has {1 / self.gain:.3g} times the total loss of "
        said += f"{alone.label} noise. {advice}"
        prefix, designed = self.row("prefix-sum"), self.row("designed")
        over = prefix.expected / designed.expected
        about = (
            f"Designing noise for this loss in place of prefix sums lowers the total by {100 * (1 - 1 / over):.2g} %"
        )
        if designed.clipped is None:
            above = (designed.ratio or math.nan) - 1
            about += f"; the design is at most {100 * above:.2g} % above the best noise there is"
        about += "."
        return (*self._passes(), said, about, *self._on_fresh_records(), *self._assumed())

    def _passes(self) -> Iterator[str]:
        """What each number of passes reaches."""
        if self.passes:
            reached = ", ".join(f"{row.best.population:.3g} with {row.epochs}" for row in self.passes)
            yield (
                f"Passes over the records: {self.training.epochs}, the fewest within {100 * SHARE:g} % of the least "
                f"loss on fresh records, which is {reached}, while nothing is clipped and before noise is designed."
            )

    def _on_fresh_records(self) -> Iterator[str]:
        """The ratio by population risk, where that is not what was compared."""
        alone, noise = _least(self.rows, correlated=False), _least(self.rows, correlated=True)
        if any(row.population != row.expected for row in (alone, noise)):
            ratio = noise.population / alone.population
            yield (
                f"On fresh records (population) the ratio is {ratio:.3g}: {self.training.n} records leave something "
                "unknown that no kind of noise takes away."
            )

    def _assumed(self) -> Iterator[str]:
        """What the numbers take as given."""
        clipped = self.rows[0].clipped
        if clipped is None:
            yield (
                f"Where gradients are clipped the better noise may be the worse: only below {SURE:g} can the ranking "
                "be relied on. Public or proxy records tell how much is clipped, and what that costs."
            )
        else:
            yield (
                "Losses with clipping are forecast on the records given, which must be public or proxy data: empirical "
                "risk above its minimum."
            )
            if self.momentum:
                yield (
                    f"All losses are those of runs with momentum {self.momentum:g}, forecast on the records; noise is "
                    "designed for runs without momentum, which takes eta / (1 - momentum). How often rankings hold "
                    "with momentum was not measured: none is called more than probable."
                )
            else:
                yield (
                    f"Below {SURE_FORECAST:g} the ranking can be relied on. Bounds are those of runs without clipping."
                )
            if any(row.clip_norm != self.training.clip_norm for row in self.rows):
                yield "Clip norms are the best on the records given; quantiles of private gradients are private too."
            least = min(float(row.clipped.share_clipped.mean()) for row in self.rows if row.clipped is not None)
            if least > OFTEN:
                yield f"In each row more than {OFTEN:g} of all gradients are clipped: a larger clip norm may be better."
        if self.accounting == "renyi" and any(row.kind == "amplified" for row in self.rows):
            yield (
                "Amplified noise is accounted for by Rényi orders, which ask for more noise than privacy takes: its "
                "loss is an upper bound. With the package dp-accounting it is exact (pip install "
                "'dpbounds[accounting]')."
            )
        if self.training.epochs > 1 and clipped is None:
            yield (
                "Totals take the gradients of later epochs as fresh ones, which is too much where batches return in a "
                "fixed order; the loss on fresh records counts them as they are."
            )


@typed
def plan(
    eigenvalues: Float[np.ndarray, " d"],
    n: int,
    *,
    initial: float | Float[np.ndarray, " d"],
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float = DELTA,
    epochs: int | Sequence[int] = 1,
    work: float | None = None,
    clip_norm: float = 1.0,
    clip_norms: Sequence[float] = (),
    sigma_sgd: float = 0.0,
    schedules: Sequence[str] = ("constant", "linear"),
    batch_sizes: Sequence[int] = (),
    largest_eta: float = LARGEST,
    weights: str = "final",
    buffers: int = 4,
    amplification: bool = True,
    records: ProxyRecords | None = None,
    momentum: float = 0.0,
    progress: Progress = no_progress,
) -> Plan:
    """Noise, learning rate, schedule and batch size for one run over n records, beside what else could be done.

    - `rho` zCDP, zero-out adjacency, or (`epsilon`, `delta`), exact; delta also for the amplified row.
    - `initial`: squared start distances along the eigenvectors, one number or (d,); `sigma_sgd`: residuals.
    - `epochs` K passes in one fixed order; totals take the gradients of later passes as fresh ones. Of several numbers,
      such that n K is at most `work` gradients, the fewest within 2 % of the least loss on fresh records (`passes`).
    - `batch_sizes`: by default the powers of 4 that give 16 to 16,384 steps. Learning rates up to `largest_eta`, and
      98 % of what is stable.
    - `amplification`: accounted for exactly where the package dp-accounting is installed, else by Rényi orders, whose
      noise and loss are somewhat larger; its loss is predicted for batches of fixed size.
    - `records`: public or proxy records; each kind of noise is then tuned once more with clipping counted on them, and
      judged by that. Give their `eigenvalues`, `start` and `sigma_sgd` too.
    - `clip_norms`: with records, tried for each kind of noise beside `clip_norm`, at equal privacy. Choose them without
      the private records: quantiles of their gradients are private too.
    - `momentum`, with records: each kind of noise is tuned and judged in runs with heavy ball, v <- momentum v + g,
      theta <- theta - eta v; noise is designed for runs without it.
    - `progress` is called with (done, all, what).

    Raises `DomainError` for arguments outside their ranges.
    """
    budget = Budget.of(rho=rho, epsilon=epsilon, delta=delta)
    if within("momentum", momentum, "[0, 1)") and records is None:
        raise DomainError("momentum", momentum, "0 without records", "only a forecast on records counts it")
    several = [count("epochs", each) for each in (epochs if isinstance(epochs, Sequence) else [epochs])]
    if not several:
        raise DomainError("epochs", epochs, "one number at least")
    training = Training(
        eigenvalues=eigenvalues,
        n=n,
        rho=budget.rho,
        initial=initial,
        sigma_sgd=sigma_sgd,
        clip_norm=clip_norm,
        epochs=min(several),
        weights=weights,
        batch_sizes=tuple(batch_sizes),
        schedules=tuple(schedules),
        largest_eta=largest_eta,
    )
    accounting: Accounting = "exact" if installed() else "renyi"

    known: dict[int, dict[int, float]] = {}

    def amplified(training: Training) -> dict[int, float]:
        if amplification and training.epochs not in known:
            known[training.epochs] = amplified_multipliers(training, budget, accounting, progress)
        return known.get(training.epochs, {})

    found: tuple[Passes, ...] = ()
    if len(several) > 1 or work is not None:
        found = passes(training, several, amplified, batch_sizes=batch_sizes, work=work)
        training = replace(training, epochs=fewest(found).epochs, batch_sizes=tuple(batch_sizes))
    planner = Planner(
        training=training,
        buffers=count("buffers", buffers),
        progress=progress,
        amplified=amplified(training),
        records=records,
        clip_norms=_clip_norms(clip_norms, records),
        momentum=momentum,
    )
    return Plan(
        training=training,
        rows=tuple(planner.rows()),
        budget=budget,
        accounting=accounting,
        passes=found,
        momentum=momentum,
    )


def _clip_norms(clip_norms: Sequence[float], records: ProxyRecords | None) -> tuple[float, ...]:
    found = tuple(moderate("clip_norms", clip_norm) for clip_norm in listed("clip_norms", clip_norms))
    if found and records is None:
        raise DomainError("clip_norms", found, "left out without records", "only they tell what clipping costs")
    return found


def _least(rows: Sequence[PlanRow], *, correlated: bool) -> PlanRow:
    """The row of least expected loss among those with correlated noise, or without; of equal ones the design."""
    chosen = [row for row in rows if (row.kind not in UNCORRELATED) == correlated]
    return min(chosen, key=lambda row: (row.expected, row.kind != "designed"))


def _setting(row: PlanRow) -> str:
    setting = row.setting
    return (
        f"{row.label} noise with batch size {setting.batch_size}, {row.steps} steps, {setting.schedule} learning rate, "
        f"eta = {setting.eta:.3g}, clip norm {row.clip_norm:g}" + (f", momentum {row.momentum:g}" * (row.momentum > 0))
    )
