"""The PDF: everything is in it, nothing in a text becomes markup, the same results give the same bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports import document, render
from reports.render import compile_pdf, report, select
from reports.results import ReportError, Results
from reports.text import plain, typographic
from tests.reports.examples import claim, content, corrected, evidence, one_of_each, picture, results, series, write

HOSTILE = r"""# $x$ *b* _u_ <l> @ref \n "q" 'r' // c /* d ~ [e] {f} `g` -- --- = + 1. #let a = 1 #panic()"""


def text_of(pdf: bytes) -> str:
    """All text without white space, soft hyphens and hyphens at line ends, which depend on the layout."""
    pages = [str(page.get_text()) for page in pymupdf.open(stream=pdf, filetype="pdf")]
    joined = "".join(pages).replace("\u00ad", "").replace("-\n", "").replace("\u2010\n", "")
    return "".join(joined.split())


def tight(text: str) -> str:
    return "".join(text.split()).replace("-", "")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    return text_of(compile_pdf(results(tmp_path_factory.mktemp("all"), one_of_each()))).replace("-", "")


def test_every_claim_is_in_the_report(shown: str) -> None:
    for entry in one_of_each():
        assert tight(entry["claim"]) in shown
        assert tight(entry["where"]) in shown


@pytest.mark.parametrize(
    "text",
    [
        "7 numbered statements: 3 confirmed, 1 corrected, 1 refuted, 1 undecided, 1 not run.",
        "ftrl: 6 claims, other: 1 claim; quick level, seed 0 and 1",
        "The sides differ at η = 0.5.",
        "η = 0.5; left = 0.25; right = 0.375",
        "proved: Proved symbolically: identity.",
        "x = 2; smaller = 4; larger = 3",
        "Different from the last review: ftrl/thm3 is refuted, reviewed was confirmed",
        "Finding 1. The sides differ",
        "about 5000 trials",
        "needs data that nobody has",
        "Figure 1. Mean estimation",
        "12 000 runs; α = 3 × 10⁻⁹; β = 0.001",
        "Ratio of errors SGD 1.000 0.998 1.013 [0.970, 1.056]",
        "Slope of νFTRL: printed 1.000, exact 0.998, simulated 1.013 in [0.970, 1.056].",
        "dpbounds verify ftrl level quick seed 0",
        "dpbounds verify other level quick seed 1",
        "dpbounds report topic ftrl topic other out report.pdf",
        "numpy 2.0.0",
        "ftrl quick 0 c0de 6",
        "1.019",
    ],
)
def test_the_report_says(shown: str, text: str) -> None:
    assert tight(text) in shown


def test_no_markup_is_left_in_the_text(shown: str) -> None:
    assert "$" not in shown
    assert "Holdswhencorrected" not in shown


def test_the_figures_are_drawings(tmp_path: Path) -> None:
    pdf = compile_pdf(results(tmp_path, one_of_each()))
    pages = pymupdf.open(stream=pdf, filetype="pdf")
    colours = {drawing["color"] for page in pages for drawing in page.get_drawings()}
    blue = (0.0, 0x72 / 255, 0xB2 / 255)
    assert any(colour and max(abs(a - b) for a, b in zip(colour, blue, strict=True)) < 0.01 for colour in colours)


def test_without_findings_it_says_so(tmp_path: Path) -> None:
    assert "Nostatementwasrefuted" in text_of(compile_pdf(results(tmp_path, [claim()])))


def test_claims_of_an_unknown_paper_are_shown_under_its_name(tmp_path: Path) -> None:
    drawn = evidence(picture=picture(series()))
    data = document.build(results(tmp_path, [claim("mine/thm-1", evidence=[drawn])]))
    (paper,) = data["papers"]
    assert (paper["title"], paper["figures"], len(paper["gallery"])) == ("mine", [], 1)


def test_runs_at_other_levels_get_their_own_command(tmp_path: Path) -> None:
    data = document.build(results(tmp_path, [claim("ftrl/a"), claim("ftrl/b"), claim("ftrl/c", level="full", seed=7)]))
    assert data["appendix"]["commands"] == [
        "dpbounds verify ftrl --level quick --seed 0",
        "dpbounds verify ftrl/c --level full --seed 7",
        "dpbounds report --topic ftrl --out report.pdf",
    ]


def test_mixed_code_versions_are_told(tmp_path: Path) -> None:
    data = document.build(results(tmp_path, [claim("ftrl/a"), claim("ftrl/b", code="other")]))
    assert "several code versions" in data["summary"]["sentences"][-1]


# --- text stays text ---


