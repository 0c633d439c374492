"""Joint privacy and calibrations: anchors, Monte Carlo of all releases, adversarial neighbours, a second accountant."""

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.optimize import minimize
from scipy.special import log_ndtr

from dpbounds import DomainError
from dpbounds.arithmetic import FLOATS
from dpbounds.ols import (
    AdasspScales,
    GradientDescentScales,
    HessianMixingScales,
    LinearMixingScales,
    adassp_mu,
    adassp_scales,
    budget_mu,
    failure_probability,
    gradient_descent_mu,
    gradient_descent_scales,
    hessian_mixing_scales,
    linear_mixing_scales,
    mixing_delta,
    mixing_epsilon,
    mixing_log_delta,
)
from dpbounds.ols.calibration import theorem_gamma
from dpbounds.privacy.gaussian import gaussian_delta

N = 960
DELTA = 1 / N**2


class TestAnchors:
    def test_adassp(self):
        assert float(budget_mu(1, 1e-6)) == pytest.approx(0.2367043807, rel=1e-9)
        assert float(budget_mu(10, 1e-6)) == pytest.approx(1.8481322058, rel=1e-10)
        assert adassp_scales(1, 1e-6).gram == pytest.approx(7.3173584798, rel=1e-9)
        factor = adassp_scales(1, 1e-6, adjacency="replace-one").gram / adassp_scales(1, 1e-6).gram
        assert factor == pytest.approx(1.3540064008, rel=1e-10)
        for epsilon, saved in ((0.1, 1.73), (1, 1.70), (10, 1.56)):
            split = adassp_scales(epsilon, 1e-6, accounting="experiments").gram
            assert split / adassp_scales(epsilon, 1e-6).gram == pytest.approx(saved, abs=0.006)

    def test_gradient_descent(self):
        for epsilon, saved in ((0.1, 2.91), (1, 2.54), (10, 2.25)):
            printed, tight = (
                gradient_descent_scales(epsilon, DELTA, n=N, steps=3, accounting=accounting).sigma
                for accounting in ("theorem", "tight")
            )
            assert printed / tight == pytest.approx(saved, abs=0.006)

    def test_hessian_mixing(self):
        printed, experiments, tight = (
            hessian_mixing_scales(1, DELTA, k=111, steps=3, failure=DELTA / 10, accounting=accounting)
            for accounting in ("theorem", "experiments", "tight")
        )
        assert printed.gamma / tight.gamma == pytest.approx(2.2665, rel=1e-4)
        assert experiments.gamma / tight.gamma == pytest.approx(experiments.sigma / tight.sigma, rel=1e-12)
        assert printed.gamma == pytest.approx(float(theorem_gamma(FLOATS, 1, math.log(5 / DELTA), 111, 3)), rel=1e-14)


