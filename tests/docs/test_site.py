"""The site from a small results file: every address is there, no stranger's text runs, what is damaged is refused."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("furo", reason="the extra `docs` is not installed")
pytest.importorskip("myst_nb", reason="the extra `docs` is not installed")

from docs import checking
from docs.building import MARKER, SiteError, build, notices_of
from docs.markup import as_html
from reports.reader import read
from reports.results import ReportError
from tests.reports.examples import (
    claim,
    clause,
    corrected,
    evidence,
    one_of_each,
    picture,
    results,
    series,
    topic,
    write,
)
from verify.cli import main


def test_every_claim_has_its_address_and_an_anchor_on_its_papers_page(site: Path) -> None:
    for entry in read(site / "results.json").entries:
        page = (site / "verdicts" / f"{entry.claim}.html").read_text(encoding="utf-8")
        assert f"dpbounds verify {entry.claim}" in page and "@misc{dpbounds:" in page and entry.verdict in page
        anchors = checking.read(site / "verdicts" / entry.topic / "index.html").anchors
        assert entry.claim.partition("/")[2] in anchors


def test_nothing_of_a_stranger_is_markup(site: Path) -> None:
    assert list(checking.problems(site)) == []
    pages = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.html"))
    assert "<script>alert" not in pages and "<img src=x" not in pages and 'href="javascript' not in pages
    assert "&lt;script&gt;alert(1)" in pages and "{{ 7 * 7 }}" in pages


def test_pages_say_how_the_verdicts_came_about(site: Path) -> None:
    for path in site.rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        assert "Decided at quick level, seed 0, 1" in page and "other sources than these: 10 of 10 of ftrl" in page, (
            path
        )


def test_pages_can_be_read_without_scripts(site: Path) -> None:
    page = (site / "verdicts" / "ftrl" / "thm-2.html").read_text(encoding="utf-8")
    assert "<math>" in page and "mathjax" not in page.lower() and "cdn" not in page


def test_findings_stand_under_their_severity_and_followers_under_their_root(site: Path) -> None:
    page = (site / "verdicts" / "ftrl" / "index.html").read_text(encoding="utf-8")
    order = [page.index(f'<section id="{name}">') for name in ("new", "substantive", "hypothesis", "slip")]
    assert order == sorted(order)
    assert page.index("follower.html") > page.index('<section id="substantive">')
    assert "follower.html" in (site / "verdicts" / "ftrl" / "false.html").read_text(encoding="utf-8")


def test_pictures_come_with_their_numbers(site: Path) -> None:
    lines = (site / "figures" / "ftrl" / "fig-1-left-1.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "curve,role,x,y,low,high" and "SGD,simulated,1.0,2.0,1.5,2.5" in lines
    drawings = [*site.rglob("figures/**/*.svg"), *site.rglob("badges/*.svg")]
    for path in drawings:
        ElementTree.parse(path)
        assert "Libertinus" not in path.read_text(encoding="utf-8")
    drawn = (site / "figures" / "ftrl" / "fig-1-left-1.svg").read_text(encoding="utf-8")
    wide, left, right = map(float, re.findall(r' width="([0-9.]+)pt".* viewBox="(\S+) 0 (\S+) ', drawn)[0])
    assert left == -8 and right == wide  # labels of a browser's letters, wider than those that were measured
    assert len(drawings) > 3 and "fig-1-left-1.svg" in (site / "gallery" / "ftrl.html").read_text(encoding="utf-8")


def test_the_same_results_give_the_same_site(site: Path, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_bytes((site / "results.json").read_bytes())
    file.with_name("run.json").write_text(json.dumps({"date": "2026-01-31"}), encoding="utf-8")
    build(file, tmp_path / "again", whole=False)
    pages = [path.relative_to(site) for path in site.rglob("*.html")]
    assert all((site / page).read_bytes() == (tmp_path / "again" / page).read_bytes() for page in pages)


@pytest.mark.parametrize("name", ["ftrl/../../evil", "ftrl/index", "other/a<b", "ftrl/", "ftrl/a/b"])
def test_names_that_can_be_no_address_are_refused(tmp_path: Path, name: str) -> None:
    file = write(tmp_path, [claim(name)])
    with pytest.raises(ReportError, match="can be no address"):
        build(file, tmp_path / "out", whole=False)
    assert not (tmp_path / "out").exists()


def test_two_claims_do_not_share_an_address(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="can be no address"):
        build(write(tmp_path, [claim("ftrl/a"), claim("ftrl/A")]), tmp_path / "out", whole=False)


@pytest.mark.parametrize(
    "text", ['$std.html.elem("script")$', "$nothing(x$", "#panic()", '$std.html.elem("p", style: "a")$']
)
def test_programs_in_markup_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ReportError):
        build(write(tmp_path, [claim(statement=text)]), tmp_path / "out", whole=False)
    with pytest.raises(ReportError):
        build(write(tmp_path, [claim(clauses=[clause("holds", typeset=text)])]), tmp_path / "out", whole=False)
    with pytest.raises(ReportError):
        as_html([text], tmp_path)


def test_no_sign_begins_a_line_that_belongs_to_a_formula(tmp_path: Path) -> None:
    text = "A price ($a$), $b$ and $c$."
    html = re.sub("<math>.*?</math>", "m", as_html([text], tmp_path)[text], flags=re.DOTALL)
    assert html.strip() == 'A price <span class="held">(m),</span> m and <span class="held">m.</span>'


def test_a_picture_explains_no_curve_that_it_has_not(tmp_path: Path) -> None:
    """In the PDF panels share a legend; here each has its own."""
    pictures = [picture(series("SGD"), series("Adam")), picture(series("SGD"), series("SGD", "simulated"))]
    claims = [claim(f"ftrl/fig-1-{k}", evidence=[evidence(picture=item)]) for k, item in enumerate(pictures)]
    build(write(tmp_path, claims, [topic("ftrl")]), tmp_path / "out", whole=False)
    shown = [(tmp_path / "out" / "verdicts" / "ftrl" / f"fig-1-{k}.html").read_text("utf-8") for k in range(2)]
    legends = [re.sub("<[^>]*>", " ", page.partition('class="legend">')[2].partition("</div>")[0]) for page in shown]
    assert [{word for word in ("SGD", "Adam", "exact", "simulated") if word in legend} for legend in legends] == [
        {"SGD", "Adam", "exact"},
        {"SGD", "exact", "simulated"},
    ]
    assert re.search(r'<img src="[^"]*" alt="[^"]+" width="\d+" height="\d+"', shown[0])


FORMULA = ("math", "semantics", "annotation", "mrow", "mi", "mo")


def test_links_in_markup_lead_to_the_web_only(tmp_path: Path) -> None:
    text = 'https://example.org/"onclick=alert(1) <script>x</script> `<b>` and $a < b$.'
    html = as_html([text], tmp_path)[text]
    assert 'href="https://example.org/"' in html and "onclick" not in re.sub(r">[^<]*<", "><", html)
    assert set(re.findall(r"<([a-z]+)", html)) <= {"a", "code", "p", "span", *FORMULA}


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with results of this code and its proof files."""
    folder = tmp_path_factory.mktemp("decided")
    assert main(["verify", "iv/eq-5", "--jobs", "1", "--store", str(folder)]) == 0
    assert main(["verify", "iv/eq-5", "--proofs", str(folder / "proofs")]) == 0
    return folder


