"""Typst markup as HTML with formulas in MathML, all texts in one compilation; no other tags than these come through."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typst
from markupsafe import Markup, escape

from docs.latex import annotated
from reports.results import ReportError
from reports.text import one_line, printable

TEMPLATE = Path(__file__).with_name("templates") / "texts.typ"
_SECTION = re.compile(r"<section>(.*?)</section>", re.DOTALL)
_TAG = re.compile(r"<(/?)([^\s/>]*)([^>]*)>")
_ATTRIBUTE = re.compile(r'\s+([a-zA-Z-]+)(?:="([^"]*)")?')
_TEXT = "p strong em code a br sub sup ul ol li span pre hr dl dt dd h1 h2 h3 h4 h5 h6 blockquote q u s"
_MATH = (
    "math mi mn mo mtext mspace mrow mfrac msqrt mroot msub msup msubsup mover munder munderover mtable mtr mtd "
    "mpadded mphantom mprescripts mmultiscripts menclose"
)
TAGS = frozenset(f"{_TEXT} {_MATH}".split())
# What presents, and the address of a link, which is looked at by itself.
_PRESENTING = (
    "href display form stretchy symmetric fence separator accent accentunder lspace rspace width height depth voffset "
    "minsize maxsize mathvariant linethickness displaystyle scriptlevel class columnalign largeop movablelimits "
    "bevelled notation dir style start type"
)
ATTRIBUTES = frozenset(_PRESENTING.split())
# Accents that combine with a letter stand beside it in a browser; the signs by themselves stand above its middle.
_ACCENTS = {"\u0303": "~", "\u0304": "\xaf", "\u0305": "\u203e"}
_ACCENT = re.compile(f"<mo>([{''.join(_ACCENTS)}])</mo>")
_HELD = re.compile(r"(\(?)<math>(?:(?!</math>).)*</math>([.,;:)]*)", re.DOTALL)
_ADDRESS = re.compile(r"https?://[^\s]*|mailto:[^\s]*")
_STYLE = re.compile(r"[a-z-]+:\s*[-a-z0-9.% ]+;?")


def as_html(texts: Iterable[str], file: Path) -> dict[str, Markup]:
    """Each text as HTML, its formulas with their LaTeX.

    Raises `ReportError` for one that Typst does not compile, naming it, and for a tag or an address that no text of a
    claim needs.
    """
    wanted = sorted(set(texts))
    try:
        found = _compiled(wanted)
    except typst.TypstError:
        found = [_alone(text, file) for text in wanted]
    for text, html in zip(wanted, found, strict=True):
        foreign = next(_foreign(html), None)
        if foreign:
            raise ReportError(f"{file}: a text makes {foreign!r}, which no page takes: {one_line(text)!r}")
    found = [_ACCENT.sub(lambda sign: f"<mo>{_ACCENTS[sign[1]]}</mo>", html) for html in found]
    return {text: Markup(_HELD.sub(_held, annotated(html))) for text, html in zip(wanted, found, strict=True)}


def _held(found: re.Match[str]) -> str:
    """A formula in a line, on the same line as the sign before or after it."""
    return f'<span class="held">{found[0]}</span>' if found[1] or found[2] else found[0]


def _compiled(texts: Sequence[str]) -> list[str]:
    inputs = {"texts": json.dumps([printable(text) for text in texts])}
    page = typst.compile(TEMPLATE, format="html", ignore_system_fonts=True, sys_inputs=inputs).decode()
    found = _SECTION.findall(page)
    if len(found) != len(texts):
        raise ReportError(f"Typst gave {len(found)} texts for {len(texts)}")
    return found


def _alone(text: str, file: Path) -> str:
    try:
        return _compiled([text])[0]
    except typst.TypstError as error:
        raise ReportError(f"{file}: not Typst markup ({one_line(str(error))}): {one_line(text)!r}") from None


def _foreign(html: str) -> Iterator[str]:
    """Tags, attributes and addresses that are none of ours."""
    for closing, tag, rest in _TAG.findall(html):
        attributes = rest.rstrip("/")
        if tag not in TAGS or (closing and attributes) or _ATTRIBUTE.sub("", attributes).strip():
            yield f"<{closing}{tag}{rest}>"
        for name, value in _ATTRIBUTE.findall(attributes):
            allowed = {"href": _ADDRESS, "style": _STYLE}.get(name)
            if name not in ATTRIBUTES or (allowed and not allowed.fullmatch(value)):
                yield f'{name}="{value}"'


def markups(content: Any) -> Iterator[str]:
    """Every text that `reports.rich` marks as markup in the report's data."""
    if isinstance(content, Mapping):
        if set(content) == {"markup"}:
            yield content["markup"]
        else:
            for item in content.values():
                yield from markups(item)
    elif isinstance(content, (list, tuple)):
        for item in content:
            yield from markups(item)


def rich_filter(html: Mapping[str, Markup]) -> Callable[[Any], Markup]:
    """The filter of the templates: a string is text, `{"markup": ...}` is looked up, a list is one after the other."""

    def rich(content: Any) -> Markup:
        if isinstance(content, Mapping):
            return html[content["markup"]]
        if isinstance(content, (list, tuple)):
            return Markup("").join(rich(item) for item in content)
        return escape(content)

    return rich
