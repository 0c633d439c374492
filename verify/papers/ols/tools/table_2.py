"""Table 2 as printed, and the data sets behind it as far as they are at hand."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from dpbounds import DomainError
from simulators.ols import LeastSquares, Table, prepared, read_table
from verify.statements.claims import DATA_DIR

# "<" in print: below 10^-3.
BELOW = 1e-3
# The random split on which statements about the sets are checked; they were written from splits 0 and 1.
SPLIT = 2


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row: n, d, lambda_min of A and of (X, Y)'(X, Y), r = L*/(gamma_mix (1 + C_Y²)), L*/n, ||Y||²/n, and
    q = sqrt(kappa(psi))/(2 sqrt(8) - 1), as printed: "<" or digits. `columns`: how the columns are prepared, as
    the values of lambda show.
    """

    name: str
    n: int
    d: int
    lambda_x: str
    lambda_xy: str
    r: str
    loss: str
    energy: str
    q: str
    columns: Literal["raw", "standardised"]

    def value(self, field: str) -> float:
        """As a number; the bound 10^-3 where only that is printed."""
        text = getattr(self, field)
        return BELOW if text == "<" else float(text)

    def half_unit(self, field: str) -> float:
        """Half a unit of the last printed digit; 10^-3 where only that is printed."""
        text = getattr(self, field)
        if text == "<":
            return BELOW
        return 0.5 * 10.0 ** -len(text.partition(".")[2])

    @property
    def delta(self) -> float:
        """n⁻²."""
        return float(self.n) ** -2

    @property
    def failure(self) -> float:
        """rho = delta/10."""
        return self.delta / 10.0


_PRINTED = """
3droad 391386 3 13141.3 9609.98 146.352 0.026 0.027 0.409 standardised
airfoil 1202 5 < < 1.38787 0.048 0.787 0.229 raw
autompg 313 7 < < 0.315 0.04 0.362 0.250 raw
autos 143 25 < < 0.0339 0.011 0.137 0.217 standardised
bike 8708 18 < < 3.53458 0.021 0.072 0.630 raw
breastcancer 155 33 < < 0.11666 0.046 0.233 0.220 raw
buzz 524925 77 < < 124.782 0.028 0.066 0.220 standardised
crime 657 99 < < 0.285 0.041 0.22 0.217 raw
concrete 824 8 0.00497 0.00495 0.3285 0.015 0.229 0.352 raw
concreteslump 92 7 0.672 0.01 0.006 0.002 0.153 0.219 standardised
elevators 14939 18 < < 2.20847 0.008 0.037 0.216 standardised
energy 614 8 < < 0.08278 0.005 0.319 0.317 raw
fertility 90 9 1.50256 1.49546 0.25206 0.076 0.104 0.217 standardised
forest 466 12 0.07957 0.07855 0.77175 0.055 0.057 0.216 standardised
gas 2051 128 < < 0.1273 0.006 0.112 0.229 raw
housing 404 13 < < 0.11208 0.01 0.239 0.267 raw
keggdirected 43944 20 < < 6.41448 0.009 0.117 0.214 standardised
keggundirected 57247 27 < < 1.71694 0.002 0.069 0.224 standardised
kin40k 36000 8 1910.7 1908.81 39.1509 0.064 0.064 0.219 standardised
machine 188 7 0.16018 0.14595 0.13828 0.022 0.117 0.217 standardised
parkinsons 4700 21 < < 0.46978 0.004 0.105 0.434 raw
pendulum 567 9 4.24602 4.24482 0.25216 0.018 0.024 0.223 standardised
pol 13500 26 0.004 0.004 42.11 0.183 0.345 0.230 standardised
protein 41157 9 0.021 0.02 83.5075 0.12 0.167 0.232 standardised
pumadyn32nm 7372 32 125.328 125.326 11.0211 0.093 0.093 0.222 standardised
servo 150 4 2.09738 1.15909 0.35435 0.075 0.194 0.223 standardised
slice 48150 385 < < 5.29056 0.026 0.196 0.217 standardised
sml 3723 26 < < 0.49965 0.007 0.210 0.223 standardised
solar 960 10 < < 0.247 0.01 0.012 0.223 standardised
tamielectric 36624 3 32.4147 32.4137 209.37 0.334 0.334 0.782 standardised
tecator 192 124 < < < < 0.158 0.232 raw
wine 1087 11 < < 0.18471 0.007 0.507 0.227 raw
yacht 277 6 0.1736 0.17309 0.03012 0.003 0.110 0.226 standardised
"""


def _rows() -> Iterator[Row]:
    for line in _PRINTED.strip().splitlines():
        name, n, d, lambda_x, lambda_xy, r, loss, energy, q, columns = line.split()
        yield Row(
            name=name,
            n=int(n),
            d=int(d),
            lambda_x=lambda_x,
            lambda_xy=lambda_xy,
            r=r,
            loss=loss,
            energy=energy,
            q=q,
            columns="raw" if columns == "raw" else "standardised",
        )


ROWS: dict[str, Row] = {row.name: row for row in _rows()}

SUFFIXES = (".csv.gz", ".csv")


def folder() -> Path | None:
    """Where the user's data sets are: --data-dir, or its folder `uci`."""
    given = os.environ.get(DATA_DIR)
    if not given:
        return None
    inner = Path(given) / "uci"
    return inner if inner.is_dir() else Path(given)


def file_of(name: str) -> Path | None:
    """The file of a set of Table 2, if it is at hand."""
    where = folder()
    found = [where / f"{name}{suffix}" for suffix in SUFFIXES] if where else []
    return next((path for path in found if path.is_file()), None)


def at_hand() -> list[str]:
    """The sets of Table 2 whose files are there, in its order."""
    return [name for name in ROWS if file_of(name) is not None]


def lacking(*names: str) -> str:
    """Why sets of the paper are not at hand, or nothing; without names, any set will do."""
    if folder() is None:
        return "needs the paper's data sets: `--data-dir DIR` with files like `pol.csv.gz`"
    absent = [name for name in names if file_of(name) is None]
    if absent:
        return f"needs {', '.join(f'`{name}.csv.gz`' for name in absent)} in the folder given by `--data-dir`"
    return (
        "" if at_hand() else "needs the paper's data sets, files like `pol.csv.gz`, in the folder given by `--data-dir`"
    )


def records_of(name: str) -> int:
    """Complete rows in the file of a set at hand."""
    return len(_table(name).rows)


@cache
def _table(name: str) -> Table:
    path = file_of(name)
    if path is None:
        raise DomainError("data_dir", folder(), f"a folder with {name}.csv.gz")
    return read_table(path)


@cache
def uci(name: str, seed: int = SPLIT) -> LeastSquares:
    """The training part of a set of Table 2: as many rows as printed, columns as the printed eigenvalues show."""
    row, table = ROWS[name], _table(name)
    # As many rows as printed if the file has them; half a row guards the product against rounding.
    share = min(1.0, (row.n + 0.5) / len(table.rows))
    return prepared(
        table.rows[:, :-1],
        table.rows[:, -1],
        name=name,
        train_share=share,
        seed=seed,
        regressors=row.columns,
        outcome=row.columns,
    ).train


def digest() -> str:
    """Of all files at hand: results on other data are other results."""
    content = hashlib.sha256()
    for name in at_hand():
        path = file_of(name)
        if path is not None:
            content.update(name.encode() + path.read_bytes())
    return content.hexdigest()[:32] if at_hand() else ""
