"""The study as a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verify.cli.solve.iv.confidence import data, written


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    return written(tmp_path_factory.mktemp("confidence"), data())
