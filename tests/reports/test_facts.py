"""The facts behind a claim, in few lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reports.document import build
from reports.facts import MOST, digest
from reports.reader import ReportError, read
from tests.reports.examples import claim, evidence, results, write


def test_facts_of_one_form_are_told_once() -> None:
    facts = ["mean at n = 3: difference 1e-14.", "mean at n = 4: difference 2e-15.", "the noise is symmetric."]
    assert digest(facts) == "mean at n = 3: difference 10⁻¹⁴ (1 more like it); the noise is symmetric"
    assert digest([]) == ""
    assert len(digest([f"{chr(97 + k) * 30}." for k in range(26)])) <= MOST


def test_they_stand_in_the_appendix(tmp_path: Path) -> None:
    found = results(
        tmp_path, [claim(evidence=[evidence(facts=["a is b."]), evidence(facts=["c is d."])]), claim("ftrl/x")]
    )
    assert build(found)["appendix"]["facts"] == [["ftrl/thm-1", "a is b; c is d"]]


@pytest.mark.parametrize("facts", ["a", [1], None])
def test_what_is_no_list_of_texts_is_refused(tmp_path: Path, facts: Any) -> None:
    with pytest.raises(ReportError, match=r"evidence 1: 'facts' must be"):
        read(write(tmp_path, [claim(evidence=[evidence(facts=facts)])]))