class TestCalibration:
    @pytest.mark.parametrize(
        ("epsilon", "delta", "k", "steps"),
        [
            (1, DELTA, 111, 3),
            (0.1, 1e-10, 20, 1),
            (10, 0.01, 5, 6),
            (1e-3, 1e-299, 10**5, 10),
            (100, 0.3, 1, 1),
            (1e-4, 0.4, 10**7, 7),
        ],
    )
    @pytest.mark.parametrize("share", [None, 0.5])
    def test_tight_spends_the_budget(self, epsilon, delta, k, steps, share):
        scales = hessian_mixing_scales(epsilon, delta, k=k, steps=steps, failure=delta, gradient_share=share)
        spent = mixing_log_delta(epsilon, scales)
        assert spent <= math.log(delta) + 1e-12 and spent == pytest.approx(math.log(delta), abs=1e-9)

    def test_linear_mixing(self):
        printed, tight = (
            linear_mixing_scales(1, DELTA, k=46, failure=DELTA / 10, outcome_bound=2.0, accounting=accounting)
            for accounting in ("experiments", "tight")
        )
        assert float(mixing_delta(1, printed)) < DELTA
        assert float(mixing_delta(1, tight)) == pytest.approx(DELTA, rel=1e-10)
        assert float(mixing_epsilon(DELTA, tight)) == pytest.approx(1, rel=1e-10)
        assert tight.row_bound_squared == 5 and tight.test_noise == pytest.approx(5 * tight.gamma / math.sqrt(46))

    def test_adassp_and_gradient_descent_spend_the_budget(self):
        for adjacency in ("zero-out", "replace-one"):
            scales = adassp_scales(1, 1e-6, outcome_bound=3.0, adjacency=adjacency)
            assert float(gaussian_delta(adassp_mu(scales, adjacency=adjacency), 1)) == pytest.approx(1e-6, rel=1e-9)
            descent = gradient_descent_scales(1, 1e-6, n=50, steps=4, clip=0.3, adjacency=adjacency)
            mu = gradient_descent_mu(descent, adjacency=adjacency)
            assert float(gaussian_delta(mu, 1)) == pytest.approx(1e-6, rel=1e-9)

    def test_ridge_level(self):
        scales = adassp_scales(1, 1e-6, accounting="theorem")
        assert scales.gram == pytest.approx(math.sqrt(2 * math.log(6e6)) * 3, rel=1e-14)
        assert scales.ridge_level(7, 1e-7) == pytest.approx(
            3 * math.sqrt(2 * 7 * math.log(6e6) * math.log(2 * 49 / 1e-7)), rel=1e-13
        )
        iso = adassp_scales(1, 1e-6, iso=True)
        assert iso.ridge_level(7, 0.1) == pytest.approx(iso.gram * math.sqrt(3.5 * math.log(980)), rel=1e-13)

    def test_theorem_below_five_halves_is_refused_with_what_would_do(self):
        with pytest.raises(DomainError, match=r"k \* steps = 1 .* at least 7 ") as caught:
            hessian_mixing_scales(10, 0.5, k=1, steps=1, failure=0.1, accounting="theorem")
        assert caught.value.parameter == "k * steps"
        assert hessian_mixing_scales(10, 0.5, k=7, steps=1, failure=0.1, accounting="theorem").gamma > 2.5
        with pytest.raises(DomainError):
            hessian_mixing_scales(10, 0.5, k=6, steps=1, failure=0.1, accounting="theorem")


class TestAdasspSensitivity:
    """The releases (lambda_min, X'X, X'Y) in units of their noise, upper triangle as drawn."""

    SCALES = AdasspScales(eigenvalue=0.8, gram=1.3, moment=2.1, shift=1.0, outcome_bound=1.5)

    @staticmethod
    def moved(record, other, scales, base):
        before, after = base + np.outer(record[:-1], record[:-1]), base + np.outer(other[:-1], other[:-1])
        upper = (before - after)[np.triu_indices(len(base))] / scales.gram
        moment = (record[:-1] * record[-1] - other[:-1] * other[-1]) / scales.moment
        test = (np.linalg.eigvalsh(before)[0] - np.linalg.eigvalsh(after)[0]) / scales.eigenvalue
        return math.sqrt(float(upper @ upper + moment @ moment + test**2))

    @staticmethod
    def admissible(vector, bound):
        x = vector[:-1] / max(1.0, float(np.linalg.norm(vector[:-1])))
        return np.append(x, np.clip(vector[-1], -bound, bound))

    def test_zero_out_is_attained_and_not_exceeded(self):
        base, rng = np.diag([0.0, 4.0, 9.0]), np.random.default_rng(2)
        worst = self.moved(np.array([1.0, 0, 0, 1.5]), np.zeros(4), self.SCALES, base)
        assert worst == pytest.approx(float(adassp_mu(self.SCALES)), rel=1e-14)
        for _ in range(300):
            record = self.admissible(2 * rng.standard_normal(4), 1.5)
            assert self.moved(record, np.zeros(4), self.SCALES, base) <= worst * (1 + 1e-12)

    @pytest.mark.parametrize("moment", [0.9, 2.1, 6.0])
    def test_replace_one_is_not_exceeded_and_nearly_attained_without_the_eigenvalue(self, moment):
        scales = AdasspScales(eigenvalue=1e9, gram=1.3, moment=moment, shift=1.0, outcome_bound=1.5)
        bound, rng, best = float(adassp_mu(scales, adjacency="replace-one")), np.random.default_rng(3), 0.0

        def loss(v):
            pair = self.admissible(v[:3], 1.5), self.admissible(v[3:], 1.5)
            return -self.moved(*pair, scales, np.zeros((2, 2)))

        for _ in range(12):
            best = max(best, -float(minimize(loss, 2 * rng.standard_normal(6), method="Nelder-Mead").fun))
        assert best <= bound * (1 + 1e-9) and best >= 0.995 * bound


