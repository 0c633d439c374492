"""The page of an audit: one page whatever the verdict and however much was found; the same result, the same bytes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpbounds.audit import Audit, Coefficients, GaussianEvent, audit, promise_of
from reports.audit import MOST, page
from reports.results import ReportError

pymupdf = pytest.importorskip("pymupdf")


def result(found: Audit):
    return {**found.row(), "curves": found.curves(), "witness": found.witness}


def text_of(content: bytes) -> str:
    document = pymupdf.open(stream=content, filetype="pdf")
    assert len(document) == 1
    return " ".join(document[0].get_text().split())


def test_an_event_on_one_page():
    event = GaussianEvent(kind="poisson", noise_multiplier=1.0, sampling_probability=0.01, steps=100)
    found = audit(event, (0.7, 1e-5), adjacency="add-remove")
    content = page(result(found))
    assert content == page(result(found))
    text = text_of(content)
    for words in ("(0.7, 1e-05)-DP, add-remove adjacency", "refuted", "Witness", "curve", "Assumed", "Steps"):
        assert words in text, words


def test_coefficients_on_one_page():
    found = audit(Coefficients(encoder=np.eye(4), noise_multiplier=2.0), {"mu": 0.5}, adjacency="zero-out")
    text = text_of(page(result(found)))
    assert "proved: by the coefficients alone" in text and "Witness" not in text


def test_much_of_everything_stays_on_one_page():
    words = "markup #let [x] $y$ \\ \u0007 " * 40
    found = Audit(
        verdict="unclear",
        claim=promise_of((1.0, 1e-5)),
        adjacency="zero-out",
        epsilon=(0.0, math.inf),
        assumed=(words,) * 30,
        findings=(words,) * 30,
        needs=words,
        printed=words,
    )
    text = text_of(page(result(found)))
    assert f"and {30 - MOST} more" in text and "#let [x] $y$" in text and "0 to ∞" in text


@pytest.mark.parametrize("broken", [{}, {"verdict": "perhaps"}, {"epsilon": [1.0]}, {"curves": {}}, {"claim": {}}])
def test_what_is_no_result_is_refused(broken):
    event = GaussianEvent(kind="gaussian", noise_multiplier=1.0)
    whole = result(audit(event, {"mu": 1.0}, adjacency="zero-out"))
    with pytest.raises(ReportError, match="cannot be drawn"):
        page({**whole, **broken} if broken else {})
