"""The site as a visitor with a browser sees it: found by one search, read on a telephone and in the dark."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("furo", reason="the extra `docs` is not installed")
pytest.importorskip("myst_nb", reason="the extra `docs` is not installed")

from docs.building import build
from reports.reader import read
from tests.docs import browser
from tests.docs.browser import problems
from tests.reports.examples import claim, evidence, picture, series, topic, write


def test_in_a_browser(site: Path, page: Any) -> None:
    """Nothing wider than a telephone, nothing that the policy blocks, and the search finds a claim by its place."""
    assert list(problems(page, site)) == []
    page.goto((site / "search.html").as_uri())
    hint = page.evaluate("getComputedStyle(document.querySelector('#search-results'), '::before').content")
    assert "Theorem 2.1" in hint
    page.goto(f"{(site / 'search.html').as_uri()}?q=figure+1+ftrl")
    page.wait_for_selector("#search-results li > a")
    first = page.inner_text("#search-results li > a >> nth=0")
    entry = next(entry for entry in read(site / "results.json").entries if entry.claim == "ftrl/fig-1-left")
    assert "ftrl/fig-1-left" in first and first.endswith(f": {entry.verdict}")


PLACES = {
    "ftrl/thm-2.1-rate": "Theorem 2.1",
    "ftrl/thm-2.2": "Theorem 2.2, (2.1)",
    "ftrl/eq-1": "proof of Theorem 2.1",
    "iv/thm-3.1": "Theorem 3.1",
    "iv/thm-1": "Theorem 1 of Section 3",
    "ols/thm-3.1": "Theorem 3.1",
    "glm/lem-4": "Lemma 4",
    "glm/lem-14": "after Lemma 14, with Lemma 4",
    "ols/alg-6": "Algorithm 6, AdaSSP",
}


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("Theorem 2.1 ftrl", "ftrl/thm-2.1-rate"),
        ("thm-2.1", "ftrl/thm-2.1-rate"),
        ("Theorem 3.1 iv", "iv/thm-3.1"),
        ("ols theorem 3.1", "ols/thm-3.1"),
        ("Lemma 4 glm", "glm/lem-4"),
        ("AdaSSP", "ols/alg-6"),
    ],
)
def test_a_visitor_finds_a_statement_by_one_search(places: Path, page: Any, asked: str, wanted: str) -> None:
    """The first result is it, and says the verdict."""
    page.goto((places / "index.html").as_uri())
    page.fill("input.sidebar-search", asked, force=True)
    page.press("input.sidebar-search", "Enter")
    page.wait_for_selector("#search-results li > a")
    said = page.inner_text("#search-results li > a >> nth=0")
    assert f"({wanted})" in said and said.endswith(": confirmed")


def test_a_visitor_finds_who_says_so_in_two_clicks(places: Path, page: Any) -> None:
    page.goto((places / "index.html").as_uri())
    page.click(".papers a:text-is('ftrl')")
    page.click("table.claims tr:has-text('Theorem 2.1') a.claim >> nth=0")
    assert page.inner_text("h1").startswith("Theorem 2.1 (ftrl/thm-2.1-rate): confirmed")
    assert "holds" in page.inner_text("#evidence")
    assert "dpbounds verify ftrl/thm-2.1-rate" in page.inner_text("#decide-it-again")


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of claims whose places resemble one another."""
    folder = tmp_path_factory.mktemp("places")
    names = sorted({claim.partition("/")[0] for claim in PLACES})
    file = write(folder, [claim(name, where=where) for name, where in PLACES.items()], [topic(name) for name in names])
    build(file, folder / "out", whole=False)
    return folder / "out"


SHOWN = "[...document.querySelectorAll('table.claims tbody tr')].filter(row => !row.hidden).map(row => row.innerText)"


