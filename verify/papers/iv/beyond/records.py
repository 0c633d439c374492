"""Beyond the paper: the records of the named models and data files are what their documentation says."""

from __future__ import annotations

import gzip
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from simulators.iv import angrist_evans
from simulators.iv.confidence.models import CellModel, Compliers, OneInstrument, WeakInstruments
from simulators.iv.models import angrist_surrogate, synthetic_model
from verify.checks import Agreement, Fact, Holds, Times
from verify.statements.claims import Claim

_OFF = {"1 % off": {"facts": Times(1.01)}}
SEED, TRIALS = 5, 3


def _generator() -> np.random.Generator:
    """The one that a model draws from, again."""
    return np.random.default_rng(SEED)


# --- models for confidence sets ---


def _weak(rng: np.random.Generator) -> Iterator[Fact]:
    """x = pi 1'z + e_2, y = slope x + e_1, from the same draws."""
    n, pi, kept = 40, 0.8, 0.6
    for law in ("gaussian", "sign"):
        for errors in ("normal", "t3", "exponential", "heteroskedastic"):
            model = WeakInstruments(
                n=n, q=2, strength=1 + n * pi**2, endogeneity=kept, slope=1.5, instruments=law, errors=errors
            )
            found, own, shape = model.draw(_generator(), TRIALS), _generator(), (TRIALS, n)
            size = (TRIALS, 2, n)
            z = own.standard_normal(size) if law == "gaussian" else np.where(own.integers(0, 2, size=size) == 1, 1, -1)
            if errors == "t3":
                draws = [(own.standard_normal(shape), own.standard_gamma(1.5, shape)) for _ in range(2)]
                e1, w = (normal / np.sqrt(2 * gamma / 3) / math.sqrt(3) for normal, gamma in draws)
            elif errors == "exponential":
                e1, w = (own.standard_exponential(shape) - 1 for _ in range(2))
            else:
                e1, w = (own.standard_normal(shape) for _ in range(2))
            if errors == "heteroskedastic":
                e1 = e1 * np.sqrt((1 + z[:, 0] ** 2) / 2 if law == "gaussian" else 1 + z[:, 0] / 2)
            x = pi * (z[:, 0] + z[:, 1]) + kept * e1 + 0.8 * w
            label = f"weak instruments, {law}, {errors}"
            yield Fact(f"{label}: z", found.instruments, z)
            yield Fact(f"{label}: x", found.regressors[:, 0], x)
            yield Fact(f"{label}: y", found.outcome, 1.5 * x + e1)
            yield Fact(f"{label}: beta, q and p", [*model.beta, *model.dimensions], [1.5, 2, 1])
            # y = 1.5 pi (z_1 + z_2) + (1.5 * 0.6 + 1) e_1 + 1.5 * 0.8 w.
            y = math.hypot(1.5 * pi, 1.5 * pi, 1.5 * kept + 1, 1.5 * 0.8)
            yield Fact(f"{label}: deviations of y and x", model.deviations, [y, math.hypot(pi, pi, 1)])


def _compliers(rng: np.random.Generator) -> Iterator[Fact]:
    """Types by one uniform draw; always-takers have a level and an effect of their own."""
    model = Compliers(n=60, compliers=0.5, takers=0.2, effect=1.2, other_effect=-2.0, taker_level=0.7, deviation=1.5)
    found, own, shape = model.draw(_generator(), TRIALS), _generator(), (TRIALS, 60)
    up, kind, noise = own.integers(0, 2, size=shape), own.random(shape), own.standard_normal(shape)
    x = np.select([kind < 0.2, kind < 0.7], [1, up], 0)
    effect = np.where(kind < 0.2, -2.0, 1.2)
    y = np.where(kind < 0.2, 0.7, 0.0) + 1.5 * noise + effect * x
    yield Fact("compliers: z", found.instruments[:, 0], up - 0.5)
    yield Fact("compliers: x", found.regressors[:, 0], x)
    yield Fact("compliers: y", found.outcome, y)
    yield Fact("compliers: beta, q and p", [*model.beta, *model.dimensions], [1.2, 1, 1])


