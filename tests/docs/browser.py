"""`python -m tests.docs.browser SITE`: every page of a site in Chromium, as wide as a telephone.

Exit status: 0 all is well, or there is no Chromium here, which is said; 1 something is not, a line each.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# A telephone, in pixels, and the seconds a page may take: the least of some tries, since other work delays any of them.
WIDTH, HEIGHT = 400, 800
SLOWEST, TRIES = 2.0, 3


class NoBrowser(RuntimeError):
    """There is none, or it does not start: why."""


@contextmanager
def opened(width: int = WIDTH) -> Iterator[Any]:
    """A page of the system's Chromium, or of Playwright's own. Raises `NoBrowser`."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        raise NoBrowser("playwright is not installed") from None
    with sync_playwright() as tool:
        try:
            browser = tool.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        except Error as error:
            raise NoBrowser(f"Chromium does not start ({str(error).splitlines()[0]})") from None
        yield browser.new_page(viewport={"width": width, "height": HEIGHT})
        browser.close()


def problems(page: Any, site: Path) -> Iterator[str]:
    """What is wider than the screen, slow, or blocked by the policy, a line each."""
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site).as_posix()
        seconds = _seconds(page, path)
        if seconds > SLOWEST:
            yield f"{name}: {seconds:.1f} s, more than {SLOWEST:g}"
        wider = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        if wider > 0:
            yield f"{name}: {wider} pixels wider than {WIDTH}"
        yield from (f"{name}: {text}" for text in said)
        said.clear()


def _seconds(page: Any, path: Path) -> float:
    least = float("inf")
    for _ in range(TRIES):
        start = time.perf_counter()
        page.goto(path.as_uri())
        least = min(least, time.perf_counter() - start)
        if least <= SLOWEST:
            break
    return least


def main() -> int:
    """Look at all pages and say what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.docs.browser", description="Look at every page in Chromium.")
    parser.add_argument("site", type=Path)
    site = parser.parse_args().site
    try:
        with opened() as page:
            found = list(problems(page, site))
    except NoBrowser as reason:
        print(f"{site}: not looked at in a browser: {reason}")
        return 0
    print("\n".join([*found, f"{site}: {len(list(site.rglob('*.html')))} pages in Chromium, {len(found)} problems"]))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
