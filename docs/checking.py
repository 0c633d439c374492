"""What every page keeps: no script but the site's own files, no broken link, no missing picture, at most 1 MB."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LARGEST = 1_000_000
POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "object-src 'none'; base-uri 'none'"
)
# The theme's one inline script, and the file that does the same.
_INLINE = re.compile(r"<script>\s*document\.body\.dataset\.theme = [^<]*</script>")
_INDEX = re.compile(r"<script>DOCUMENTATION_OPTIONS[^<]*</script>")
_RESOURCES = {"img": "src", "script": "src", "link": "href", "a": "href", "source": "src", "iframe": "src"}


def seal(site: Path) -> None:
    """Give every page the policy that no inline script runs, and the theme's inline script a file of its own."""
    for path in site.rglob("*.html"):
        root = "../" * (len(path.relative_to(site).parts) - 1)
        text = path.read_text(encoding="utf-8")
        text = _INDEX.sub("", _INLINE.sub(f'<script src="{root}_static/theme.js"></script>', text))
        policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        path.write_text(text.replace('<meta charset="utf-8">', f'<meta charset="utf-8">{policy}', 1), encoding="utf-8")


def problems(site: Path) -> Iterator[str]:
    """What any page breaks, a line each."""
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site).as_posix()
        if path.stat().st_size > LARGEST:
            yield f"{name}: {path.stat().st_size} bytes, more than {LARGEST}"
        page = read(path)
        if POLICY not in page.policies:
            yield f"{name}: no content policy"
        yield from (f"{name}: {said}" for said in page.faults)
        for target in page.targets:
            said = _broken(site, path, target)
            if said:
                yield f"{name}: {said}"


class Page(HTMLParser):
    """The addresses, the anchors and the faults of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.anchors: set[str] = set()
        self.faults: list[str] = []
        self.policies: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag refers to and what it may not do."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[key] for key in ("id", "name") if key in given}
        if tag == "script" and "src" not in given:
            self.faults.append("inline script")
        if tag in ("iframe", "object", "embed", "base"):
            self.faults.append(f"<{tag}>")
        self.faults += [f"script in {name}" for name in given if name.startswith("on")]
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policies.append(given.get("content", ""))
        if tag == "img" and "alt" not in given:
            self.faults.append(f"picture {given.get('src')!r} without words")
        if tag in _RESOURCES and given.get(_RESOURCES[tag]):
            self.targets.add(given[_RESOURCES[tag]])


@cache
def read(path: Path) -> Page:
    """A page, parsed."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _broken(site: Path, path: Path, target: str) -> str:
    """Why an address leads nowhere; other sites are not asked."""
    parts = urlsplit(target)
    if parts.scheme in ("http", "https", "mailto"):
        return ""
    if parts.scheme or parts.netloc:
        return f"address {target!r} of another kind"
    file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if site.resolve() not in file.resolve().parents or not file.is_file():
        return f"broken link {target!r}"
    if parts.fragment and file.suffix == ".html" and unquote(parts.fragment) not in read(file).anchors:
        return f"no anchor for {target!r}"
    return ""
