"""Costs of iv Algorithms 1 and 3: explicit neighbours, Rényi divergences by quadrature, adversarial search."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import norm

from dpbounds import DomainError, iv
from dpbounds.iv import TwoStageBudget, pairs, privacy
from dpbounds.privacy import gaussian_delta, gaussian_epsilon
from tests.dpbounds.iv.oracles import clipped, clipped_sums, joint_cost_along, unnoised_cost_along

ADJACENCIES = ("replace-one", "zero-out", "add-remove")
NORMS = {"gamma1": 1.3, "gamma2": 0.7}


def run(data, n, steps, eta, alpha, noise, seed, norms=NORMS, private_theta=True):
    """Iterates 0 ... T-1 of Algorithm 1 on a data set, averages over n, gradients record by record."""
    generator = np.random.default_rng(seed)
    theta, beta, thetas, betas = np.zeros((1, 1)), np.zeros(1), [], []
    for _ in range(steps):
        thetas.append(theta)
        betas.append(beta)
        gamma1 = norms["gamma1"] if private_theta else math.inf
        first, second = clipped_sums(data, theta, beta, gamma1, norms["gamma2"])
        theta = theta - eta * first / n + private_theta * eta * noise[0] * generator.normal(size=(1, 1))
        beta = beta - alpha * second / n + alpha * noise[1] * generator.normal(size=1)
    return np.array(thetas), np.array(betas)


@pytest.mark.parametrize("calibration", ["paper", "tight"])
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("steps", [1, 2, 7])
def test_the_cost_of_the_worst_pair_along_simulated_paths(calibration, adjacency, steps):
    n, rho1, rho2 = 6, 1.0, 2.0
    scales = privacy.noise_scales(
        TwoStageBudget(rho1=rho1, rho2=rho2, gamma1=1.3, gamma2=0.7, calibration=calibration, adjacency=adjacency),
        n,
        steps,
    )
    noise = {"lambda1": float(scales.lambda1), "lambda2": float(scales.lambda2)}
    pair = pairs.joint_pair(n, adjacency=adjacency)
    cost = privacy.joint_cost(TwoStageBudget(**NORMS, **noise, adjacency=adjacency), n, steps)
    for seed in range(3):
        paths = run(pair.first, n, steps, 0.6, 0.3, tuple(noise.values()), seed)
        assert joint_cost_along(pair, *paths, **NORMS, **noise) == pytest.approx(cost, rel=1e-12)
    promised = rho1 / 2 + (1 - 1 / steps) * rho2 / 2 if calibration == "paper" else rho1 + (steps > 1) * rho2
    assert cost == pytest.approx(promised, rel=1e-12)
    assert (cost.kind, steps) != ("exact", 7) or calibration == "tight" or cost == pytest.approx(1.357142857, rel=1e-9)


def log_ratio_integral(shift: np.ndarray, order: float) -> np.ndarray:
    """log int p^a q^(1-a) for unit-variance Gaussians `shift` apart, by the trapezoidal rule."""
    x = np.linspace(-40, 40, 2001)
    log_p, log_q = norm.logpdf(x), norm.logpdf(x[:, None] - shift.ravel())
    values = np.exp(order * log_p[:, None] + (1 - order) * log_q).sum(axis=0) * (x[1] - x[0])
    return np.log(values).reshape(shift.shape)


@pytest.mark.parametrize("magnitude", [1e9, 2.0])
@pytest.mark.parametrize("order", [1.5, 4.0])
def test_renyi_divergence_of_the_joint_release_by_quadrature(magnitude, order):
    """n = 3, T = 2, release (Theta_1, beta_1, Theta_2, beta_2): attained for large magnitudes, below for small ones."""
    n, eta, alpha, noise = 3, 0.8, 0.5, (0.9, 0.6)
    pair = pairs.joint_pair(n, magnitude=magnitude)
    starts = [clipped_sums(data, np.zeros((1, 1)), np.zeros(1), *NORMS.values()) for data in pair]
    assert starts[0][1] == starts[1][1] == 0
    means = [-eta * float(first[0, 0]) / n for first, _ in starts]
    nodes = np.linspace(-8, 8, 41) + order * (means[0] - means[1]) / (eta * noise[0])
    total = 0.0
    for u in nodes:
        theta = np.array([[means[1] + eta * noise[0] * u]])
        weight = order * norm.logpdf((theta[0, 0] - means[0]) / (eta * noise[0])) + (1 - order) * norm.logpdf(u)
        for v in np.linspace(-7, 7, 15):
            beta = np.array([alpha * noise[1] * v])
            sums = [clipped_sums(data, theta, beta, *NORMS.values()) for data in pair]
            shifts = [float(np.linalg.norm(a - b)) / n / s for a, b, s in zip(*sums, noise, strict=True)]
            inner = sum(log_ratio_integral(np.array([shift]), order)[0] for shift in shifts)
            total += math.exp(weight + norm.logpdf(v) + inner) * (nodes[1] - nodes[0])
    divergence = math.log(total) / (order - 1)
    cost = privacy.joint_cost(TwoStageBudget(**NORMS, lambda1=noise[0], lambda2=noise[1]), n, 2)
    if magnitude > 1e3:
        assert divergence == pytest.approx(order * cost, rel=1e-6)
    else:
        assert 0 < divergence < 0.95 * order * cost


@given(st.integers(0, 10**6))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_no_pair_moves_the_gradients_further(seed):
    generator = np.random.default_rng(seed)
    n, q, p = 4, 2, 2
    scale = 10.0 ** generator.integers(-1, 4)
    theta, beta = scale * generator.normal(size=(q, p)), scale * generator.normal(size=p)
    data = pairs.Data(*(scale * generator.standard_cauchy(size) for size in ((n, q), (n, p), n)))
    other = pairs.Data(*(np.concatenate([x[:-1], scale * generator.standard_cauchy(x[-1:].shape)]) for x in data))
    dropped = pairs.Data(*(x[:-1] for x in data))
    own = clipped_sums(data, theta, beta, *NORMS.values())
    for neighbour, factor in ((other, 2.0), (dropped, 1.0)):
        moved = clipped_sums(neighbour, theta, beta, *NORMS.values())
        for a, b, gamma in zip(own, moved, NORMS.values(), strict=True):
            assert np.linalg.norm(a - b) <= factor * gamma * (1 + 1e-9)


def test_what_the_paper_states_of_the_joint_cost():
    n, steps, rho1, rho2 = 50, 20, 0.7, 0.3
    scales = privacy.noise_scales(TwoStageBudget(rho1=rho1, rho2=rho2, gamma1=1.3, gamma2=0.7), n, steps)
    assert scales.lambda1 == pytest.approx(2 * 1.3 / n * math.sqrt(steps / rho1), rel=1e-14)
    assert scales.lambda2 == pytest.approx(2 * 0.7 / n * math.sqrt(steps / rho2), rel=1e-14)
    noise = {"lambda1": scales.lambda1, "lambda2": scales.lambda2}
    printed = privacy.printed_joint_cost(TwoStageBudget(**NORMS, **noise), n, steps)
    assert printed == pytest.approx((rho1 + rho2) / 2, rel=1e-13)  # iv Prop. 3.1 displays rho1 + rho2
    assert printed.kind == "upper" and privacy.joint_cost(TwoStageBudget(**NORMS, **noise), n, steps) < printed
    doubled = privacy.noise_scales(TwoStageBudget(rho1=rho1, rho2=rho2, gamma1=2.6, gamma2=1.4), n, steps)
    assert doubled == pytest.approx(tuple(2 * scale for scale in scales))
    assert privacy.noise_scales(TwoStageBudget(rho1=math.inf, rho2=rho2, gamma1=1.3, gamma2=0.7), n, steps).lambda1 == 0
    assert (
        privacy.noise_scales(
            TwoStageBudget(rho1=rho1, rho2=rho2, gamma1=1.3, gamma2=0.7, calibration="tight"), n, 1
        ).lambda2
        == 0
    )


@pytest.mark.parametrize(("rho", "epsilon"), [(0.1, 1.7601), (1.0, 6.5730), (10.0, 28.3735)])
def test_gaussian_dp_of_the_joint_release(rho, epsilon):
    scales = privacy.noise_scales(
        TwoStageBudget(rho1=0.4 * rho, rho2=0.6 * rho, gamma1=1.3, gamma2=0.7, calibration="tight"), 30, 5
    )
    mu = privacy.joint_gdp(TwoStageBudget(**NORMS, lambda1=scales.lambda1, lambda2=scales.lambda2), 30, 5)
    assert mu == pytest.approx(math.sqrt(2 * rho), rel=1e-13)
    assert gaussian_epsilon(mu, 1e-5) == pytest.approx(epsilon, abs=5e-5)
    x = np.linspace(-12, 12 + mu, 200001)
    excess = np.maximum(norm.pdf(x - mu) - math.exp(epsilon) * norm.pdf(x), 0.0).sum() * (x[1] - x[0])
    assert gaussian_delta(mu, epsilon) == pytest.approx(excess, rel=1e-6)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("n", [1, 3, 8])
def test_unnoised_first_stage_along_the_pair(adjacency, n):
    steps, lambda2 = 5, 0.4
    pair = pairs.beta_only_pair(n, shift=0.3, adjacency=adjacency)
    _, betas = run(pair.first, n, steps, 0.9, 0.2, (0.0, lambda2), 1, private_theta=False)
    found = unnoised_cost_along(pair, betas, eta=0.9, gamma2=0.7, lambda2=lambda2)
    cost = privacy.unnoised_cost(TwoStageBudget(gamma2=0.7, lambda2=lambda2, adjacency=adjacency), n, steps)
    assert found == pytest.approx(cost, rel=1e-9)
    if adjacency == "replace-one":
        printed = privacy.printed_beta_only_cost(TwoStageBudget(gamma2=0.7, lambda2=lambda2), n, steps)
        assert cost == pytest.approx(n**2 * (1 - 1 / steps) * printed, rel=1e-12)
        assert printed.kind == "estimate"
    scale = privacy.unnoised_noise_scale(TwoStageBudget(rho2=0.25, gamma2=0.7, adjacency=adjacency), n, steps)
    assert privacy.unnoised_cost(
        TwoStageBudget(gamma2=0.7, lambda2=scale, adjacency=adjacency), n, steps
    ) == pytest.approx(0.25)


def test_unnoised_cost_is_the_divergence_of_the_released_path():
    """n = 3, T = 2, Algorithm 3: beta_1 has no data, beta_2 given beta_1 is Gaussian. KL by quadrature, rho_2 = 0.5."""
    n, eta, alpha, gamma2 = 3, 0.7, 0.4, 0.9
    lambda2 = float(privacy.unnoised_noise_scale(TwoStageBudget(rho2=0.5, gamma2=gamma2), n, 2))
    pair = pairs.beta_only_pair(n, shift=1.0)
    divergence, v = 0.0, np.linspace(-8, 8, 65)
    for beta in alpha * lambda2 * v:
        steps = []
        for Z, X, Y in pair:
            theta = np.full((1, 1), eta * float(Z[:, 0] @ X[:, 0]) / n)
            steps.append(float(clipped_sums((Z, X, Y), theta, np.array([beta]), math.inf, gamma2)[1][0]) / n)
        x = np.linspace(-15, 15, 3001)
        log_p, log_q = norm.logpdf(x), norm.logpdf(x - (steps[0] - steps[1]) / lambda2)
        inner = (np.exp(log_p) * (log_p - log_q)).sum() * (x[1] - x[0])
        divergence += norm.pdf(beta / (alpha * lambda2)) * inner * (v[1] - v[0])
    assert divergence == pytest.approx(0.5, rel=1e-6)


@given(st.integers(0, 10**6))
@settings(derandomize=True, deadline=None, max_examples=40)
def test_no_pair_costs_more_without_first_stage_noise(seed):
    generator = np.random.default_rng(seed)
    n, gamma2 = 4, 0.7
    data = pairs.Data(generator.normal(size=(n, 1)), generator.normal(size=(n, 1)), 10 * generator.normal(size=n))
    other = pairs.Data(*(np.concatenate([x[:-1], 10 * generator.normal(size=x[-1:].shape)]) for x in data))
    betas = generator.normal(size=(6, 1))
    for neighbour, adjacency in ((other, "replace-one"), (pairs.Data(*(x[:-1] for x in data)), "add-remove")):
        found = unnoised_cost_along(pairs.Pair(data, neighbour), betas, eta=0.5, gamma2=gamma2, lambda2=0.3)
        assert found <= privacy.unnoised_cost(TwoStageBudget(gamma2=gamma2, lambda2=0.3, adjacency=adjacency), n, 6)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_attack_on_beta_alone_by_quadrature(adjacency):
    """Law of beta_2 on both data sets, Theta_1 integrated out on a grid; the gradients record by record."""
    n, eta, gamma1, gamma2, lambda1, lambda2 = 3, 0.8, 1.0, 2.0, 0.4, 0.9
    pair = pairs.beta_only_pair(n, shift=gamma1, adjacency=adjacency)
    x = np.linspace(-12, 12, 4001)
    densities = []
    for data in pair:
        drift = -eta * clipped_sums(data, np.zeros((1, 1)), np.zeros(1), gamma1, gamma2)[0][0, 0] / n
        weights = {}
        for sign in (1.0, -1.0):
            mean = -clipped_sums(data, np.full((1, 1), sign * 0.01), np.zeros(1), gamma1, gamma2)[1][0] / n
            weights[sign] = (norm.cdf(sign * drift / (eta * lambda1)), mean)
        densities.append(sum(w * norm.pdf((x - mean) / lambda2) / lambda2 for w, mean in weights.values()))
    p, q = densities
    divergence = (p * np.log(p / q)).sum() * (x[1] - x[0])
    scales = {"gamma1": gamma1, "gamma2": gamma2, "lambda1": lambda1, "lambda2": lambda2}
    attack = privacy.beta_only_attack(TwoStageBudget(**scales, adjacency=adjacency), n)
    assert attack == pytest.approx(divergence, rel=1e-6) and attack.kind == "lower"
    assert attack <= privacy.beta_only_cost(TwoStageBudget(**scales, adjacency=adjacency), n, 2)


@pytest.mark.parametrize(("rho1", "limit"), [(1.0, 0.1568), (4.0, 0.6007), (32.0, 3.5891)])
def test_finite_first_stage_noise_does_not_save_lemma_f1(rho1, limit):
    """T = 2, scales of iv eq. (4), rho_2 = 0.5: the pair costs more than rho_2 from rho_1 = 4 on."""
    n, rho2 = 10**5, 0.5
    scales = privacy.noise_scales(TwoStageBudget(rho1=rho1, rho2=rho2, gamma1=1.3, gamma2=0.7), n, 2)
    noise = {"lambda1": scales.lambda1, "lambda2": scales.lambda2}
    attack = privacy.beta_only_attack(TwoStageBudget(**NORMS, **noise), n)
    w = ndtr(0.5 * math.sqrt(rho1 / 2))
    assert attack == pytest.approx((2 * w - 1) * math.log(w / (1 - w)), rel=1e-4)
    assert attack == pytest.approx(limit, abs=1e-4)
    bound = privacy.beta_only_cost(TwoStageBudget(**NORMS, **noise), n, 2)
    assert attack < bound == pytest.approx((rho1 + rho2) / 4, rel=1e-12)
    assert (attack > rho2) == (rho1 >= 4)
    printed = privacy.printed_beta_only_cost(TwoStageBudget(gamma2=0.7, lambda2=scales.lambda2), n, 2)
    assert printed == pytest.approx(rho2 / 2, rel=1e-12)  # iv Lemma F.1 displays rho_2


@pytest.mark.parametrize(
    ("n", "adjacency", "lambda1", "lambda2"),
    [
        (50, "replace-one", 2.6, 0.02),
        (50, "zero-out", 2.6, 2.0),
        (10**4, "zero-out", 2e-4, 1e-7),
        (3, "zero-out", 9, 9),
    ],
)
def test_the_lower_bound_for_beta_alone_at_30_digits(n, adjacency, lambda1, lambda2):
    """Small costs and far apart means, where differences of large numbers would lose it: mixtures by definition."""
    factor = 2 if adjacency == "replace-one" else 1
    with mpmath.workdps(30):
        w = mpmath.ncdf(mpmath.mpf(factor) * NORMS["gamma1"] / (2 * n * mpmath.mpf(lambda1)))
        a = mpmath.mpf(NORMS["gamma2"]) / mpmath.mpf(lambda2)
        b = a if factor == 2 else a * (1 - mpmath.mpf(1) / n)

        def term(x):
            own = w * mpmath.npdf(x - a) + (1 - w) * mpmath.npdf(x + a)
            other = (1 - w) * mpmath.npdf(x - b) + w * mpmath.npdf(x + b)
            return own * mpmath.log(own / other)

        centres = [-a, a] if a > 14 else [0]
        exact = sum(mpmath.quad(term, [c + d for d in (-28, -14, -5, 0, 5, 14, 28)]) for c in centres)
    attack = privacy.beta_only_attack(TwoStageBudget(**NORMS, lambda1=lambda1, lambda2=lambda2, adjacency=adjacency), n)
    assert attack == pytest.approx(float(exact), rel=1e-8, abs=1e-13)


def test_beta_alone_costs_the_lesser_of_two_bounds():
    n, steps = 3, 9
    weak, strong = {"lambda1": 1e-4, "lambda2": 2.0}, {"lambda1": 3.0, "lambda2": 2.0}
    assert privacy.beta_only_cost(TwoStageBudget(**NORMS, **weak), n, steps) == privacy.unnoised_cost(
        TwoStageBudget(gamma2=0.7, lambda2=2.0), n, steps
    )
    joint = privacy.joint_cost(TwoStageBudget(**NORMS, **strong), n, steps)
    last = 2 / n**2 * (1.3 / 3.0) ** 2
    assert privacy.beta_only_cost(TwoStageBudget(**NORMS, **strong), n, steps) == pytest.approx(joint - last, rel=1e-12)
    assert privacy.beta_only_cost(TwoStageBudget(**NORMS, lambda1=0.0, lambda2=0.0), n, 1) == 0


def ball(vector: np.ndarray, radius: float) -> np.ndarray:
    return clipped(vector, radius)


@pytest.mark.parametrize("adjacency", ["replace-one", "zero-out"])
def test_projected_variant_by_adversarial_search(adjacency):
    """Two neighbours run in parallel with common released betas: gradients and Theta move less than bounded."""
    enforced = privacy.Enforced(instrument=1.5, outcome=2.0, theta=1.2, beta=0.8)
    n, steps, eta, q, p = 12, 4, 2 / 1.5**2, 2, 2
    budget = TwoStageBudget(gamma1=0.6, gamma2=0.5, rho2=0.3, adjacency=adjacency)
    bounds = privacy.projected_sensitivities(budget, n, steps, eta=eta, enforced=enforced)
    factor, worst = (2 if adjacency == "replace-one" else 1), 0.0
    for seed in range(40):
        generator = np.random.default_rng(seed)
        Z = np.array([ball(z, 1.5) for z in generator.normal(size=(n, q)) * 3])
        X, Y = generator.normal(size=(n, p)) * 5, np.clip(generator.normal(size=n) * 4, -2, 2)
        Z2, X2, Y2 = Z.copy(), X.copy(), Y.copy()
        Z2[-1] = ball(generator.normal(size=q) * 3, 1.5) if factor == 2 else 0.0
        X2[-1], Y2[-1] = -5 * X[-1], -Y[-1]
        thetas = [np.zeros((q, p)), np.zeros((q, p))]
        for t in range(steps):
            beta = ball(generator.normal(size=p), 0.8)
            sums = [
                clipped_sums(data, theta, beta, 0.6, 0.5)
                for data, theta in zip(((Z, X, Y), (Z2, X2, Y2)), thetas, strict=True)
            ]
            assert np.linalg.norm(thetas[0] - thetas[1]) <= factor * eta * 0.6 * t / n + 1e-12
            moved = np.linalg.norm(sums[0][1] - sums[1][1]) / n
            assert moved <= bounds[t] + 1e-12
            worst = max(worst, moved / bounds[t] if t else 0.0)
            thetas = [ball(theta - eta * s[0] / n, 1.2) for theta, s in zip(thetas, sums, strict=True)]
    assert 0.05 < worst < 1 and bounds[0] == 0
    lipschitz = 1.5 * (2 * 1.5 * 1.2 * 0.8 + 2.0)
    assert bounds[1] == pytest.approx(factor / n * (0.5 + eta * 0.6 * lipschitz), rel=1e-12)
    scale = privacy.projected_noise_scale(budget, n, steps, eta=eta, enforced=enforced)
    assert (bounds**2).sum() / (2 * scale**2) == pytest.approx(0.3, rel=1e-12)


def test_projected_variant_moves_theta_by_the_whole_bound():
    """One record with a clipped Theta-gradient of constant direction: the drift of Theta is 2 eta gamma_1 t / n."""
    n, eta, gamma1 = 5, 0.4, 0.3
    thetas = [0.0, 0.0]
    for t in range(1, 5):
        moves = [clipped(np.array([theta - x]), gamma1)[0] / n for theta, x in zip(thetas, (50.0, -50.0), strict=True)]
        thetas = [theta - eta * move for theta, move in zip(thetas, moves, strict=True)]
        assert abs(thetas[0] - thetas[1]) == pytest.approx(2 * eta * gamma1 * t / n, rel=1e-12)


def test_bad_arguments_are_refused():
    enforced = privacy.Enforced(instrument=2.0, outcome=1.0, theta=1.0, beta=1.0)
    for call in (
        lambda: privacy.noise_scales(TwoStageBudget.equal(1, 1), 0, 5),
        lambda: privacy.noise_scales(TwoStageBudget.equal(1, 1), 10, 0),
        lambda: privacy.noise_scales(TwoStageBudget(rho1=0, rho2=1, gamma1=1, gamma2=1), 10, 5),
        lambda: privacy.noise_scales(TwoStageBudget(rho1=1, rho2=math.nan, gamma1=1, gamma2=1), 10, 5),
        lambda: privacy.noise_scales(TwoStageBudget(rho1=1, rho2=1, gamma1=-1, gamma2=1), 10, 5),
        lambda: privacy.noise_scales(TwoStageBudget.equal(1, 1, calibration="loose"), 10, 5),
        lambda: privacy.noise_scales(TwoStageBudget.equal(1, 1, adjacency="one"), 10, 5),
        lambda: privacy.joint_cost(TwoStageBudget(gamma1=1, gamma2=1, lambda1=-1, lambda2=1), 10, 5),
        lambda: privacy.unnoised_noise_scale(TwoStageBudget(rho2=-1, gamma2=1), 10, 5),
        lambda: privacy.projected_sensitivities(TwoStageBudget(gamma1=1, gamma2=1), 10, 5, eta=0.6, enforced=enforced),
    ):
        with pytest.raises(DomainError):
            call()
    assert privacy.joint_cost(TwoStageBudget(**NORMS, lambda1=0.0, lambda2=1.0), 10, 5) == math.inf
    assert privacy.unnoised_cost(TwoStageBudget(gamma2=1.0, lambda2=0.0), 10, 5) == math.inf


def test_noise_scales_say_where_they_come_from():
    for calibration, source in (("paper", "iv eq. (4)"), ("tight", "dpbounds, exact cost of iv Algorithm 1")):
        scales = iv.noise_scales(
            iv.TwoStageBudget(rho1=1.0, rho2=2.0, gamma1=1.0, gamma2=1.0, calibration=calibration), 10, 4
        )
        assert scales.lambda1.source == scales.lambda2.source == source
