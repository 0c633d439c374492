"""Formulas keep their marks, come with their LaTeX, and are found by their words."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("furo", reason="the extra `docs` is not installed")
pytest.importorskip("myst_nb", reason="the extra `docs` is not installed")

from docs import latex
from docs.building import build
from docs.markup import as_html
from tests.reports.examples import claim, corrected, write
from verify.running.registry import index_of, topics

FORMULAS = {
    "$eta_T^2 <= log(1\\/eta)$": r"\eta_T^2 \le \log(1/\eta)",
    "$overline(c)^2 underline(x) tilde(X) macron(c)$": r"\overline{c}^2\underline{x}\tilde{X}\bar{c}",
    "$overline(A B) hat(theta)_(1) hat(A B)$": r"\overline{AB}\hat{\theta}_1\widehat{AB}",
    "$norm(x)^2 abs(a/b) ceil(x)$": r"{\|x\|}^2\left|\frac{a}{b}\right|\lceil x\rceil",
    "$sum_(t=0)^oo integral_0^1 f dif x$": r"\sum_{t = 0}^{\infty}\int_0^1f\, dx",
    "$EE PP bb(1) cal(N) bold(x) cal(R)$": r"\mathbb{E}\mathbb{P}\mathbb{1}\mathcal{N}\boldsymbol{x}\mathcal{R}",
    "$f'' chevron.l x, y chevron.r lambda Lambda Rho$": r"f''\langle x,y\rangle\lambda\Lambda\mathrm{P}",
    '$w^"ols" op("Tr") H arg min_x$': r"w^{\text{ols}}\operatorname{Tr}H\arg\min_x",
    "$binom(n, k) root(3, x) 10^(-9)$": r"\left({n \atop k}\right)\sqrt[3]{x}10^{-9}",
    "$mat(1, 2; 3, 4)$": r"\left(\begin{matrix}1 & 2 \\ 3 & 4\end{matrix}\right)",
    "$cases(a &b < 0, c)$": r"\left\{\begin{matrix}a & b < 0 \\ c & \end{matrix}\right.",
    '$\\{x_1\\} "100% of a_b" < \\$$': r"\{x_1\}\ \text{100\% of a\_b} < \$",
}


def said(text: str) -> str:
    """What the LaTeX of a page says of a text."""
    return latex.text(as_html([text], Path("here"))[text])


@pytest.mark.parametrize("formula", FORMULAS)
def test_formulas(formula: str) -> None:
    assert said(formula) == f"${FORMULAS[formula]}$".replace("  ", " ")


def test_prose_around_formulas() -> None:
    assert said("_If_ `a_b` is 5 % \\#1, $x$: *no* {$y$}.") == (
        r"\emph{If} \texttt{a\_b} is 5 \% \#1, $x$: \textbf{no} \{$y$\}."
    )
    assert said("$ x < y $") == "$$x < y$$"


def test_a_line_over_a_letter_is_on_the_page() -> None:
    """Typst leaves its own out in HTML: the mean of c would be c."""
    html = as_html(["$overline(c) underline(d)$"], Path("here"))["$overline(c) underline(d)$"]
    assert "<mover" in html and "‾" in html and "<munder" in html


@pytest.mark.parametrize("topic", ["ftrl", "iv", "ols", "glm"])
def test_every_statement_has_latex_of_plain_characters(topic: str) -> None:
    """With every bracket closed."""
    texts = [claim.statement for claim in index_of(topic).values()]
    for text, html in as_html(texts, Path("here")).items():
        for formula in re.findall(r"<annotation[^>]*>(.*?)</annotation>", html):
            tex = unescape(formula)
            assert tex.isascii(), (text, tex)
            bare = re.sub(r"\\[{}]", "", tex)
            assert bare.count("{") == bare.count("}"), tex
            assert len(re.findall(r"\\left\b", tex)) == len(re.findall(r"\\right\b", tex)), tex


@pytest.fixture(scope="module")
def formulas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("formulas")
    claims = [claim("ftrl/first", statement="It is $log(1\\/eta_T)$."), claim("ftrl/third", statement="$log theta$.")]
    claims += [claim("ftrl/second", statement="$kappa^2 <= x$."), corrected("ftrl/both")]
    build(write(folder, claims), folder / "out", whole=False)
    return folder / "out"


def test_a_page_has_the_latex_of_statement_and_correction(formulas: Path) -> None:
    page = (formulas / "verdicts" / "ftrl" / "both.html").read_text(encoding="utf-8")
    sources = re.findall(r'<details class="latex"><summary>LaTeX</summary><pre>(.*?)</pre>', page, re.DOTALL)
    assert [unescape(item) for item in sources] == ["$a^2 = b$.", "For $a > 0$, $a^2 = 2b$."]


def test_the_index_has_the_words_of_formulas(formulas: Path) -> None:
    text = (formulas / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").rstrip(")"))
    names = index["docnames"]

    def pages(word: str) -> set[str]:
        found = index["terms"][word]
        return {names[number] for number in (found if isinstance(found, list) else [found])}

    assert "verdicts/ftrl/first" in pages("eta") & pages("log") & pages("η")
    assert "verdicts/ftrl/second" in pages("kappa") & pages("κ")


@pytest.mark.parametrize(
    ("asked", "wanted"), [("log(1/eta)", "first"), ("\\kappa", "second"), ("κ^2", "second"), ("\\log \\theta", "third")]
)
def test_a_visitor_finds_a_formula(formulas: Path, page: Any, asked: str, wanted: str) -> None:
    page.goto((formulas / "index.html").as_uri())
    page.fill("input.sidebar-search", asked, force=True)
    page.press("input.sidebar-search", "Enter")
    page.wait_for_selector("#search-results li > a")
    assert f"ftrl/{wanted}" in page.inner_text("#search-results li > a >> nth=0")


def test_lemmas_and_notation_of_all_papers_have_latex() -> None:
    texts = [text for topic in topics().values() for _, _, text in topic.texts()]
    assert all("<annotation" in html for text, html in as_html(texts, Path("here")).items() if "$" in text)
