"""The two real data sets of the paper as problems: Card (iv Fig. 12), Angrist and Evans (iv Fig. 5, 10, 11).

>>> import tempfile
>>> file = Path(tempfile.mkdtemp()) / "table.csv"
>>> size = file.write_text(chr(10).join(["x,y", "1,2", "3,4"]))
>>> read_columns(file, {"y": float})["y"].tolist()
[2.0, 4.0]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count
from simulators.iv.problems import FixedData
from simulators.tables import MISSING, read_texts

ANGRIST_EVANS_FILES = ("angrist-evans-1980-sample.csv.gz", "angrist-evans-1980-sample.csv")
CARD_INSTRUMENTS = ("nearc2", "nearc4", "fatheduc", "motheduc")


@typed
def card(*, centre: bool = False) -> FixedData:
    """Card's schooling data (National Longitudinal Survey of Young Men, 1976) as `linearmodels` ships them.

    Z = (nearc2, nearc4, fatheduc, motheduc), each of mean 0 and variance 1 (divisor n); X = educ, Y = lwage as they are
    or centred: the paper does not say, 2SLS and unclipped runs are the same, clipped ones are not. n = 2191: records
    complete in these columns and in KWW, which reproduces the paper's number. Raises `DomainError` where linearmodels
    is not installed.
    """
    try:
        from linearmodels.datasets import card as shipped
    except ImportError:
        raise DomainError("data", "Card's", "at hand", "pip install 'dpbounds[card]'") from None

    columns = [*CARD_INSTRUMENTS, "educ", "lwage"]
    complete = shipped.load().dropna(subset=[*columns, "KWW"])
    values = np.asarray(complete[columns], dtype=float)
    Z, X, Y = values[:, :4], values[:, 4:5], values[:, 5]
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    if centre:
        X, Y = X - X.mean(axis=0), Y - Y.mean()
    return FixedData(instruments=Z, regressors=X, outcome=Y)


@typed
def angrist_evans(data_dir: str | Path, *, n: int | None = 8065, seed: int = 0) -> FixedData:
    """The 1980 census extract of Angrist and Evans from `angrist-evans-1980-sample.csv[.gz]` in a folder.

    z = 1 if the first two children have the same sex (gender1, gender2: male or female), x = 1 if there are more than
    two (morekids: yes or no; the paper has the number of children), y = weeks worked (work); all centred. A random
    subset of n records drawn with `seed`, None for all of them: which 8065 the paper drew is not known.

    Raises `DomainError` for a file that is missing or cannot be read, and for columns or values other than these.
    """
    path = _found(Path(data_dir), ANGRIST_EVANS_FILES)
    table = read_columns(path, _ANGRIST_EVANS_READERS)
    rows = np.stack([table["gender1"] == table["gender2"], table["morekids"], table["work"]], axis=1).astype(float)
    if n is not None:
        if count("n", n) > len(rows):
            raise DomainError("n", n, f"at most {len(rows)}, the records in {path.name}", "None takes all")
        chosen = np.random.default_rng(count("seed", seed, least=0)).choice(len(rows), size=int(n), replace=False)
        rows = rows[np.sort(chosen)]
    rows -= rows.mean(axis=0)
    return FixedData(instruments=rows[:, :1], regressors=rows[:, 1:2], outcome=rows[:, 2])


def read_columns(path: Path, readers: Mapping[str, Callable[[str], float]]) -> dict[str, np.ndarray]:
    """The named columns of a CSV file with a header, plain or gzip, each value turned into a number by its reader.

    Raises `DomainError` naming the file, the line and the column.
    """
    columns: dict[str, list[float]] = {name: [] for name in readers}
    for line, texts in read_texts(path, list(readers)):
        for (name, reader), text in zip(readers.items(), texts, strict=True):
            columns[name].append(_value(path, line, name, text, reader))
    if not next(iter(columns.values())):
        raise DomainError("file", path, "a CSV file with records", "this one has none")
    return {name: np.array(values) for name, values in columns.items()}


def _found(folder: Path, names: Sequence[str]) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise DomainError("data_dir", folder, f"a folder that holds {' or '.join(names)}", "point --data-dir at your copy")


def _value(path: Path, line: int, column: str, text: str, reader: Callable[[str], float]) -> float:
    place = f"{path.name}, line {line}, column {column}"
    if text.strip().lower() in MISSING:
        raise DomainError(place, text or "nothing", "a value", "missing values are not imputed: drop the record")
    try:
        return reader(text.strip())
    except (KeyError, ValueError):
        raise DomainError(place, text, _ALLOWED.get(column, "a finite number")) from None


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


_SEX = {"male": 0.0, "female": 1.0}
_ANSWER = {"no": 0.0, "yes": 1.0}
_ANGRIST_EVANS_READERS: dict[str, Callable[[str], float]] = {
    "morekids": _ANSWER.__getitem__,
    "gender1": _SEX.__getitem__,
    "gender2": _SEX.__getitem__,
    "work": _number,
}
_ALLOWED = {"morekids": "yes or no", "gender1": "male or female", "gender2": "male or female"}
