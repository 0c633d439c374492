"""What `dpbounds solve ols` is asked: the problem in units of its bounds, every argument in its range."""

from __future__ import annotations

import math
from argparse import Namespace
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from dpbounds import DomainError
from dpbounds.errors import count, nonnegative, positive, within
from dpbounds.ols import Comparison, compare
from dpbounds.ols.comparison import Accounting
from dpbounds.privacy import gaussian_mu
from simulators.engine import seed_sequence
from simulators.ols import LeastSquares, measured_clips, read_table
from verify.cli.solve.files import read

MOST_N, MOST_D, MOST_NUMBERS = 10**12, 2000, 10**8
SPECTRUM = "a file with d positive numbers, one a line or separated by commas"
EPSILONS = "[1e-6, 1e6]"
# The mean squared length of the rows of an assumed design.
TRACE = 0.25


@dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """A problem with ||x|| <= 1, |y| <= 1: A = X'X, b = X'Y, ||Y||², n; the budget; options of `compare`.

    `records` are those of --csv, else None. `units`: C_Y², what risks are multiplied by to be in the data's own.
    `said`: what is assumed, or read off the data.
    """

    A: np.ndarray
    b: np.ndarray
    y_squared: float
    n: int
    epsilon: float
    delta: float
    failure: float
    options: dict
    records: LeastSquares | None
    units: float
    said: tuple[str, ...]

    def answer(self, epsilon: float | None = None) -> Comparison:
        """At the budget; or at another epsilon, at equal true privacy alone."""
        accountings: tuple[Accounting, ...] = ("tight", "experiments") if epsilon is None else ("tight",)
        epsilon = self.epsilon if epsilon is None else epsilon
        clips = None
        if self.records is not None:
            clips = measured_clips(self.records, float(gaussian_mu(epsilon, self.delta)))
        return compare(
            self.A,
            self.b,
            self.y_squared,
            self.n,
            epsilon,
            self.delta,
            failure=self.failure,
            newton_clips=clips,
            **self.options,
            accountings=accountings,
        )

    @property
    def d(self) -> int:
        """Regressors."""
        return len(self.b)

    def simulated_records(self, seed: int) -> LeastSquares:
        """Those of --csv; else drawn for the assumed design: signs along the axes, residuals of two sizes."""
        return self._assumed_records(seed) if self.records is None else self.records

    def _assumed_records(self, seed: int) -> LeastSquares:
        """Columns of signs, so that all rows have one length and X'X is A in expectation."""
        if self.n * self.d > MOST_NUMBERS:
            raise DomainError("n", self.n, f"at most {MOST_NUMBERS // self.d} with --simulate and d = {self.d}")
        generator = np.random.default_rng(seed_sequence(["records of solve ols", self.n, self.d], seed=seed))
        X = generator.choice([-1.0, 1.0], size=(self.n, self.d)) * np.sqrt(np.diag(self.A) / self.n)
        theta = self.b / np.diag(self.A)
        spread = math.sqrt(max(self.y_squared - float(self.b @ theta), 0.0) / self.n)
        Y = X @ theta + spread * generator.choice([-1.0, 1.0], size=self.n)
        return LeastSquares.bounded(X, Y, beyond="clip")


@dataclass(frozen=True, kw_only=True)
class _Data:
    """Records in units of their bounds."""

    records: LeastSquares
    units: float
    said: tuple[str, ...]

    @cached_property
    def statistics(self) -> tuple[np.ndarray, np.ndarray, float, int]:
        return self.records.gram, self.records.cross, self.records.y_squared, self.records.n


def question(arguments: Namespace) -> Question:
    """`DomainError` names the first argument that is out of its range."""
    within("epsilon", positive("epsilon", arguments.epsilon), EPSILONS)
    data = _data(arguments) if arguments.csv is not None else None
    (A, b, y_squared, n), units, said = (
        (data.statistics, data.units, data.said) if data is not None else (_design(arguments), 1.0, _assumed(arguments))
    )
    delta = n**-2.0 if arguments.delta is None else arguments.delta
    within("delta", delta, "[1e-290, 1)", "--delta is needed for a single record" if n == 1 else "")
    failure = delta / 10 if arguments.failure is None else within("failure", arguments.failure, "[1e-300, 1)")
    sizes = {"k": arguments.k, "linear_k": arguments.linear_k}
    options = {name: size for name, size in sizes.items() if size is not None}
    options |= {"steps": count("T", arguments.T), "rate": positive("rate", arguments.rate)}
    if arguments.clip is not None:
        options["clip"] = within("clip", arguments.clip, "[1e-12, 1e12]")
    return Question(
        A=A,
        b=b,
        y_squared=y_squared,
        n=n,
        epsilon=arguments.epsilon,
        delta=delta,
        failure=failure,
        options=options,
        records=data.records if data is not None else None,
        units=units,
        said=said,
    )


def _design(arguments: Namespace) -> tuple[np.ndarray, np.ndarray, float, int]:
    """A diagonal matrix with the spectrum, theta* in equal parts."""
    for name in ("n", "d"):
        if getattr(arguments, name) is None:
            raise DomainError(name, None, "given without --csv", "--n and --d, or --csv and --target")
    for name in ("target", "row_bound", "outcome_bound"):
        if getattr(arguments, name) is not None:
            raise DomainError(name, getattr(arguments, name), "left out without --csv")
    d = count("d", arguments.d)
    n = count("n", arguments.n, d, f"d = {d}: with fewer records than regressors X'X is singular")
    if d > MOST_D or n > MOST_N:
        raise DomainError("d" if d > MOST_D else "n", max(d, n), f"at most {MOST_D if d > MOST_D else MOST_N}")
    spectrum = _spectrum(arguments, n, d)
    theta = np.full(d, nonnegative("theta_norm", arguments.theta_norm) / math.sqrt(d))
    signal = float(spectrum @ theta**2)
    residual = nonnegative("residual", arguments.residual) * n
    if signal + residual > n:
        found = f"||Y||²/n = {(signal + residual) / n:.4g}"
        raise DomainError("theta_norm, residual", found, "at most 1, as |y| <= 1", "give smaller ones")
    return np.diag(spectrum), spectrum * theta, signal + residual, n


