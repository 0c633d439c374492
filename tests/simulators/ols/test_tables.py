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
from simulators.tables import number_rows, read_columns, read_table


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


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a,b\n,\n1,2\n", "line 2, column a"),
        ("a,b\n1, NA\n1,2\n", "line 2, column b"),
        ("a,b\n1,2,3\n", "3 cells"),
        ('a,b\n"1,2\n', "line 2 = unexpected end"),
        ("a,b\n1,-inf\n", "column b = -inf"),
        ("\n1,2\n", "a header"),
        ("a,a\n1,2\n", "names each column once"),
    ],
)
def test_a_table_that_must_be_whole_names_what_is_not(tmp_path, text, word):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(DomainError, match=word):
        read_table(path, drop_missing=False)


def test_slow_and_fast_reading_give_the_same(tmp_path):
    """One cell in quotes, which NumPy does not read, a byte order mark, DOS lines, a blank line at the end, gzip."""
    rows = np.random.default_rng(0).standard_normal((50, 3))
    lines = ["a,b,c", *(",".join(map(repr, row.tolist())) for row in rows)]
    quoted = [*lines[:9], ",".join(f'"{cell}"' for cell in lines[9].split(",")), *lines[10:]]
    for number, found in enumerate((lines, quoted)):
        path = tmp_path / f"{number}.CSV.GZ"
        path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + "\r\n".join([*found, "", ""]).encode()))
        assert np.array_equal(read_table(path).rows, rows)
        assert np.array_equal(read_columns(path, ["c", "a"], drop_missing=False).values, rows[:, [2, 0]])


@pytest.mark.parametrize(
    ("text", "rows"),
    [("1\n2\n", [[1], [2]]), ("x\n1,\n\n2", [[1], [2]]), ("a b\n1 2\n3\t4", [[1, 2], [3, 4]]), ("-1e-3", [[-1e-3]])],
)
def test_rows_of_numbers(text, rows):
    assert number_rows(text) == rows


@pytest.mark.parametrize(
    ("text", "word"), [("1;2", "semicolons"), ("1\nnan", "nan"), ("1,2\nx,3", "'x'"), ("inf", "inf")]
)
def test_rows_that_are_no_numbers(text, word):
    with pytest.raises(ValueError, match=word):
        number_rows(text)


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