# Medians of the centred laws before they are cut.
_TAIL = math.exp(0.32)
MEDIANS = {
    "normal": 0.0,
    "t3": 0.0,
    "exponential": math.log(2) - 1,
    "lognormal": 1 - _TAIL,
    "negative lognormal": _TAIL - 1,
}


def _one_instrument(rng: np.random.Generator) -> Iterator[Fact]:
    """x = D z + v, y = slope x + v / 2 + w, for every law of w and of D; ranges by quantiles."""
    n, shape = 2000, (TRIALS, 2000)
    for errors, median in MEDIANS.items():
        for effects in ("constant", "mixed", "related"):
            model = OneInstrument(n=n, first_stage=0.4, errors=errors, effects=effects, probability=0.3, slope=0.6)  # type: ignore[arg-type]
            found, own = model.draw(_generator(), TRIALS), _generator()
            z, v = (own.random(shape) < 0.3) * 1.0, own.standard_normal(shape)
            if errors == "t3":
                w = own.standard_t(3, shape)
            elif errors == "exponential":
                w = own.standard_exponential(shape) - 1
            else:
                normal = own.standard_normal(shape)
                tail = np.exp(0.8 * normal) - _TAIL
                w = {"normal": normal, "lognormal": tail, "negative lognormal": -tail}[errors]
            w = np.where(np.abs(w) > 20, 20 * np.sign(w), w)
            D = np.full(shape, 0.4)
            if effects != "constant":
                D = np.where(own.random(shape) < 0.5 if effects == "mixed" else w > median, 0.8, 0.0)
            x = D * z + v
            label = f"one instrument, {errors}, {effects}"
            yield Fact(f"{label}: z", found.instruments[:, 0], z)
            yield Fact(f"{label}: x", found.regressors[:, 0], x)
            yield Fact(f"{label}: y", found.outcome, 0.6 * x + v / 2 + w)
    yield Fact("one instrument: beta, q and p", [*model.beta, *model.dimensions], [0.6, 1, 1])
    y = OneInstrument(n=200_000, first_stage=0.4, errors="lognormal").draw(np.random.default_rng(0), 1).outcome[0]
    model = OneInstrument(n=7, first_stage=0.4, errors="lognormal")
    for sides, ends in ((2, model.outcome_range(0.02, 2)), (1, model.outcome_range(0.02, 1))):
        outside = [float(np.mean(y < ends[0])), float(np.mean(y > ends[1]))]
        yield Fact(
            f"shares below and above a range of {sides}", outside, [0.01, 0.01] if sides == 2 else [0, 0.02], 1e-3
        )


def _cells(rng: np.random.Generator) -> Iterator[Fact]:
    """z, x and y whose means turn with the cell."""
    model = CellModel(
        n=50, cells=5, first_stage=0.3, slope=0.4, noise=0.15, instrument_shift=0.3, outcome_shift=0.2, turns=2
    )
    found, own, shape = model.draw_cells(_generator(), TRIALS), _generator(), (TRIALS, 50)
    cells = own.integers(0, 5, size=shape)
    u, w, v, e = (own.uniform(-1, 1, shape) for _ in range(4))
    s = np.cos(4 * math.pi * cells / 5)
    x = 0.2 * s + 0.3 * u + 0.15 * w + 0.15 * e
    yield Fact("cells", found.cells, cells, 0.0)
    yield Fact("cells: z", found.instruments, 0.3 * s + u / 2)
    yield Fact("cells: x", found.regressors, x)
    yield Fact("cells: y", found.outcome, 0.4 * x + 0.2 * s + 0.15 * v + 0.15 * e)
    yield Fact("cells: beta", model.beta, [0.4])


# --- models and data of the paper ---