def everywhere(text: str) -> list[dict[str, Any]]:
    """The text in every field that holds plain text."""
    drawn = picture(series(text), x=text, y=text)
    failing = evidence(outcome="fails", summary=text, counterexample={text: text, "list": [text]}, picture=drawn)
    holding = evidence(form="corrected", summary=text)
    common: dict[str, Any] = {"where": text, "code": text}
    return [
        corrected(f"ftrl/{text}", finding=text, evidence=[failing, holding], **common),
        claim(f"{text}/1", topic=text, evidence=[evidence(summary=text)], **common),
        claim("ftrl/2", verdict="undecided", finding=text, **common),
        claim("ftrl/3", verdict="not run", how=None, finding=text, evidence=[], **common),
    ]


def parsed(text: str, folder: Path) -> Results:
    whole = content(everywhere(text)) | {"versions": {text: text}}
    path = folder / "results.json"
    path.write_text(json.dumps(whole), encoding="utf-8")
    return render.read(path)


def test_markup_characters_are_printed_as_they_are(tmp_path: Path) -> None:
    found = text_of(compile_pdf(parsed(HOSTILE, tmp_path))).replace("-", "")
    assert found.count(tight(typographic(HOSTILE))) >= 8
    assert tight(plain(HOSTILE)) in found


@given(st.text(max_size=30))
@settings(derandomize=True, deadline=None, max_examples=10)
def test_any_text_survives(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    assert compile_pdf(parsed(text, tmp_path_factory.mktemp("any"))).startswith(b"%PDF")


# --- markup ---


@pytest.mark.parametrize(
    ("name", "markup"),
    [
        ("statement", "$a"),
        ("statement", "#unknown"),
        ("statement", "@nothing"),
        ("statement", "*bold"),
        ("statement", "#pagebreak()"),
        ("statement", '#read("/etc/hostname")'),
        ("hypotheses", "$undefined symbol$"),
        ("correction", "#panic()"),
    ],
)
def test_broken_markup_names_its_claim(tmp_path: Path, name: str, markup: str) -> None:
    path = write(tmp_path, [claim("ftrl/good"), corrected("ftrl/bad", **{name: markup}), claim("ftrl/fine")])
    with pytest.raises(ReportError, match=rf"the {name} of ftrl/bad is not Typst markup \(") as refusal:
        report(path, tmp_path / "out.pdf")
    assert "\n" not in str(refusal.value)
    assert [item.name for item in tmp_path.iterdir()] == ["results.json"]


def test_markup_cannot_reach_out_of_its_place(tmp_path: Path) -> None:
    wild = "#set text(size: 50pt)\n#show: upper\nloud // ] } ) $"
    found = text_of(compile_pdf(results(tmp_path, [claim(statement=wild), claim("ftrl/next", statement="after it")])))
    assert "LOUD" in found
    assert "afterit" in found


def test_an_error_that_is_no_claims_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "build", lambda found: {})
    with pytest.raises(ReportError, match=r"results.json: the report does not compile \("):
        compile_pdf(results(tmp_path, [claim()]))


# --- files ---


def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    path = write(tmp_path, one_of_each())
    report(path, tmp_path / "first.pdf")
    program = (
        f"import sys\nfrom pathlib import Path\nfrom reports.render import report\n"
        f"report(Path({str(path)!r}), Path({str(tmp_path / 'second.pdf')!r}))\n"
        "loaded = {'matplotlib.pyplot', 'dpbounds', 'simulators', 'verify'} & set(sys.modules)\n"
        "sys.exit(f'loaded {loaded}' if loaded else 0)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path, env={**os.environ, "PYTHONHASHSEED": "7"})
    first, second = (tmp_path / "first.pdf").read_bytes(), (tmp_path / "second.pdf").read_bytes()
    assert first == second
    assert b"CreationDate" not in first
    assert compile_pdf(results(tmp_path, [claim()])) != first


def test_topics_are_chosen(tmp_path: Path) -> None:
    found = results(tmp_path, one_of_each())
    assert select(found, None) is found
    assert select(found, ["other"]).topics == ["other"]
    assert select(found, ["other", "ftrl"]).topics == ["ftrl", "other"]
    with pytest.raises(ReportError, match=r"topic 'glm' has no results in .*; it has ftrl, other"):
        select(found, ["ftrl", "glm"])


@pytest.mark.parametrize("step", ["write_bytes", "replace"])
def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    out = tmp_path / "old.pdf"
    out.write_bytes(b"old")

    def full(path: Path, target: object) -> None:
        path.open("wb").close()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, step, full)
    with pytest.raises(ReportError, match=r"old\.pdf: cannot be written \(No space left on device\)"):
        render.write(out, b"new")
    assert out.read_bytes() == b"old"
    assert [item.name for item in tmp_path.iterdir()] == ["old.pdf"]
