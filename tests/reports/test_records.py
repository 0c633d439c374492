"""The results file is the contract between `verify`, which writes it, and `reports`, which imports none of it.

Each side declares its own records; here they are held together.
"""

from __future__ import annotations

from dataclasses import fields
from typing import get_args

import pytest

from reports import results as read
from verify.checks import base, evidence, pictures
from verify.running import entries, results
from verify.statements import claims, topics

# (record as read, record as written, what only the file has: markup beside the plain text, and which form it is of)
RECORDS = [
    (read.Series, pictures.Series, {"typeset"}),
    (read.Slope, pictures.Slope, {"typeset"}),
    (read.Picture, pictures.Picture, {"typeset"}),
    (read.Evidence, evidence.Evidence, {"form"}),
    (read.Highlight, topics.Highlight, {"typeset"}),
    (read.Panel, topics.Panel, {"typeset"}),
    (read.Figure, topics.Figure, {"typeset"}),
]
WORDS = [
    (read.ROLES, pictures.Role),
    (read.GROUNDS, evidence.How),
    (read.OUTCOMES, evidence.Outcome),
    (read.LEVELS, base.Level),
    (read.FORMS, claims.Form),
    (read.VERDICTS, claims.Word),
    (read.SEVERITIES, claims.Severity),
    (read.TOUCHES, claims.Touches),
]


@pytest.mark.parametrize(("shown", "written", "added"), RECORDS)
def test_what_is_written_is_read(shown, written, added):
    assert {item.name for item in fields(shown)} == {item.name for item in fields(written)} | added


@pytest.mark.parametrize(("shown", "written"), WORDS)
def test_the_same_words_are_allowed(shown, written):
    assert set(shown) == set(get_args(written))


def test_a_paper_is_cited_by_the_same_fields():
    not_shown = {"package", "sources", "solve", "check", "design", "fit", "summary"}
    assert {item.name for item in fields(read.Paper)} == {item.name for item in fields(topics.Topic)} - not_shown


def test_the_file_is_the_same():
    assert (read.FORMAT, read.RUN) == (entries.FORMAT, results.RUN)