def _linear(rng: np.random.Generator) -> Iterator[Fact]:
    """Section 4.1 with the confounder written out; the surrogate's deviations."""
    model, own = synthetic_model(n=30, p=2, q=3, r=2, parameter_seed=7), np.random.default_rng(7)
    beta, E = own.standard_normal(2), own.standard_normal((3, 2))
    Phi, phi = own.standard_normal((2, 2)), own.standard_normal(2)
    errors = np.eye(3) + np.block([[Phi.T @ Phi, (Phi.T @ phi)[:, None]], [(phi @ Phi)[None], phi @ phi]])
    yield Fact("Section 4.1: beta", model.beta, beta)
    yield Fact("Section 4.1: Theta", model.theta, np.array([[5, 0], [0, 5], [0, 0]]) + E)
    yield Fact("Section 4.1: covariance of the errors", model.error_covariance, errors)
    found = angrist_surrogate(beta=-5.0)
    first, spread = float(found.theta[0, 0]), float(np.asarray(found.instrument_covariance)[0, 0])
    x = first**2 * spread + float(found.error_covariance[0, 0])
    y = 25 * x + float(found.error_covariance[1, 1])
    yield Fact(
        "surrogate: first stage, z, x and y", [first, spread, math.sqrt(x), math.sqrt(y)], [0.067, 0.25, 0.48, 22]
    )
    z = found.records(np.random.default_rng(1), 1).instruments
    yield Fact("surrogate: z is -1/2 or 1/2", np.unique(z), [-0.5, 0.5], 0.0)


TABLE = (
    "age,gender1,morekids,gender2,work",
    "30,male,no,male,52",
    "31,male,yes,female,0",
    "32,female,yes,female,10",
    "33,female,no,male,26",
    "33,male,yes,male,40",
    "33,female,yes,female,12",
)


def _census(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """A file of six records, plain and compressed: same sex, more than two children, weeks; all centred."""
    columns = np.array([[1.0, 0, 52], [0, 1, 0], [1, 1, 10], [0, 0, 26], [1, 1, 40], [1, 1, 12]])
    with tempfile.TemporaryDirectory() as folder:
        text = "\n".join(TABLE) + "\n"
        for name, content in (("", text.encode()), (".gz", gzip.compress(text.encode()))):
            file = Path(folder) / f"angrist-evans-1980-sample.csv{name}"
            file.write_bytes(content)
            found = angrist_evans(folder, n=None)
            rows = np.column_stack([found.instruments, found.regressors, found.outcome])
            yield Fact(f"{file.name}: all records", rows, columns - columns.mean(axis=0))
            some = angrist_evans(folder, n=5, seed=2)
            kept = np.column_stack([some.instruments, some.regressors, some.outcome])
            left = [np.delete(columns, gone, axis=0) for gone in range(6)]
            same = any(np.allclose(kept, five - five.mean(axis=0)) for five in left)
            yield Holds(f"{file.name}: five of them, in their order", same)
            file.unlink()


BEYOND_RECORDS = Claim(
    id="iv/beyond-records",
    where="models and data that experiments are made on",
    kind="algorithm",
    statement=(
        (
            "Records of `WeakInstruments`, `Compliers`, `OneInstrument` and `CellModel` are those of their "
            "documentation, for every law of the errors, of the effects and of the instruments, draw by draw;"
        ),
        (
            "the model of Section 4.1 has the confounder in the covariance of its errors, the surrogate of the census "
            "extract has the stated deviations, and a file of that extract is read as $z$, $x$ and $y$, centred."
        ),
    ),
    checks=(
        Agreement(decides="a", facts=_weak, impostors=_OFF),
        Agreement(decides="a", facts=_compliers, impostors=_OFF),
        Agreement(decides="a", facts=_one_instrument, impostors=_OFF),
        Agreement(decides="a", facts=_cells, impostors=_OFF),
        Agreement(decides="b", facts=_linear, impostors=_OFF),
        Agreement(decides="b", facts=_census, impostors=_OFF),
    ),
)
