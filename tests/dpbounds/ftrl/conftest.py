"""What several files of these tests share."""

import pytest
from jaxtyping import config


@pytest.fixture(scope="module")
def signatures_unchecked():
    """Checking the shapes of signatures costs as much as many small programs; the other tests check the same."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)
