"""Names in code and prose lead to the reference: public names as the page imports them, classes, modules, commands."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from html import unescape
from pathlib import Path

PAGES = ("tutorials/*.html", "explanations/*.html", "reference/*.html", "verdicts/*/*.html")
PYTHON = ("ipython3", "python")
_TAG = re.compile(r"<[^>]*>")
# A name as a title breaks at its dots.
_TITLE = re.compile(r"(?<=<h1>)[\w.]+")
_BLOCK = re.compile(r'(<div class="highlight-([a-z0-9]+) [^>]*><div class="highlight"><pre>)(.*?)(</pre>)', re.DOTALL)
# As Pygments writes them: a name with dots, a command at the beginning of a line.
_DOT, _SPACE = '<span class="o">.</span>', '<span class="w"> </span>'
_NAME = re.compile(rf'<span class="nn?">[\w.]+</span>(?:{re.escape(_DOT)}<span class="n">\w+</span>)*')
_COMMAND = re.compile(rf"(^|<span></span>)(dpbounds(?:{_SPACE}[a-z-]+)+)", re.MULTILINE)
# In a Python program, a command that a string begins with.
_TOLD = re.compile(r'(<span class="s2">")(dpbounds(?: [a-z-]+)+)')
# Code in a line; what is a link already, a heading, a term or a block is passed over.
_SPAN = re.compile(r"<(a|h\d|dt|pre|title)\b.*?</\1>|<code\b.*?</code>", re.DOTALL)


def link(site: Path, addresses: Mapping[str, str]) -> None:
    """Rewrite the pages; `addresses` has the place in the site of each public name, module and command."""
    for path in (path for pattern in PAGES for path in site.glob(pattern)):
        root = "../" * (len(path.relative_to(site).parts) - 1)
        text = path.read_text(encoding="utf-8")
        if path.parent.name == "reference":
            text = _TITLE.sub(lambda found: found[0].replace(".", ".<wbr>").replace("_", "_<wbr>"), text)
        path.write_text(linked(text, {name: root + at for name, at in addresses.items()}), encoding="utf-8")


def linked(text: str, known: Mapping[str, str]) -> str:
    """A page with its links. What it writes itself is never rewritten, only wrapped."""
    imported = _imports("\n".join(_plain(html) for _, kind, html, _ in _BLOCK.findall(text) if kind in PYTHON))

    def block(found: re.Match[str]) -> str:
        opening, kind, html, closing = found.groups()
        if kind in PYTHON:
            html = _NAME.sub(lambda name: _wrapped(name[0], _DOT, known, imported), html)
            html = _TOLD.sub(lambda text: text[1] + _wrapped(text[2], " ", known, {}), html)
        elif kind == "sh":
            html = _COMMAND.sub(lambda line: line[1] + _wrapped(line[2], _SPACE, known, {}), html)
        return opening + html + closing

    return _SPAN.sub(lambda found: found[0] if found[1] else _span(found[0], known), _BLOCK.sub(block, text))


def _plain(html: str) -> str:
    return unescape(_TAG.sub("", html))


def _imports(code: str) -> dict[str, str]:
    """The whole names of what is imported from modules; none where the code is no Python."""
    try:
        tree = ast.parse("\n".join(line for line in code.splitlines() if not line.startswith("%")))
    except SyntaxError:
        return {}
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {item.asname or item.name: f"{node.module}.{item.name}" for node in found for item in node.names}


def _wrapped(html: str, joint: str, known: Mapping[str, str], imported: Mapping[str, str]) -> str:
    """The longest beginning that is known: all of `correlations.nu`, `dpbounds solve iv` before `dpbounds solve`."""
    parts = html.split(joint)
    for count in range(len(parts), 0 if joint == _DOT else 1, -1):
        first = joint.join(parts[:count])
        head, dot, rest = _plain(first).partition(".")
        address = known.get(imported.get(head, head) + dot + rest)
        if address and (dot or head in imported or joint != _DOT):
            return f'<a href="{address}">{first}</a>{html[len(first) :]}'
    return html


def _span(html: str, known: Mapping[str, str]) -> str:
    """A code span that is a public name, or a command with its options."""
    words = _plain(html).split()
    starts = (" ".join(words[:count]) for count in range(len(words), min(len(words) - 1, 1), -1))
    address = next((known[start] for start in starts if start in known), "")
    return f'<a href="{address}">{html}</a>' if address else html
