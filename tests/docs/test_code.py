"""The code behind a claim: the file and line where it stands, what it calls, and what rests on it, all from sources."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("furo", reason="the extra `docs` is not installed")
pytest.importorskip("myst_nb", reason="the extra `docs` is not installed")

from docs.building import build
from docs.code import Code, code_of
from docs.reference import add_reference
from docs.verdicts import Site, _environment
from reports.reader import read
from tests.reports.examples import claim, corrected, full_topic, topic, write
from verify.running.registry import index_of, topics
from verify.running.versions import code_version

ROOT = Path(__file__).resolve().parents[2]


def codes(folder: Path, *names: str, **changes: str) -> dict[str, Code]:
    entries = read(write(folder, [claim(name, **changes) for name in names])).entries
    return {entry.claim: code_of(entry) for entry in entries}


def lines(file: str) -> list[str]:
    return (ROOT / file).read_text(encoding="utf-8").splitlines()


def test_every_claim_stands_where_its_page_says(tmp_path: Path) -> None:
    """The line has its `Claim(...)`, or begins the statement that binds what a function made."""
    for name, code in codes(tmp_path, *index_of("glm")).items():
        first, following = lines(code.file)[code.line - 1], lines(code.file)[code.line]
        assert f'id="{name}"' in following or re.match(r"[A-Z_0-9, ]+ = ", first), (name, code.file, code.line)
        for function, line in code.checks:
            assert f"def {function}(" in lines(code.file)[line - 1]


def test_what_is_called_is_followed_through_imports_and_rooms_and_no_further(tmp_path: Path) -> None:
    found = codes(tmp_path, "ftrl/thm-2.1-rate", "glm/fig-3-left", "iv/beyond-confidence-answer", "ftrl/prop-c.8")
    rate = found["ftrl/thm-2.1-rate"]
    assert "optimal_variance" in rate.uses["dpbounds.ftrl.mean_estimation"] and "_rate_excess" in dict(rate.checks)
    assert found["glm/fig-3-left"].file.endswith("s6_figures.py")  # which another file of claims imports
    answer = found["iv/beyond-confidence-answer"]
    assert answer.others == ("verify/papers/iv/tools/confidence_data.py",)
    assert answer.uses["simulators.iv.confidence.records"] == ["bounded_records"]
    assert found["ftrl/prop-c.8"].uses == {}


def test_what_the_sources_do_not_have_is_said(tmp_path: Path) -> None:
    found = codes(tmp_path, "ftrl/no-such", "mine/a")
    assert "no claim of this name" in found["ftrl/no-such"].reason
    assert found["mine/a"].reason == "The paper mine is not installed where this site was built."
    assert not codes(tmp_path, "ftrl/fig-4")["ftrl/fig-4"].decides
    for code, stale in (("c0de", True), (code_version(topics()["ols"]), False)):
        assert codes(tmp_path, "ols/eq18", code=code)["ols/eq18"].stale is stale


def test_pages_tell_what_rests_on_a_claim(tmp_path: Path) -> None:
    claims = [claim("ftrl/bound"), claim("ftrl/rate"), claim("ftrl/fig-1-left")]
    claims += [corrected("ftrl/false"), corrected("ftrl/follower", root="ftrl/false")]
    claims += [claim("ftrl/thm-2.1-rate"), claim("ols/eq18")]
    build(write(tmp_path, claims, [full_topic("ftrl"), topic("ols")]), tmp_path / "out", whole=False)

    def part(name: str, section: str) -> str:
        page = (tmp_path / "out" / "verdicts" / f"{name}.html").read_text(encoding="utf-8")
        inside = page.partition(f'<section id="{section}">')[2].partition("</section>")[0]
        return " ".join(re.sub("<[^>]*>", " ", inside).split())

    rate = part("ftrl/rate", "graph")
    assert "those of ftrl/bound : The constant" in rate and "This one does not hold" not in rate
    assert "Figure 1 of the gallery" in part("ftrl/fig-1-left", "graph")
    assert "ftrl/follower , which falls with it" in part("ftrl/false", "graph")
    assert "ftrl/false , whose fault it inherits" in part("ftrl/follower", "graph")
    assert "no other claim, no figure, and no sentence" in part("ftrl/follower", "graph")
    assert "union bound:" in part("ols/eq18", "graph")
    code = part("ftrl/thm-2.1-rate", "code")
    assert "verify/papers/ftrl/paper/" in code and "of other sources than these" in code
    assert "no claim of this name" in part("ftrl/rate", "code")
    assert str(ROOT) not in "".join(path.read_text("utf-8") for path in (tmp_path / "out").rglob("*.html"))


def test_a_name_of_the_reference_leads_to_the_claims_whose_code_calls_it() -> None:
    site = Site(environment=_environment(), shared={}, users={"dpbounds.errors.DomainError": ["iv/a", "iv/b"]})
    add_reference(site)
    page = site.pages["reference/dpbounds"][1]
    assert page.count("claims whose code calls it") == 1 and 'href="../verdicts/iv/b.html"' in page