class TestJointProfile:
    def test_monte_carlo_of_all_releases_of_a_worst_pair(self):
        """Test, sketches and gradients at leverage 1/gamma, T adaptive parts drawn one by one; 6 standard errors."""
        scales = HessianMixingScales(k=4, steps=3, gamma=8.0, sigma=3.0, tau=4.0, clip=1.5)
        rng, trials, epsilon, r = np.random.default_rng(5), 200_000, 1.0, 1 / 8.0
        loss = np.zeros(trials)
        for mean, noise in [(1.0, scales.test_noise)] + 3 * [(1.5, 3.0)]:
            mu = mean / noise
            loss += mu * (rng.standard_normal(trials) + mu / 2)
        for _ in range(3):
            q = (rng.standard_normal((trials, 4)) ** 2).sum(axis=1)
            loss += 2 * math.log(1 - r) + q / 2 * (1 / (1 - r) - 1)
        gain = np.maximum(-np.expm1(epsilon - loss), 0)
        joint = float(mixing_delta(epsilon, scales)) - float(failure_probability(4.0))
        assert abs(gain.mean() - joint) < 6 * gain.std() / math.sqrt(trials)
        assert gain.std() / math.sqrt(trials) < 0.01 * joint

    @pytest.mark.parametrize("eigenvalue", [0.0, 1.0, 3.0, 20.0, 60.0])
    @pytest.mark.parametrize("removed", [True, False])
    def test_no_data_set_costs_more(self, eigenvalue, removed):
        """Exact cost of all releases on A = eigenvalue * I with or without a record along an axis: eta from the
        released eigenvalue by quadrature over z, the rows at their actual leverage, gradients C apart.
        """
        scales = hessian_mixing_scales(1.0, 1e-4, k=6, steps=2, failure=1e-5)
        exact = _actual_log_delta(1.0, scales, eigenvalue, removed)
        assert exact <= mixing_log_delta(1.0, scales) + 1e-9

    def test_against_dp_accounting_where_the_rows_do_not_count(self):
        scales = HessianMixingScales(k=1, steps=5, gamma=1e7, sigma=8.0, tau=9.0)
        event = pld.from_gaussian_mechanism(8.0, value_discretization_interval=1e-4).self_compose(5)
        theirs = event.get_delta_for_epsilon(0.7)
        assert float(mixing_delta(0.7, scales)) == pytest.approx(theirs, rel=1e-3)

    def test_add_remove_costs_what_zero_out_does(self):
        scales = hessian_mixing_scales(1.0, 1e-4, k=6, steps=2, failure=1e-5)
        assert mixing_delta(1.0, scales, adjacency="add-remove") == mixing_delta(1.0, scales)

    def test_replace_one_by_monte_carlo(self):
        """Two directions of the covariance, variances 1 - 1/gamma and 1 + 1/gamma; 6 standard errors."""
        scales = HessianMixingScales(k=10, steps=3, gamma=25.0, sigma=4.0, tau=9.0, clip=0.8)
        rng, trials, rows, r, epsilon = np.random.default_rng(8), 400_000, 30, 1 / 25.0, 1.2
        mu = math.sqrt(10 / 625 + 3 * (1.6 / 4) ** 2)
        loss = mu * (rng.standard_normal(trials) + mu / 2)
        for variance in (1 - r, 1 + r):
            loss += rows / 2 * math.log(variance) + rng.chisquare(rows, trials) / 2 * (1 / variance - 1)
        gain = np.maximum(-np.expm1(epsilon - loss), 0)
        found = float(mixing_delta(epsilon, scales, adjacency="replace-one"))
        assert abs(gain.mean() - found) < 6 * gain.std() / math.sqrt(trials)
        assert gain.std() / math.sqrt(trials) < 0.01 * found

    def test_replace_one_dominates_explicit_replacements(self):
        """Eigenvalues of one covariance in the other's units stay within 1 -+ 1/gamma, for any two records."""
        rng = np.random.default_rng(9)
        for _ in range(200):
            root = rng.standard_normal((3, 3))
            own, other = (v / np.linalg.norm(v) for v in rng.standard_normal((2, 3)))
            first, second = (root @ root.T + np.outer(v, v) for v in (own, other))
            gamma = np.linalg.eigvalsh(first)[0] + rng.exponential()
            level = (gamma - np.linalg.eigvalsh(first)[0]) * np.eye(3)
            values = np.linalg.eigvals(np.linalg.solve(first + level, second + level)).real
            assert 1 - 1 / gamma <= values.min() + 1e-12 and values.max() <= 1 + 1 / gamma + 1e-12

    def test_replace_one_calibrations_spend_the_budget(self):
        hessian = hessian_mixing_scales(1.0, 1e-6, k=30, steps=2, failure=1e-7, adjacency="replace-one")
        linear = linear_mixing_scales(1.0, 1e-6, k=30, failure=1e-7, adjacency="replace-one")
        for scales in (hessian, linear):
            assert float(mixing_delta(1.0, scales, adjacency="replace-one")) == pytest.approx(1e-6, rel=1e-6)
        zero_out = hessian_mixing_scales(1.0, 1e-6, k=30, steps=2, failure=1e-7)
        assert 1.5 < hessian.sigma / zero_out.sigma < 2

    def test_a_test_that_fails_too_often_is_refused(self):
        with pytest.raises(DomainError, match="larger tau"):
            mixing_epsilon(1e-6, LinearMixingScales(k=5, gamma=40.0, tau=4.0))

    def test_epsilon_inverts(self):
        scales = HessianMixingScales(k=30, steps=2, gamma=60.0, sigma=6.0, tau=6.0)
        epsilon = float(mixing_epsilon(1e-5, scales))
        assert float(mixing_delta(epsilon, scales)) == pytest.approx(1e-5, rel=1e-10)
        assert mixing_epsilon(0.9, scales) == 0.0


