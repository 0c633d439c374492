"""Enclosures of means over the circle by balls, against closed forms."""

from __future__ import annotations

import pytest

from dpbounds import AccuracyError
from dpbounds.arithmetic import balls
from dpbounds.circle.balls import allowance, integrate


def test_enclosures_hold_and_are_narrow():
    """1 / |1 - x - e^{i omega}|^2 has the mean 1 / (x (2 - x)); |sin(omega / 2)| has 2 / pi."""
    with balls(128) as m:
        x = m.number("1e-4")
        kernel, kink = integrate(lambda m, s: [1 / (x * x + 4 * (1 - x) * s), m.sqrt(s)])
        truths = 1 / (x * (2 - x)), 2 / m.pi
        for enclosure, truth in zip((kernel, kink), truths, strict=True):
            assert enclosure.contains(truth) and float(enclosure.rad()) < 1e-8 * float(truth)


def test_what_is_not_integrable_or_takes_too_long_is_not_enclosed():
    with balls(64), pytest.raises(AccuracyError):
        integrate(lambda m, s: [1 / s])
    with balls(64), allowance(10), pytest.raises(AccuracyError, match="units of work"):
        integrate(lambda m, s: [1 / (1 + s)])


def test_other_precisions_give_the_same_numbers():
    with balls(200):
        (enclosure,) = integrate(lambda m, s: [1 / (1 + s)])
        assert abs(float(enclosure) - 2**-0.5) < 1e-8
