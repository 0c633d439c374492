"""Links to the reference: every address is there, names are followed as they are imported, and nothing else changes."""

from __future__ import annotations

import re

import pytest
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers.python import PythonLexer
from pygments.lexers.shell import BashLexer

pytest.importorskip("furo", reason="the extra `docs` is not installed")

from docs.linking import linked
from docs.reference import add_reference, addresses
from docs.verdicts import Site, _environment

KNOWN = addresses()
CODE = """%config x = 1
from dpbounds.ftrl import (
    correlations,
    mean_estimation as means,
)
from dpbounds.private import LocalGLM
noise = correlations.nu(nu).nothing
means.ratio; means.no_such_name; LocalGLM().fit; other.nu; nu; Regression
shell("dpbounds solve iv --n 5"); shell("dpbounds nonsense")
# correlations.nu in a comment, <b>
"""


def block(code: str, kind: str = "python") -> str:
    lexer = PythonLexer() if kind == "python" else BashLexer()
    return f'<div class="highlight-{kind} notranslate">{highlight(code, lexer, HtmlFormatter())}</div>'


def links(html: str) -> dict[str, str]:
    """The words of each link and where it leads; what is read stays the same."""
    found = linked(html, KNOWN)
    assert re.sub("<[^>]*>", "", found) == re.sub("<[^>]*>", "", html)
    return {re.sub("<[^>]*>", "", said): at for at, said in re.findall(r'<a href="([^"]*)">(.*?)</a>', found)}


def test_every_address_is_on_its_page() -> None:
    site = Site(environment=_environment(), shared={})
    add_reference(site)
    for name, address in KNOWN.items():
        page, _, anchor = address.partition("#")
        assert not anchor or f' id="{anchor}"' in site.pages[page.removesuffix(".html")][1], name
    assert len(KNOWN) > 500


def test_names_in_code_are_those_that_the_page_imports() -> None:
    assert links(block(CODE)) == {
        "correlations": "reference/dpbounds.ftrl.correlations.html",
        "means": "reference/dpbounds.ftrl.mean_estimation.html",
        "correlations.nu": "reference/dpbounds.ftrl.correlations.html#nu",
        "means.ratio": "reference/dpbounds.ftrl.mean_estimation.html#ratio",
        "dpbounds.private": "reference/dpbounds.private.html",
        "LocalGLM": "reference/dpbounds.private.html#LocalGLM",
        "dpbounds solve iv": "reference/commands.html#dpbounds-solve-iv",
    }


def test_commands_begin_a_line() -> None:
    html = block("dpbounds verify iv\npip install dpbounds\necho dpbounds list\ndpbounds solve nothing --n 5\n", "sh")
    assert links(html) == {
        "dpbounds verify": "reference/commands.html#dpbounds-verify",
        "dpbounds solve": "reference/commands.html#dpbounds-solve",
    }


@pytest.mark.parametrize(
    ("html", "address"),
    [
        ("<p><code>dpbounds audit</code></p>", "reference/commands.html#dpbounds-audit"),
        ("<code><span>dpbounds</span> <span>design</span> <span>ftrl</span> --n 1</code>", "#dpbounds-design-ftrl"),
        ("<code>DomainError</code>", "reference/dpbounds.html#DomainError"),
        ("<code>dpbounds.ols.compare</code>", "reference/dpbounds.ols.html#compare"),
        ("<code>rate</code>", ""),
        ("<code>Choices</code>", ""),
        ("<code>dpbounds nonsense</code>", ""),
        ("<code>DomainError(x)</code>", ""),
        ('<a href="x.html"><code>DomainError</code></a>', ""),
        ("<h2><code>DomainError</code></h2>", ""),
        ("<pre><code>DomainError</code></pre>", ""),
    ],
)
def test_code_in_a_line_leads_to_what_it_can_only_mean(html: str, address: str) -> None:
    """A parameter's name, a class that two modules have, a heading and what is a link already stay as they are."""
    found = [at for at in links(html).values() if at != "x.html"]
    assert [at.endswith(address) for at in found] == [True] * bool(address)


def test_code_that_is_no_python_is_left_alone() -> None:
    assert links(block("from dpbounds import (ols\nols.compare")) == {}
