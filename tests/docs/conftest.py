"""A site with a stranger's text, and a page of a browser, for the tests of sites."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.browser import NoBrowser, opened
from tests.reports.examples import claim, clause, failed, full_topic, one_of_each, picture, series, topic, write

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'`|[a](javascript:alert(1)) {{ 7 * 7 }}"


def hostile_claim() -> dict[str, Any]:
    """A stranger's text wherever a results file has plain text."""
    drawn = picture(series(HOSTILE), x=HOSTILE, y=HOSTILE)
    rows = [{"fact": HOSTILE, HOSTILE: [HOSTILE, {HOSTILE: 1}]}]
    found = failed(summary=HOSTILE, facts=[HOSTILE, "x"], picture=drawn, counterexample={HOSTILE: HOSTILE}, rows=rows)
    clauses = [clause("fails", "numeric", text=HOSTILE)]
    return claim(
        "other/hostile", where=HOSTILE, verdict="refuted", finding="It is 7.", evidence=[found], clauses=clauses
    )


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    building = pytest.importorskip("docs.building", reason="the extra `docs` is not installed")
    folder = tmp_path_factory.mktemp("site")
    stranger = topic("other", title=HOSTILE, authors=HOSTILE, venue=HOSTILE, link="javascript:alert(1)")
    file = write(folder, [*one_of_each(), hostile_claim()], [full_topic("ftrl"), stranger])
    building.build(file, folder / "out", whole=False)
    return folder / "out"


@pytest.fixture
def page() -> Iterator[Any]:
    try:
        with opened() as found:
            yield found
    except NoBrowser as reason:
        pytest.skip(str(reason))
