"""What tests of simulations share."""

from __future__ import annotations

import pytest
from jaxtyping import config


@pytest.fixture
def signatures_unchecked():
    """Checking the shapes of signatures costs three times what it checks here; the other tests check the same ones."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)
