"""Reference values of moments, noises and bounds, by other ways of computing them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from dpbounds import DomainError
from dpbounds.glm import messages

# link, p, |w|, R: J1, J2, g1, S1, S2, P1, P2, unit.
REFERENCE = [
    ("logistic", 1, 1, 0, 0.2745260, None, 0.3497137, 0.8777004, None, 0.0512165, None, 13.26884),
    ("logistic", 2, 1, 0, 0.2054319, 0.2703392, 0.2703392, 0.4269167, 0.5, 0.0520809, 0.0483520, 37.37842),
    ("logistic", 5, 1, 0, 0.1314802, 0.1800289, 0.1800289, 0.1675896, 0.2, 0.0348273, 0.0265696, 181.2640),
    ("logistic", 5, 1, 1, 0.1310317, 0.1795626, 0.1795626, 0.1654419, 0.1976846, 0.0348699, 0.0265270, 182.3025),
    ("logistic", 5, 1, 2, 0.1201594, 0.1671596, 0.1671596, 0.1369965, 0.1649388, 0.0334961, 0.0244918, 212.4122),
    ("logistic", 5, 1, 3, 0.0942650, 0.1340662, 0.1340662, 0.0868773, 0.1048510, 0.0250743, 0.0174827, 335.0847),
    ("logistic", 5, 2, 0, 0.0600376, 0.1355966, 0.2711932, 0.1264542, 0.2, 0.0598266, 0.0652305, 494.9816),
    ("logistic", 10, 1, 0, 0.0924422, 0.1291601, 0.1291601, 0.0833177, 0.1, 0.0209652, 0.0150965, 656.5130),
    ("boosting", 2, 1, 0, 0.1859904, 0.2588426, 0.2588426, 0.4330005, 0.5, 0.0454967, 0.0447654, 43.83356),
    ("boosting", 5, 1, 0, 0.1179140, 0.1716137, 0.1716137, 0.1705488, 0.2, 0.0302952, 0.0243788, 207.7409),
    ("boosting", 10, 1, 0, 0.0826139, 0.1228803, 0.1228803, 0.0849004, 0.1, 0.0181488, 0.0137792, 742.5622),
    ("poisson", 1, 1, 0, 0.3438381, None, 0.4017588, 0.4390259, None, 0.2220870, None, 8.458472),
    ("poisson", 2, 1, 0, 0.2590677, 0.3144256, 0.3144256, 0.2276770, 0.2738956, 0.1288919, 0.1557418, 25.01452),
    ("poisson", 5, 1, 0, 0.1646921, 0.2117262, 0.2117262, 0.0983826, 0.1143064, 0.0648077, 0.0684654, 126.0984),
]


@pytest.mark.parametrize("row", REFERENCE, ids=lambda row: "-".join(map(str, row[:4])))
def test_reference_values(row):
    link, p, norm, radius, *expected = row
    found = messages.moments(link, p, norm, radius=float(radius))
    for name, value in zip(("J1", "J2", "g1", "S1", "S2", "P1", "P2"), expected[:-1], strict=True):
        if value is None:
            assert math.isnan(getattr(found, name))
        else:
            assert getattr(found, name) == pytest.approx(value, abs=6e-8)
    assert found.unit == pytest.approx(expected[-1], rel=5e-7)


@pytest.mark.parametrize("p", [2, 40, 41, 500])
@pytest.mark.parametrize("norm", [0.0, 1e-3, 5.0, 20.0])
def test_quadrature_holds_the_identity_far_out(p, norm):
    for link in ("logistic", "boosting", "poisson"):
        found = messages.moments(link, p, norm)
        assert found.J2 * norm == pytest.approx(found.g1, rel=1e-8, abs=1e-12)


def test_small_weights():
    for p, unit in ((1, 6.28319), (2, 20.37183), (5, 110.4466), (10, 420.4738)):
        assert messages.moments("logistic", p, 0.0).unit == pytest.approx(unit, rel=1e-6)


@pytest.mark.parametrize(("link", "bound"), [("poisson", 3), ("sigmoid", 1.4), ("boosting", None)])
def test_scores_by_their_definition(link, bound):
    labels = messages.scored(link, bound)
    z = np.array([-2.0, 0.3, 1.7])
    if link == "poisson":
        y = np.arange(200.0)
        law = stats.poisson.pmf(y, np.exp(z)[:, None])
    elif link == "sigmoid":
        mean = 1 / (1 + np.exp(-z))
        psi = (2 * np.stack([mean - 0.4, mean + 0.4]) - 1) / 1.8
        assert labels.score(np.stack([mean - 0.4, mean + 0.4])) == pytest.approx(psi)
        assert labels.mean(z) == pytest.approx(psi.mean(axis=0)) and labels.second(z) == pytest.approx((psi**2).mean(0))
        return
    else:
        y = np.array([0.0, 1.0])
        mean = 0.5 + z / (4 * np.sqrt(1 + z**2 / 4))
        law = np.stack([1 - mean, mean], axis=1)
    psi = labels.score(y)
    assert np.abs(psi).max() == 1.0
    assert labels.mean(z) == pytest.approx(law @ psi, abs=1e-14)
    assert labels.second(z) == pytest.approx(law @ psi**2, abs=1e-14)
    step = 1e-5
    assert labels.slope(z) == pytest.approx((labels.mean(z + step) - labels.mean(z - step)) / (2 * step), rel=1e-7)


def test_labels_without_bounds_are_refused():
    for link in ("cubic", "softplus"):
        with pytest.raises(DomainError, match="link"):
            messages.scored(link)
    with pytest.raises(DomainError, match="label_bound"):
        messages.scored("logistic", 2.0)
    with pytest.raises(DomainError, match="label_bound"):
        messages.scored("poisson", 2.5)


CAPS = {
    (1, 0.5): (16.671, 16.671), (1, 1.0): (4.6827, 4.6827), (1, 2.0): (1.7241, 1.7241), (1, 4.0): (1.0760, 1.0760),
    (2, 0.5): (41.134, 40.125), (2, 1.0): (11.554, 10.522), (2, 2.0): (4.2540, 3.1401), (2, 4.0): (2.6550, 1.3556),
    (5, 0.5): (118.55, 114.52), (5, 1.0): (33.299, 29.187), (5, 2.0): (12.260, 7.8571), (5, 4.0): (7.6517, 2.5388),
    (10, 0.5): (249.11, 240.05), (10, 1.0): (69.974, 60.733), (10, 2.0): (25.763, 15.898), (10, 4.0): (16.079, 4.6743),
}  # fmt: skip


@pytest.mark.parametrize("setting", CAPS, ids=str)
def test_squares_on_the_sphere(setting):
    for found, expected in zip((messages.hemisphere(*setting), messages.cap(*setting)), CAPS[setting], strict=True):
        assert found.trace == pytest.approx(expected, rel=5e-5)
        assert found.along + (setting[0] - 1) * found.across == pytest.approx(found.trace, rel=1e-12)


def test_cap_by_integration_and_no_better_one():
    p, epsilon = 4, 1.3
    found = messages.cap(p, epsilon)
    gain = math.exp(epsilon)

    def mean(gamma, power=1):
        density = lambda u: (1 - u * u) ** ((p - 3) / 2)  # noqa: E731
        inside, outside = (
            [integrate.quad(lambda u, k=k: u**k * density(u), *ends)[0] for k in (0, power)]
            for ends in ((gamma, 1), (-1, gamma))
        )
        return (gain * inside[1] + outside[1]) / (gain * inside[0] + outside[0])

    assert 1 / found.scale == pytest.approx(mean(found.gamma), rel=1e-9)
    assert found.along == pytest.approx(mean(found.gamma, 2) * found.trace, rel=1e-9)
    assert max(mean(found.gamma - 0.02), mean(found.gamma + 0.02)) < mean(found.gamma)


def test_lower_bounds_at_their_values_and_what_attains_them():
    small = {(2, 1): 36.14955, (5, 1): 174.896, (10, 1): 640.286}
    for (p, norm), unit in (small | {(2, 2): 94.78132, (5, 2): 378.184, (10, 2): 1286.675}).items():
        found = messages.lower_bound("logistic", p, float(norm))
        assert found.unit == pytest.approx(unit, rel=1e-5)
        w, stretched = np.zeros(p), np.eye(p)
        w[0], stretched[0, 0] = norm, found.stretch
        attained = np.sum(messages.message_law("logistic", w, np.eye(p), matrix=stretched).back ** 2)
        assert attained == pytest.approx(found.unit, rel=1e-9)
        assert messages.moments("logistic", p, float(norm)).unit > found.unit
    with pytest.raises(DomainError, match="poisson"):
        messages.lower_bound("poisson", 2, 1.0)
    squares = [messages.pure_threshold(epsilon) ** 2 for epsilon in (0.5, 1.0, 2.0, 4.0)]
    assert squares == pytest.approx([0.03971, 0.15798, 0.61855, 2.29716], abs=5e-6)