def test_proof_files_come_with_the_program_that_checks_them(decided: Path, tmp_path: Path) -> None:
    build(decided / "results.json", tmp_path / "out", proofs=decided / "proofs", whole=False)
    page = (tmp_path / "out" / "verdicts" / "iv" / "eq-5.html").read_text(encoding="utf-8")
    with zipfile.ZipFile(tmp_path / "out" / "proofs.zip") as archive:
        archive.extractall(tmp_path)
    files = {path.name for path in (tmp_path / "proofs").iterdir()}
    assert files == {path.name for path in (decided / "proofs").iterdir()} and any(name in page for name in files)
    command = [sys.executable, "-I", "-S", "proof_checker.py", "proofs"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert f"{len(files)} accepted, 0 refused" in run.stdout and "proofs.zip" in page
    build(decided / "results.json", tmp_path / "without", whole=False)
    page = (tmp_path / "without" / "verdicts" / "iv" / "eq-5.html").read_text(encoding="utf-8")
    assert "built without proof files" in page and not (tmp_path / "without" / "proofs.zip").exists()


def test_proof_files_that_are_refused_make_no_site(decided: Path, tmp_path: Path) -> None:
    shutil.copytree(decided / "proofs", tmp_path / "proofs")
    first = min((tmp_path / "proofs").iterdir())
    first.write_bytes(first.read_bytes() + b" ")
    for folder, said in ((tmp_path / "proofs", "is refused"), (tmp_path / "none", "proofs: ")):
        with pytest.raises(ReportError, match=said):
            build(decided / "results.json", tmp_path / "out", proofs=folder, whole=False)
    assert not (tmp_path / "out").exists()


def test_damaged_results_are_refused(tmp_path: Path) -> None:
    file = write(tmp_path, one_of_each())
    file.write_text(file.read_text(encoding="utf-8").replace("129 points", "130 points"), encoding="utf-8")
    with pytest.raises(ReportError, match="checksum"):
        build(file, tmp_path / "out", whole=False)
    file.write_text('{"format": "dpbounds-results/4"}', encoding="utf-8")
    with pytest.raises(ReportError, match="format"):
        build(file, tmp_path / "out", whole=False)


def test_other_levels_and_missing_claims_are_said(tmp_path: Path) -> None:
    found = results(tmp_path, [claim("ftrl/a", level="full", seed=3), corrected(level="quick")])
    first, *others = notices_of(found)
    assert "full, quick level, seed 0, 3" in first
    assert others[0] == "Old, decided by other sources than these: 2 of 2 of ftrl."
    assert others[1].startswith("Not all claims: 2 of ")
    build(tmp_path / "results.json", tmp_path / "out", whole=False)
    page = (tmp_path / "out" / "verdicts" / "ftrl" / "index.html").read_text(encoding="utf-8")
    assert "dpbounds verify ftrl --level full --seed 3\ndpbounds verify ftrl/thm-2 --level quick --seed 0" in page
    assert notices_of(results(tmp_path, [claim("mine/a")]))[1:] == ["Not installed where this site was built: mine."]


def test_a_folder_of_somebody_else_is_left_alone(site: Path, tmp_path: Path) -> None:
    assert (site / MARKER).exists()
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    for out in (tmp_path, tmp_path / "mine.txt", tmp_path / "no" / "folder"):
        with pytest.raises(SiteError, match="out ="):
            build(site / "results.json", out, whole=False)


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ("<script>x</script>", "inline script"),
        ('<p onclick="x">', "script in onclick"),
        ('<a href="nowhere.html">', "broken link"),
        ('<a href="#nowhere">', "no anchor"),
        ('<a href="javascript:x">', "of another kind"),
        ('<a href="../../outside.html">', "broken link"),
        ('<img src="page.html">', "without words"),
        ('<img src="none.svg" alt="">', "broken link"),
        ("<iframe></iframe>", "<iframe>"),
        ("x" * checking.LARGEST, "bytes, more than"),
    ],
)
def test_the_check_of_pages_finds_what_it_is_there_for(tmp_path: Path, inside: str, said: str) -> None:
    (tmp_path / "page.html").write_text(f'<meta charset="utf-8"><p id="a">{inside}', encoding="utf-8")
    checking.seal(tmp_path)
    assert any(said in problem for problem in checking.problems(tmp_path))


