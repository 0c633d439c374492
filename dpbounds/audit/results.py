"""What an audit found: verdict, what follows, by how much, what was looked at and what was taken for granted.

>>> from dpbounds.audit.promises import promise_of
>>> found = Audit(verdict="consistent", claim=promise_of((1.0, 1e-5)), adjacency="zero-out", epsilon=(0.9, 1.1))
>>> print(found.text.splitlines()[0])
consistent: (1, 1e-05)-DP, zero-out adjacency, per release
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from dpbounds.arguments import typed
from dpbounds.audit.laplace import laplace_delta
from dpbounds.audit.promises import Promise
from dpbounds.errors import choice
from dpbounds.privacy.curves import float_log_delta
from dpbounds.showing import rounded

Verdict = Literal["refuted", "law differs", "consistent", "proved", "unclear"]
# Points of the picture.
_POINTS = 200


@dataclass(frozen=True)
class Step:
    """One step: what it is called, what it found, calls made and seconds taken by then."""

    name: str
    found: str
    calls: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Coverage:
    """Pairs of neighbours that ran, of those planned, and what their search can say."""

    ran: int = 0
    planned: int = 0
    words: str = "no neighbours were searched"


@dataclass(frozen=True)
class Curve:
    """What the curve found is made of: `mu` of a Gaussian mechanism from low to high, or `ratios` of Laplace noise."""

    family: str
    low: float
    high: float
    ratios: tuple[float, ...] = ()

    def delta(self, epsilon: float, end: int) -> float:
        """delta at this epsilon, at the lower (0) or the upper (1) end."""
        size = (self.low, self.high)[end]
        if self.family == "gaussian":
            return math.exp(float(float_log_delta(size, epsilon))) if 0 < size < 1e4 else float(size > 0)
        return laplace_delta(epsilon, np.array(self.ratios) * size)[end]


@typed
@dataclass(frozen=True, kw_only=True)
class Audit:
    """The result of `audit`.

    - `verdict`: "refuted" (with a `witness`, which `dpbounds audit --check` evaluates again), "law differs" (the noise
      is not as declared, and the claim not thereby refuted), "consistent" (nothing found, at this resolution and
      coverage), "proved" (coefficients only), "unclear" (`needs` says what would decide).
    - `epsilon`: what follows for the worst neighbours found, from below and above, in the units of the claim (epsilon,
      rho or mu); inf above where nothing bounds it.
    - `slack`: noise over the least that keeps the claim, by the middle of the interval; 32 is a finding too.
    - `coverage`, `assumed`, `steps`: which neighbours ran, what was taken for granted, what was done in which order.
    - `findings`: what is not a verdict, such as a record outside the domain that moves more; `support`: what kind of
      numbers came out (the granularity of floats is no part of the verdict); `printed`: what the mechanism printed.
    - `failed`: the mechanism hung, died or raised every time.
    """

    verdict: Verdict
    claim: Promise
    adjacency: str
    epsilon: tuple[float, float] = (0.0, math.inf)
    slack: float | None = None
    witness: dict[str, Any] | None = None
    coverage: Coverage = field(default_factory=Coverage)
    assumed: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    findings: tuple[str, ...] = ()
    needs: str = ""
    support: str = ""
    printed: str = ""
    failed: bool = False
    curve: Curve | None = None

    def __post_init__(self) -> None:
        choice("verdict", self.verdict, get_args(Verdict))

    @property
    def text(self) -> str:
        """Plain lines: the claim in one convention first."""
        return "\n".join([self._head(), *(f"  {line}" for line in self._lines())])

    def __repr__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        """For notebooks."""
        steps = "".join(f"\n| {_cell(s.name)} | {_cell(s.found)} | {s.calls} | {s.seconds:.2f} |" for s in self.steps)
        table = f"\n\n| step | found | calls | seconds |\n|---|---|---|---|{steps}" if steps else ""
        head, _, rest = self._head().partition(":")
        listed = "".join(f"\n- {_cell(line)}" for line in self._lines(steps=False))
        return f"**{head}**:{rest}\n{listed}{table}\n"

    def row(self) -> dict[str, Any]:
        """As JSON data, without the witness."""
        return {
            "verdict": self.verdict,
            "claim": self.claim.content(),
            "promise": self.claim.text,
            "adjacency": self.adjacency,
            "epsilon": list(self.epsilon),
            "slack": self.slack,
            "coverage": {"ran": self.coverage.ran, "planned": self.coverage.planned, "words": self.coverage.words},
            "assumed": list(self.assumed),
            "findings": list(self.findings),
            "needs": self.needs,
            "support": self.support,
            "printed": self.printed,
            "failed": self.failed,
            "steps": [{"step": s.name, "found": s.found, "calls": s.calls, "seconds": s.seconds} for s in self.steps],
        }

    def curves(self) -> dict[str, Any]:
        """delta over epsilon as JSON data: `claimed`, and `found` from below and above where the law is known."""
        reach = max(2 * self.claim.level if self.claim.epsilon is not None else 2.0, 1.0)
        if math.isfinite(self.epsilon[0]):
            reach = max(reach, 1.2 * self.epsilon[0])
        epsilons = [float(e) for e in np.linspace(0.0, reach, _POINTS)]
        found = [] if self.curve is None else [[self.curve.delta(e, end) for e in epsilons] for end in (0, 1)]
        return {"epsilon": epsilons, "claimed": [self.claim.delta_at(e) for e in epsilons], "found": found}

    def plot(self, axes: Any = None) -> Any:
        """delta over epsilon, claimed against found, on matplotlib's `axes` or new ones, which are returned."""
        if axes is None:
            import matplotlib.pyplot as plt

            axes = plt.subplots()[1]
        shown = self.curves()
        axes.plot(shown["epsilon"], shown["claimed"], label="claimed", color="black")
        if shown["found"]:
            axes.fill_between(shown["epsilon"], *shown["found"], alpha=0.3, label="found")
            axes.plot(shown["epsilon"], shown["found"][0], linewidth=1)
        elif self.claim.epsilon is not None and math.isfinite(self.epsilon[0]):
            axes.axvline(self.epsilon[0], linestyle="--", label="found, at least")
        axes.set(xlabel="epsilon", ylabel="delta", yscale="log", ylim=(1e-12, 1.5), title=self._head())
        axes.legend()
        return axes

    def _head(self) -> str:
        return f"{self.verdict}: {self.claim.text}, {self.adjacency} adjacency, per release"

    def _lines(self, *, steps: bool = True) -> list[str]:
        name = "epsilon" if self.claim.epsilon is not None else "rho" if self.claim.rho is not None else "mu"
        low, high = (_shown(number, side) for number, side in zip(self.epsilon, ("lower", "upper"), strict=True))
        lines = [f"{name} that follows: {low} to {high}, claimed {self.claim.level:.6g}"]
        if self.slack is not None:
            lines.append(f"noise over the least that keeps the claim: {self.slack:.4g}")
        lines.append(f"neighbours: {self.coverage.words}")
        if self.needs:
            lines.append(f"needs: {self.needs}")
        lines += [f"found: {one}" for one in self.findings]
        lines += [f"assumed: {one}" for one in self.assumed]
        if self.support:
            lines.append(f"outputs: {self.support}")
        if steps:
            lines += [f"step {s.name}: {s.found} ({s.calls} calls, {s.seconds:.2f} s)" for s in self.steps]
        if self.printed:
            lines.append(f"it printed: {' '.join(self.printed.split())[:200]}")
        return lines


def _shown(number: float, side: Any) -> str:
    return f"{rounded(number, side):.5g}" if math.isfinite(number) else "inf"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