def _actual_log_delta(epsilon, scales, eigenvalue, removed):
    """log of E over the released eigenvalue of the hockey stick of (test, rows, gradients), d = 2, by brute force.

    With the record A + e_1 e_1', so that lambda_min is `eigenvalue` on both sides unless the other axis is far above:
    A = eigenvalue e_1 e_1' + (eigenvalue + 5) e_2 e_2' makes the record move it by 1.
    """
    rng, trials = np.random.default_rng(11), 400_000
    with_record, without = eigenvalue + 1.0, eigenvalue
    first, second = (with_record, without) if removed else (without, with_record)
    z = rng.standard_normal(trials)
    released = np.maximum(first - scales.test_noise * (scales.tau - z), 0.0)
    shift = first - second
    # Law of the released eigenvalue under the other input, as a density ratio; both have an atom at 0.
    z_other = z + shift / scales.test_noise
    density = 0.5 * (z_other**2 - z**2)
    atom = log_ndtr(scales.tau - first / scales.test_noise) - log_ndtr(scales.tau - second / scales.test_noise)
    loss = np.where(released > 0, density, atom)
    eta_squared = np.maximum(scales.gamma - released, 0.0)
    own, other = first + eta_squared, second + eta_squared
    q = rng.chisquare(scales.k * scales.steps, trials)
    loss += scales.k * scales.steps / 2 * np.log(other / own) + q / 2 * (own / other - 1)
    mu = math.sqrt(scales.steps) * scales.clip / scales.sigma
    loss += mu * (rng.standard_normal(trials) + mu / 2)
    gain = np.maximum(-np.expm1(epsilon - loss), 0)
    return math.log(max(gain.mean() - 6 * gain.std() / math.sqrt(trials), 1e-300))


@pytest.mark.parametrize(
    "bad",
    [
        lambda: HessianMixingScales(k=0, steps=1, gamma=3.0, sigma=1.0, tau=1.0),
        lambda: HessianMixingScales(k=1, steps=1, gamma=1.0, sigma=1.0, tau=1.0),
        lambda: HessianMixingScales(k=1, steps=1, gamma=2.0, sigma=0.0, tau=1.0),
        lambda: GradientDescentScales(n=5, steps=0, sigma=1.0),
        lambda: AdasspScales(eigenvalue=1.0, gram=-1.0, moment=1.0, shift=0.0),
        lambda: hessian_mixing_scales(1, 1.0, k=5, steps=1, failure=0.1),
        lambda: hessian_mixing_scales(0, 0.1, k=5, steps=1, failure=0.1),
        lambda: hessian_mixing_scales(1, 0.1, k=5, steps=1, failure=0.0),
        lambda: hessian_mixing_scales(1, 0.1, k=5, steps=1, failure=0.1, accounting="loose"),  # pyright: ignore[reportArgumentType]
        lambda: hessian_mixing_scales(1, 0.1, k=5, steps=1, failure=0.1, gradient_share=1.0),
        lambda: adassp_scales(1, 0.1, accounting="theorem", adjacency="replace-one"),
    ],
)
def test_bad_input(bad):
    with pytest.raises(DomainError):
        bad()
