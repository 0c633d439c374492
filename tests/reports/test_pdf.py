"""The PDF: everything is in it, nothing in a text becomes markup, the same results give the same bytes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports import document, render
from reports.render import compile_pdf, compile_summary, report, select
from reports.results import ReportError, Results
from reports.text import one_line, typographic
from tests.reports.examples import (
    claim,
    corrected,
    evidence,
    full_topic,
    highlight,
    of_slack,
    one_of_each,
    picture,
    results,
    series,
    topic,
    write,
)

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
        "quick level, seed 0 and 1; Linux x86_64; 2026-01-31",
        "ftrl: 10 claims, other: 1 claim; quick level, seed 0 and 1",
        "A. Author, B. Writer",
        "ICLR 2024; arXiv v2; https://example.org/paper",
        "10 statements: 3 confirmed, 4 corrected, 1 refuted, 1 undecided, 1 not run.",
        "4 faults by root: 1 of the false ones fall only because another does.",
        "Different from the last review: ftrl/thm3 is refuted, reviewed was confirmed",
        "What stands • Theorem 1 stands",
        "Its price is 9, not 3. (Finding 2; Theorem 1, p. 3)",
        "Beside these: 1 missing hypothesis or wrong constant (Finding 3) and 1 slip (Finding 4).",
        "Sharper here than in the paper • The constant 1.25 is sharp.",
        "ftrl/follower, Remark 7, (8), p. 3: It inherits 9.",
        "Ground By induction on",
        "Consequence The lemma falls, the theorem stands.",
        "proved: Proved symbolically: identity.",
        "Remark: For",
        "Tested with: Seed 7",
        "slack 1.25",
        "Finding 2. Proved symbolically",
        "about 5000 trials",
        "needs data that nobody has",
        "Figure 1. Mean estimation",
        "12 000 runs; α = 3 × 10⁻⁹; β = 0.001",
        "In captions, α is the probability",
        "They hide one another: SGD (exact and as printed).",
        "Ratio of errors SGD 1.000 0.998 1.013 [0.970, 1.056]",
        "Slope of νFTRL: printed 1.000, exact 0.998, simulated 1.013 in [0.970, 1.056].",
        "dpbounds verify ftrl level quick seed 0",
        "dpbounds verify other level quick seed 1",
        "dpbounds report ftrl other out report.pdf",
        "numpy 2.0.0",
        "ftrl quick 0 c0de 10",
    ],
)
def test_the_report_says(shown: str, text: str) -> None:
    assert tight(text) in shown


@pytest.mark.parametrize("text", ["$", "This one does not hold today", "resolution is", "slack 1.019", "1 facts"])
def test_the_report_does_not_say(shown: str, text: str) -> None:
    """Markup; a sentence whose claims are not as reviewed; a rate that no caption has; a slack that means nothing."""
    assert tight(text) not in shown


def test_the_front_comes_first_and_findings_in_their_order(shown: str) -> None:
    places = [shown.index(tight(text)) for text in ("What stands", "What does not", "1Findings", "1.2Substantive")]
    places += [shown.index(tight(text)) for text in ("1.3Hypotheses", "1.4Slips", "2ThepaperftrlClaims"[:13])]
    assert places == sorted(places)


def test_figures_are_drawings_and_their_numbers_are_text(tmp_path: Path) -> None:
    pdf = compile_pdf(results(tmp_path, one_of_each()))
    pages = pymupdf.open(stream=pdf, filetype="pdf")
    colours = {drawing["color"] for page in pages for drawing in page.get_drawings()}
    blue = (0.0, 0x72 / 255, 0xB2 / 255)
    assert any(colour and max(abs(a - b) for a, b in zip(colour, blue, strict=True)) < 0.01 for colour in colours)
    first = str(pages[0].get_text()).split("\n")
    assert {"1", "10", "100"} <= {line.strip() for line in first}
    names = " ".join(font[3] for page in pages for font in page.get_fonts())
    assert "STIX" not in names
    assert "Libertinus" in names


def test_notation_stands_before_the_findings_and_an_index_at_the_end(tmp_path: Path) -> None:
    """The pages that the index gives have the claims, and their findings where there are such."""
    signs = [{"symbol": "eta", "meaning": "rate", "typeset": {"symbol": "$eta$", "meaning": "learning rate"}}] * 3
    entries = [entry | {"claim": f"{entry['claim']}-{k}"} for k in range(9) for entry in one_of_each()]
    found = results(tmp_path, entries, [full_topic(notation=signs), topic("other")])
    pages = [page.get_text() for page in pymupdf.open(stream=compile_pdf(found), filetype="pdf")]
    start = next(number for number, text in enumerate(pages) if "Index of claims" in text and number > 3)
    lines = re.findall(
        r"([a-z]+/[a-z0-9-]+?)[\s.]+([0-9, ]+)\n", "".join(pages[start:]).partition("Index of claims")[2]
    )
    of = document.build(found)["index"]
    assert [name for name, _ in lines] == [name for name, _ in of]
    for (name, shown), (_, finding) in zip(lines, of, strict=True):
        numbers = [int(number) for number in shown.split(",")]
        assert len(numbers) == 1 + bool(finding)
        assert all(name in pages[number - 1].replace("\n", "") for number in numbers), name
    whole = tight("".join(pages))
    assert whole.count("learningrate") == 3
    assert whole.index("learningrate") < whole.index("Statementsthattheevidencecontradicts")


def test_no_two_half_empty_pages_in_a_row(tmp_path: Path) -> None:
    many = [entry | {"claim": f"{entry['claim']}-{k}"} for k in range(9) for entry in one_of_each()]
    pages = pymupdf.open(stream=compile_pdf(results(tmp_path, many)), filetype="pdf")
    ends = [max(float(block[3]) for block in page.get_text("blocks") if block[3] < 790) for page in pages]
    empty = [end < 0.55 * 842 for end in ends[:-1]]
    assert len(ends) > 8
    assert not any(one and other for one, other in pairwise(empty))


def test_without_findings_it_says_so(tmp_path: Path) -> None:
    assert "Nothingwasfoundwrong" in text_of(compile_pdf(results(tmp_path, [claim()])))
    slips = text_of(compile_pdf(results(tmp_path, [corrected(severity="slip")])))
    assert "Noguarantee,rateorconclusionwasfoundwrong;1slip(Finding1)." in slips


def test_the_paper_of_a_third_party_needs_nothing_but_a_title(tmp_path: Path) -> None:
    drawn = evidence(picture=picture(series()))
    found = results(tmp_path, [claim("mine/thm-1", evidence=[drawn])], [topic("mine", title="A note")])
    data = document.build(found)
    (chapter,), (front,) = data["chapters"], data["fronts"]
    assert (chapter["title"], chapter["figures"], len(chapter["gallery"]), front["picture"]) == ("A note", [], 1, None)
    shown = text_of(compile_pdf(found))
    assert "Anote1statement:1confirmed.Nothingwasfoundwrong." in shown
    assert "Whatstands" not in shown
    assert (
        document.build(results(tmp_path, [claim("mine/thm-1")], [topic("mine", title="")]))["fronts"][0]["title"]
        == "mine"
    )


def test_a_claim_by_itself(tmp_path: Path) -> None:
    found = select(results(tmp_path, one_of_each()), ["ftrl/false"])
    pdf = compile_pdf(found)
    shown = text_of(pdf)
    assert len(pymupdf.open(stream=pdf, filetype="pdf")) == 1
    assert "Whatstands" not in shown
    assert "ftrl/follower" not in shown
    assert tight("dpbounds verify ftrl/false --level quick --seed 0") in shown.replace("-", "")
    assert tight("dpbounds report ftrl/false --out report.pdf") in shown.replace("-", "")


# --- summaries ---


@pytest.mark.parametrize("count", [1, 12, 60, 400])
def test_a_summary_has_at_most_four_pages_a_paper(tmp_path: Path, count: int) -> None:
    many = [
        corrected(f"ftrl/{severity}-{k}", severity=severity, finding="A finding of some length, $a^2 = b$. " * 4)
        for severity in ("hypothesis", "slip")
        for k in range(count)
    ]
    pdf = compile_summary(results(tmp_path, [*one_of_each()[:-1], *many]))
    pages = pymupdf.open(stream=pdf, filetype="pdf")
    assert len(pages) <= 4
    shown = text_of(pdf)
    assert "Itsprice" in shown
    assert (tight(f"ftrl/slip-{count - 1}") in shown.replace("-", "")) == (count < 400)


def test_a_summary_has_findings_but_no_claims(tmp_path: Path) -> None:
    shown = text_of(compile_summary(results(tmp_path, one_of_each())))
    assert "Correctis" in shown
    assert "Statementasprinted" not in shown
    assert "inthewholereport:dpboundsreportftrlother" in shown


def test_runs_at_other_levels_get_their_own_command(tmp_path: Path) -> None:
    data = document.build(results(tmp_path, [claim("ftrl/a"), claim("ftrl/b"), claim("ftrl/c", level="full", seed=7)]))
    assert data["appendix"]["commands"] == [
        "dpbounds verify ftrl --level quick --seed 0",
        "dpbounds verify ftrl/c --level full --seed 7",
        "dpbounds report ftrl --out report.pdf",
    ]


def test_mixed_code_versions_are_told(tmp_path: Path) -> None:
    found = results(tmp_path, [claim("ftrl/a"), claim("ftrl/b", code="other")])
    assert "severalcodeversions" in text_of(compile_pdf(found))


def test_slack_is_shown_where_it_means_something(tmp_path: Path) -> None:
    entries = [
        claim("ftrl/a", **of_slack(1.5), kind="inequality"),
        claim("ftrl/b", **of_slack("inf"), kind="inequality"),
        claim("ftrl/c", **of_slack(1.5), kind="identity"),
    ]
    shown = document.build(results(tmp_path, entries))["chapters"][0]["claims"]
    assert [item["slack"] for item in shown] == ["1.5", "", ""]


def test_long_evidence_is_cut_at_a_word(tmp_path: Path) -> None:
    (entry,) = document.build(results(tmp_path, [claim(evidence=[evidence(summary="word " * 80)])]))["chapters"][0][
        "claims"
    ]
    assert len(entry["evidence"]) <= 150
    assert entry["evidence"].endswith("word …")


# --- text stays text ---


def everywhere(text: str) -> list[dict[str, Any]]:
    """The text in every field that holds plain text."""
    drawn = picture(series(text, typeset=""), x=text, y=text, typeset={"x": "", "y": ""})
    failing = evidence(outcome="fails", summary=text, counterexample={text: text, "list": [text]}, picture=drawn)
    holding = evidence(form="corrected", summary=text)
    common: dict[str, Any] = {"where": text, "equation": text, "code": text}
    return [
        corrected(f"ftrl/{text}", evidence=[failing, holding], **common),
        claim(f"{text}/1", topic=text, evidence=[evidence(summary=text)], **common),
        claim("ftrl/2", verdict="not run", how=None, evidence=[], **common),
    ]


def parsed(text: str, folder: Path) -> Results:
    names = ("title", "authors", "venue", "version", "link")
    papers = [topic("ftrl", **dict.fromkeys(names, text))]
    papers += [topic(text, **dict.fromkeys(names, text))] if text != "ftrl" else []
    return results(folder, everywhere(text), papers)


def test_markup_characters_are_printed_as_they_are(tmp_path: Path) -> None:
    found = text_of(compile_pdf(parsed(HOSTILE, tmp_path))).replace("-", "")
    assert found.count(tight(typographic(HOSTILE))) >= 8
    assert tight(one_line(HOSTILE)) in found


@given(st.text(max_size=30))
@settings(derandomize=True, deadline=None, max_examples=10)
def test_any_text_survives(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    assert compile_pdf(parsed(text, tmp_path_factory.mktemp("any"))).startswith(b"%PDF")


# --- markup ---


@pytest.mark.parametrize(
    ("name", "markup"),
    [
        ("statement", "$a"),
        ("statement", "@nothing"),
        ("statement", "*bold"),
        ("hypotheses", "$undefined symbol$"),
        ("correction", "$x_$"),
        ("finding", "$ $ $"),
        ("remark", "$frac(a)$"),
    ],
)
def test_broken_markup_names_its_claim(tmp_path: Path, name: str, markup: str) -> None:
    path = write(tmp_path, [claim("ftrl/good"), corrected("ftrl/bad", **{name: markup}), claim("ftrl/fine")])
    with pytest.raises(ReportError, match=rf"the {name} of ftrl/bad is not Typst markup \(") as refusal:
        report(path, tmp_path / "out.pdf")
    assert "\n" not in str(refusal.value)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["results.json", "run.json"]


def test_broken_labels_and_highlights_are_named_too(tmp_path: Path) -> None:
    broken = picture(series("$x_$", typeset="$x_$"))
    with pytest.raises(ReportError, match=r"the picture of ftrl/thm-1 is not Typst markup \("):
        compile_pdf(results(tmp_path, [claim(evidence=[evidence(picture=broken)])]))
    stands = [highlight("*bold", "ftrl/thm-1")]
    with pytest.raises(ReportError, match=r"the highlight of ftrl is not Typst markup \("):
        compile_summary(results(tmp_path, [claim()], [full_topic(stands=stands)]))


def test_markup_cannot_reach_out_of_its_place(tmp_path: Path) -> None:
    wild = "= loud // ] } ) $"
    found = text_of(compile_pdf(results(tmp_path, [claim(statement=wild), claim("ftrl/next", statement="after it")])))
    assert "loud" in found
    assert "afterit" in found


def test_an_error_that_is_no_claims_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "build", lambda found: {"title": 1})
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


def test_topics_and_claims_are_chosen(tmp_path: Path) -> None:
    found = results(tmp_path, one_of_each())
    assert select(found, []) is found
    assert [entry.claim for entry in select(found, ["other"]).entries] == ["other/thm-1"]
    chosen = select(found, ["other", "ftrl/thm-3", "ftrl/bound"])
    assert [entry.claim for entry in chosen.entries] == ["ftrl/bound", "ftrl/thm-3", "other/thm-1"]
    with pytest.raises(ReportError, match=r"'glm' has no results in .*; it has ftrl, other"):
        select(found, ["ftrl", "glm"])
    with pytest.raises(ReportError, match=r"'ftrl/thm3' has no results in .*; did you mean ftrl/thm-3 or"):
        select(found, ["ftrl/thm3"])


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