def test_claims_are_filtered_and_sorted(site: Path, page: Any) -> None:
    """By every column that has few values, by words, and back; the address keeps what was chosen."""
    every = {entry.claim: entry for entry in read(site / "results.json").entries}
    address = (site / "verdicts" / "claims.html").as_uri()

    def shown(asked: str = "") -> set[str]:
        page.goto(address + asked)
        return {next(word for word in row.split() if word in every) for row in page.evaluate(SHOWN)}

    assert shown() == set(every) == shown("?paper=nobody&verdict=%3Cscript%3E")
    for name, of in {
        "paper": "topic",
        "verdict": "verdict",
        "ground": "how",
        "severity": "severity",
        "kind": "kind",
    }.items():
        for value in {getattr(entry, of) for entry in every.values()} - {None, ""}:
            wanted = {claim for claim, entry in every.items() if getattr(entry, of) == value}
            assert shown(f"?{name}={value.replace(' ', '+')}") == wanted, (name, value)
    both = {claim for claim, entry in every.items() if (entry.topic, entry.verdict) == ("ftrl", "confirmed")}
    assert shown("?paper=ftrl&verdict=confirmed") == both and 0 < len(both) < len(every)
    assert shown("?paper=other&verdict=corrected") == set()
    assert shown("?words=fig-1+LEFT") == {"ftrl/fig-1-left"}
    page.goto(address)
    page.select_option("select[name=verdict]", "refuted")
    assert "verdict=refuted" in page.url and page.inner_text("form.filters output").endswith(f" of {len(every)} claims")
    whole = shown()
    order = page.evaluate(SHOWN)
    for _ in range(3):
        page.click("table.claims th >> nth=3")
        words = page.evaluate(
            "[...document.querySelectorAll('table.claims tbody tr')].map(row => row.cells[3].dataset.value)"
        )
        state = page.get_attribute("table.claims th >> nth=3", "aria-sort")
        assert words == {"ascending": sorted(words), "descending": sorted(words, reverse=True)}.get(state, words)
    assert state == "none" and page.evaluate(SHOWN) == order and len(whole) == len(order)


def test_claims_are_whole_without_scripts(site: Path) -> None:
    """Nothing is hidden before the script runs, and counts lead to the list."""
    text = (site / "verdicts" / "claims.html").read_text(encoding="utf-8")
    assert all(f">{entry.claim}</a>" in text for entry in read(site / "results.json").entries)
    assert (
        '<form class="filters' not in text
        and " hidden" not in text.partition('class="claims"')[2].partition("</table>")[0]
    )
    assert "verdicts/claims.html?paper=ftrl&amp;verdict=not+run" in (site / "index.html").read_text(encoding="utf-8")


def test_the_browser_sees_what_it_is_there_for(tmp_path: Path, page: Any) -> None:
    policy = "<meta http-equiv=Content-Security-Policy content=\"script-src 'none'\">"
    (tmp_path / "page.html").write_text(f"{policy}<p style='width: 500px'>x<script>1</script>", encoding="utf-8")
    wide, blocked = problems(page, tmp_path)
    assert "pixels wider than 400" in wide and "Content Security Policy" in blocked


def test_without_a_browser_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    monkeypatch.setattr(sys, "argv", ["browser", "site"])
    assert browser.main() == 0
    assert capsys.readouterr().out == "site: not looked at in a browser: playwright is not installed\n"


MASKS = """() => Promise.all([...document.querySelectorAll('#statement math')].map(async formula => {
  const frame = () => new Promise(requestAnimationFrame);
  const at = async end => {
    formula.scrollLeft = end;
    await frame(), await frame();
    return getComputedStyle(formula).maskImage;
  };
  const cut = [formula.scrollWidth > formula.clientWidth, formula.scrollHeight > formula.clientHeight];
  return [...cut, await at(0), await at(1e6)];
}))"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_formula_wider_than_its_place_fades_where_there_is_more(tmp_path: Path, page: Any, theme: Any) -> None:
    terms = " + ".join(f"integral_0^1 y_{k}^2 / 2" for k in range(40))
    build(write(tmp_path, [claim(statement=f"$y^2$ is ${terms}$.")]), tmp_path / "out", whole=False)
    page.emulate_media(color_scheme=theme)
    page.goto((tmp_path / "out" / "verdicts" / "ftrl" / "thm-1.html").as_uri())
    short, long = page.evaluate(MASKS)
    assert short == [False, False, "none", "none"]
    assert long[:2] == [True, False]
    assert "to left" in long[2] and "to right" in long[3]


CONTRASTS = """() => [...document.querySelectorAll('figure.picture td')].map(cell => {
  const shown = getComputedStyle(cell), place = getComputedStyle(cell.closest('.wide'));
  return [shown.color, place.getPropertyValue('--page')];
})"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_table_of_numbers_can_be_read_in_both_themes(tmp_path: Path, page: Any, theme: Any) -> None:
    """Pictures are white, and so are the few numbers that stand for one, under what they are called."""
    point = series("SGD", x=[1.0], y=[2.0])
    file = write(tmp_path, [claim("ftrl/few", evidence=[evidence(picture=picture(point))])])
    build(file, tmp_path / "out", whole=False)
    page.emulate_media(color_scheme=theme)
    page.goto((tmp_path / "out" / "verdicts" / "ftrl" / "few.html").as_uri())
    assert page.evaluate(CONTRASTS) == [["rgb(26, 26, 26)", "#fff"]] * 4
    assert "".join(page.inner_text("figure.picture thead").split()) == "dimension𝑑error𝐹"
