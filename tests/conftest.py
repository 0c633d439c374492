"""Shapes and types in the signatures of theory and algorithms are checked here, and only here."""

import jaxtyping
import pytest
from threadpoolctl import threadpool_limits

from tests import typecheck

jaxtyping.jaxtyped = typecheck.only_where_shaped(jaxtyping.jaxtyped)
jaxtyping.install_import_hook(["dpbounds", "simulators"], f"{typecheck.__name__}.{typecheck.checked.__name__}")


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Linear algebra on one thread: a worker of pytest-xdist stands on each core, and threads would wait in a loop."""
    with threadpool_limits(1):
        yield


@pytest.fixture(autouse=True)
def own_width(monkeypatch):
    """Tables as where there is no terminal: the workers of pytest-xdist name a width."""
    monkeypatch.delenv("COLUMNS", raising=False)
