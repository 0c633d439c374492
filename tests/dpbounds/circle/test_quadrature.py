"""The trapezoid rule over the circle, at every scale of the frequency."""

from __future__ import annotations

import numpy as np
import pytest

from dpbounds import AccuracyError
from dpbounds.circle.quadrature import circle_nodes, even_integral


@pytest.mark.parametrize("a", [1.0, 0.3, 1e-4, 1e-9])
def test_poisson_kernels(a):
    total = even_integral(lambda omega: 1 / (a * a + 4 * (1 - a) * np.sin(omega / 2) ** 2))
    assert total == pytest.approx(2 * np.pi / (a * (2 - a)), rel=1e-12)


def test_several_at_once_and_the_length_of_the_circle():
    both = even_integral(lambda omega: np.stack([np.ones_like(omega), np.sin(omega / 2) ** 2]))
    assert both == pytest.approx([2 * np.pi, np.pi], rel=1e-12)
    assert circle_nodes()[1].sum() == pytest.approx(2 * np.pi, rel=1e-12)


def test_jumps_and_poles_are_refused():
    with pytest.raises(AccuracyError, match="jump"):
        even_integral(lambda omega: (omega > 1.0).astype(float))
    with pytest.raises(AccuracyError, match="not finite"), np.errstate(divide="ignore"):
        even_integral(lambda omega: 1 / np.zeros_like(omega))