def _spectrum(arguments: Namespace, n: int, d: int) -> np.ndarray:
    """Eigenvalues of X'X, the smallest first, their sum at most n."""
    if arguments.spectrum is not None:
        if arguments.lambda_min is not None:
            raise DomainError("lambda_min", arguments.lambda_min, "left out with --spectrum", "the file has its own")
        return _from_file(arguments.spectrum, n, d)
    trace = TRACE * n
    if arguments.lambda_min is None:
        return np.full(d, trace / d)
    least = positive("lambda_min", arguments.lambda_min)
    if least > trace / d:
        raise DomainError("lambda_min", least, f"at most n/(4d) = {trace / d:.6g}", "rows have length 1/2")
    if d == 1:
        return np.full(1, trace)
    low, high = 0.0, math.log(trace / least)
    for _ in range(200):  # the ratio of the ends at which the trace is right
        middle = (low + high) / 2
        low, high = (low, middle) if least * np.exp(np.linspace(0, middle, d)).sum() > trace else (middle, high)
    return least * np.exp(np.linspace(0.0, low, d))


def _from_file(file: str, n: int, d: int) -> np.ndarray:
    text = read("spectrum", file, SPECTRUM)
    try:
        values = np.sort([float(part) for part in text.replace(",", " ").split()])
    except ValueError as error:
        raise DomainError("spectrum", Path(file), SPECTRUM, str(error)) from None
    if len(values) != d or not (values > 0).all() or not np.isfinite(values).all():
        raise DomainError("spectrum", Path(file), SPECTRUM, f"it holds {len(values)}, and d = {d}")
    if values.sum() > n:
        raise DomainError("spectrum", f"a sum of {values.sum():.6g}", f"at most n = {n}", "rows have length 1 at most")
    return values


def _assumed(arguments: Namespace) -> tuple[str, ...]:
    """What stands in for data."""
    kind = "all eigenvalues of X'X alike" if arguments.lambda_min is None else "a geometric spectrum of X'X"
    spectrum = "the spectrum of X'X in the file" if arguments.spectrum else f"{kind}, rows of length 1/2"
    return (
        f"Assumed: {spectrum}; theta* of length {arguments.theta_norm:g} in equal parts along the eigenvectors; mean "
        f"squared residual {arguments.residual:g}; ||x|| <= 1, |y| <= 1.",
    )


def _data(arguments: Namespace) -> _Data:
    for name in ("n", "d", "spectrum", "lambda_min"):
        if getattr(arguments, name) is not None:
            raise DomainError(name, getattr(arguments, name), "left out with --csv", "the file says it")
    if arguments.target is None:
        raise DomainError("target", None, "the name of a column", "say which is the outcome")
    table = read_table(Path(arguments.csv))
    if table.dropped and not arguments.drop_missing:
        raise DomainError(
            "csv", Path(arguments.csv), "without missing values", f"{table.dropped} records have some: --drop-missing"
        )
    position = table.column(arguments.target)
    if len(table.names) < 2:
        raise DomainError("csv", Path(arguments.csv), "a table with an outcome and regressors")
    X, Y = np.delete(table.rows, position, axis=1), table.rows[:, position]
    if X.shape[1] > MOST_D:
        raise DomainError("csv", f"{X.shape[1]} regressors", f"at most {MOST_D}")
    own = {"row_bound": float(np.linalg.norm(X, axis=1).max()), "outcome_bound": float(np.abs(Y).max())}
    chosen = {name: own[name] if getattr(arguments, name) is None else getattr(arguments, name) for name in own}
    for name, value in chosen.items():
        positive(name, value, "the column holds nothing but 0" if getattr(arguments, name) is None else "")
    if arguments.beyond == "refuse":
        for name, largest in own.items():
            if largest > chosen[name] * (1 + 1e-9):
                remedy = "--beyond clip shortens the records that exceed it"
                raise DomainError(name, chosen[name], f"at least {largest:.6g}, what the data reach", remedy)
    bounded = LeastSquares.bounded(X, Y, **chosen, beyond="clip")
    scaled = LeastSquares.bounded(
        bounded.regressors / chosen["row_bound"], bounded.outcome / chosen["outcome_bound"], beyond="clip"
    )
    return _Data(
        records=scaled, units=chosen["outcome_bound"] ** 2, said=_read_off(arguments, own, chosen, table.dropped)
    )


def _read_off(arguments: Namespace, own: dict, chosen: dict, dropped: int) -> tuple[str, ...]:
    """What was taken from the data, all of which a private answer would have to pay for."""
    name = Path(arguments.csv).name
    lines = [f"Everything below is computed from the records of {name} and is not private: public data, or a stand-in."]
    scaled = [
        label for label, key in (("||x||", "row_bound"), ("|y|", "outcome_bound")) if getattr(arguments, key) is None
    ]
    if scaled:
        lines.append(f"The bounds on {' and '.join(scaled)} are the data's own largest, as in the paper: not private.")
    beyond = [key for key in own if own[key] > chosen[key] * (1 + 1e-9)]
    if beyond:
        lines.append(f"Records beyond {' and '.join(beyond)} were shortened to it (--beyond clip).")
    if dropped:
        lines.append(f"{dropped} records with a missing value were left out.")
    return tuple(lines)
