"""Tables that are no tables: devices, what unpacks to too much, separators and decimal commas; and nan in formulas."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.arithmetic import FLOATS
from dpbounds.ols import newton, sketch
from simulators import tables as datasets
from simulators.tables import read_table


def test_what_is_no_regular_file_is_refused(tmp_path):
    with pytest.raises(DomainError, match="regular file"):
        read_table(Path("/dev/full"))
    with pytest.raises(DomainError, match="regular file"):
        read_table(tmp_path)


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "MOST_CHARACTERS", 1000)
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 1000))
    with pytest.raises(DomainError, match="at most 1,000 characters"):
        read_table(path)


@pytest.mark.parametrize(
    ("text", "word"),
    [("a;b\n1,5;2\n", "semicolons"), ("a\tb\n1\t2\n", "tabs"), ('a,b\n"1,5",2\n', "decimals are written with a point")],
)
def test_separators_and_decimal_commas_are_named(tmp_path, text, word):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(DomainError, match=word):
        read_table(path)


def test_nan_is_refused_by_formulas_that_others_are_made_of():
    for call in (
        lambda: newton.edge(math.nan, 3),
        lambda: newton.edge(np.array([1.0, math.nan]), 3),
        lambda: newton.next_clip(math.nan, 1.0, n=10, noise=1.0),
        lambda: newton.next_clip(0.1, math.nan, n=10, noise=1.0),
        lambda: sketch.printed_renyi(FLOATS, 2.0, 10.0, math.nan),
        lambda: sketch.conversion(FLOATS, math.nan, 10.0),
    ):
        with pytest.raises(DomainError, match="nan"):
            call()