def test_clauses_are_set_like_the_statement(tmp_path: Path) -> None:
    said = [clause("holds", "numeric"), clause("open", letter="b", typeset="$a^2 = c$.")]
    build(write(tmp_path, [claim("ftrl/two", clauses=said), claim(clauses=said[:1])]), tmp_path / "out", whole=False)
    pages = [(tmp_path / "out" / "verdicts" / "ftrl" / name).read_text("utf-8") for name in ("two.html", "thm-1.html")]
    clauses = pages[0].partition('<section id="clauses">')[2].partition("</dl>")[0]
    assert clauses.count("<math>") == 2 and "a²" not in clauses and "(b): open, no check decides it" in clauses
    assert 'id="clauses"' not in pages[1]  # of one clause the verdict says all


def test_commands_are_those_that_decide_something(tmp_path: Path) -> None:
    """Not run for want of a level or of data: the command that has them; without any check there is none."""
    unseen = {"verdict": "not run", "evidence": [], "how": None}
    claims = [
        claim("ftrl/level", finding="needs level full", clauses=[clause("not run")], **unseen),
        claim("ftrl/data", finding="needs your data: --data-dir DIR", **unseen),
        claim("ftrl/never", finding="outside dpbounds", clauses=[clause("open")], **unseen),
        claim("ftrl/run"),
    ]
    build(write(tmp_path, claims), tmp_path / "out", whole=False)
    said = {}
    for name in ("level", "data", "never", "run"):
        page = (tmp_path / "out" / "verdicts" / "ftrl" / f"{name}.html").read_text(encoding="utf-8")
        said[name] = page.partition('<section id="decide-it-again">')[2].partition("</section>")[0]
    assert "dpbounds verify ftrl/level --level full --seed 0\n" in said["level"]
    assert "dpbounds verify ftrl/data --level quick --seed 0 --data-dir DIR\n" in said["data"]
    assert "<pre" not in said["never"] and "no check of it" in said["never"]
    assert [name for name in said if "--impostors" in said[name]] == ["run"]


def test_evidence_without_a_ground_for_a_clause_says_so(tmp_path: Path) -> None:
    found = claim("ftrl/part", clauses=[clause("holds", "numeric"), clause("open", letter="b")], evidence=[evidence()])
    build(write(tmp_path, [found]), tmp_path / "out", whole=False)
    page = (tmp_path / "out" / "verdicts" / "ftrl" / "part.html").read_text(encoding="utf-8")
    assert "Clause (b) is open" in page and "open, no check decides it" in page
