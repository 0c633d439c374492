"""The programs for strongly convex losses: closed forms, two solvers, what theory says of every case."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from dpbounds import AccuracyError
from dpbounds.ftrl import correlations as c
from dpbounds.ftrl import strongly_convex as sc
from dpbounds.ftrl.strongly_convex import cone, newton
from dpbounds.ftrl.strongly_convex.programs import Grid, Program, Quadratics

WHITE, SHARP = c.independent(), c.from_coefficients([1, -0.9])


def value(correlation, mu, eta, *, L=1.0, rho=0.5, program: sc.ProgramName = "f", max_lag=5, **options):
    problem = sc.StronglyConvex(mu=mu, L=L, eta=eta, rho=rho)
    return float(sc.bound(correlation, problem, program=program, max_lag=max_lag, certify=False, **options).value)


def scalar_theta(mu, L, eta, multiplier, nu):
    """(L / 2) (1 / 2 pi eta^2) int S psi at one multiplier, S = |1 - (1 - nu) e^{i omega}|: quadrature at 30 digits."""
    with mpmath.workdps(30):

        def integrand(omega):
            z = 1 - mpmath.expjpi(omega / mpmath.pi)
            u, v = z - eta * mu, z - eta * L
            top = (L - mu) ** 2 * multiplier**2 + 2 * multiplier
            psi = eta**4 * top / (2 * multiplier * mpmath.re(mpmath.conj(u) * v) - eta**2)
            return abs(1 - (1 - nu) * (1 - z)) * psi

        points = [0, eta * mu / 10, eta * mu, 10 * eta * mu, 1, mpmath.pi]
        return float(L / 2 * mpmath.quad(integrand, points) / mpmath.pi / eta**2)


# --- closed forms and reference values ---


@pytest.mark.parametrize("nu", [0.01, 0.5])
def test_one_multiplier_is_a_search_in_one_variable(nu):
    mu, eta = 0.1, 0.3
    gamma_squared = float(2 / mpmath.pi * mpmath.ellipk((1 - nu) ** 2))
    best = minimize_scalar(
        lambda log_m: scalar_theta(mu, 1.0, eta, np.exp(log_m), nu),
        bounds=np.log([5.2, 500.0]),
        method="bounded",
        options={"xatol": 1e-4},
    )
    program = value(c.nu(nu), mu, eta, program="theta", max_lag=0) / gamma_squared
    assert program == pytest.approx(best.fun, rel=1e-7)


@pytest.mark.parametrize(
    ("correlation", "mu", "eta", "program", "values"),
    [
        (WHITE, 1 / 64, 0.1, "theta", {0: 8.622, 5: 6.996, 20: 6.366}),
        (WHITE, 1 / 64, 0.1, "f", {0: 0.2107, 5: 0.1419, 20: 0.1295}),
        (SHARP, 0.1, 0.5, "theta", {0: 0.5362, 5: 0.5362}),
        (SHARP, 0.1, 0.5, "f", {0: 0.1868, 5: 0.1705}),
        (c.from_coefficients([1, -0.999]), 0.01, 0.1, "theta", {0: 0.13447, 5: 0.13447}),
        (c.from_coefficients([1, -0.999]), 0.01, 0.1, "f", {0: 0.005506, 5: 0.005474}),
    ],
)
def test_values_found_by_another_solver(correlation, mu, eta, program, values):
    scale = float(correlation.limiting_sensitivity()) ** 2
    for lags, expected in values.items():
        assert value(correlation, mu, eta, program=program, max_lag=lags) / scale == pytest.approx(expected, rel=6e-4)


def test_a_quadratic_is_exact():
    """mu = L leaves one loss: bound, worst quadratic and Parseval's sum over the impulse response agree."""
    mu, eta, T = 0.8, 0.5, 400
    bound = sc.bound(SHARP, sc.StronglyConvex(mu=mu, L=mu, eta=eta, rho=0.5), program="f")
    impulse = np.convolve(SHARP.coefficients(T), (1 - eta * mu) ** np.arange(T))[:T] * eta
    exact = mu / 2 * float(SHARP.limiting_sensitivity()) ** 2 * float(impulse @ impulse)
    assert float(bound.lower) == pytest.approx(exact, rel=1e-8)
    assert exact * (1 - 1e-8) <= float(bound.value) <= exact * (1 + 2e-6)


def test_psi_is_the_least_for_its_multipliers():
    """Schur complement by brute force: the quadratic form is negative for a smaller psi, not for psi itself."""
    program = Program(name="f", mu=0.2, L=1.0, eta=0.7)
    omega, multipliers = np.array([0.01, 0.4, 1.3, 3.0]), np.array([2.0, 0.3, 0.1, 0.4, 0.0])
    psi = Quadratics.on(program, omega, 2).psi(multipliers)
    for w, least in zip(np.exp(1j * omega), psi, strict=True):
        a, b, gap = program.a, program.b, program.L - program.mu
        forward, backward = multipliers[1:3], multipliers[3:]
        lam = multipliers.sum() - sum(f * w ** (k + 1) for k, f in enumerate(forward))
        lam -= sum(f * w ** -(k + 1) for k, f in enumerate(backward))
        form = np.array([[a, lam + a], [np.conj(lam + a), b]])  # (p, q) of F and multipliers, times (L - mu)^2
        u, v = 1 - w - program.eta * program.mu, 1 - w - program.eta * program.L
        to_pq = np.array([[u / program.eta, -1.0], [-v / program.eta, 1.0]])  # from (theta, noise)
        matrix = to_pq.conj().T @ form @ to_pq / gap**2
        for factor, sign in ((1.0, 1), (0.999, -1)):
            lowest = np.linalg.eigvalsh(np.diag([0.0, factor * least]) - (matrix + matrix.conj().T) / 2)[0]
            assert sign * lowest > -1e-9 * abs(matrix).max()


# --- two solvers ---


@pytest.mark.parametrize("program", ["theta", "f", "paper"])
@pytest.mark.parametrize(
    ("correlation", "mu", "eta"),
    [(WHITE, 1 / 64, 0.1), (SHARP, 0.1, 0.5), (c.nu(0.01), 0.01, 1.9), (c.damped_anti_pgd(0.2), 0.05, 0.3)],
)
def test_newton_agrees_with_the_cone_program(correlation, mu, eta, program):
    options = {"program": program, "max_lag": 6, "nodes": 128}
    assert value(correlation, mu, eta, **options) == pytest.approx(
        value(correlation, mu, eta, method="cone", **options), rel=1e-6
    )


def test_a_solver_that_reports_success_with_a_wrong_value_is_caught(monkeypatch):
    import cvxpy as cp

    solve = cp.Problem.solve

    def wrong(problem, **options):
        found = solve(problem, **options)
        problem._value = problem._value * 1.001
        return found

    monkeypatch.setattr(cp.Problem, "solve", wrong)
    with pytest.raises(AccuracyError, match=r"the solver reports .*its multipliers give"):
        value(WHITE, 0.1, 0.5, method="cone", max_lag=3, nodes=64)


def test_a_solver_that_fails_is_named(monkeypatch):
    import cvxpy as cp

    monkeypatch.setattr(cp.Problem, "solve", lambda problem, **_: None)
    with pytest.raises(AccuracyError, match="ended with status None"):
        value(WHITE, 0.1, 0.5, method="cone", max_lag=3, nodes=64)


@pytest.mark.parametrize("program", ["f", "theta", "paper"])
def test_newton_derivatives(program):
    constants = Program(name=program, mu=0.05, L=1.0, eta=0.4)
    grid = Grid.graded(constants, 3)
    objective = newton.Objective(Quadratics.on(constants, grid.omega, 3), grid.weights * 1.0)
    point = np.array([8.0, 0.5, 0.2, 0.1, 0.3, 0.05, 0.2])
    total, gradient, hessian = objective.derivatives(point)
    assert total == pytest.approx(objective.value(point))
    for i, step in enumerate(1e-5 * np.eye(7)):
        assert gradient[i] == pytest.approx(
            (objective.value(point + step) - objective.value(point - step)) / 2e-5, 1e-6
        )
        ahead, behind = (objective.derivatives(point + sign * step)[1] for sign in (1, -1))
        assert hessian[i] == pytest.approx((ahead - behind) / 2e-5, rel=1e-5, abs=1e-7 * np.abs(hessian).max())
    assert np.linalg.eigvalsh(hessian).min() > 0


@pytest.mark.parametrize("program", ["f", "theta", "paper"])
@pytest.mark.parametrize("lags", [2, 20])
@pytest.mark.parametrize("zeros", [slice(0, 1), slice(10, 14)], ids=["anti-PGD", "notch"])
def test_nodes_without_noise_constrain_all_the_same(zeros, lags, program):
    """psi is free where S = 0, but D must not be negative: the cone program says so, and so does the limit of little
    noise there.
    """
    constants, grid = Program(name=program, mu=0.1, L=1.0, eta=0.5), Grid.uniform(256)
    spectrum = 4 * np.sin(grid.omega / 2) ** 2 if zeros.start == 0 else np.ones_like(grid.omega)
    spectrum[zeros] = 0.0
    found = newton.solve(constants, grid, spectrum, lags)
    assert found.value == pytest.approx(cone.solve(constants, grid, spectrum, lags).value, rel=1e-6)
    limits = []
    for little in (1e-6, 1e-10):
        spectrum[zeros] = little
        limits.append(newton.solve(constants, grid, spectrum, lags).value)
    assert found.value * (1 - 1e-8) <= limits[1] <= limits[0] and limits[1] == pytest.approx(found.value, rel=1e-4)


@pytest.mark.parametrize(("program", "mu"), [("paper", 0.01), ("theta", 0.01), ("paper", 1e-3), ("theta", 1e-3)])
def test_the_edge_of_the_domain_at_frequency_0(program, mu):
    """Anti-PGD: the optimum has D(0) = 0, which the cone program's solver does not reach."""
    constants, grid = Program(name=program, mu=mu, L=1.0, eta=0.1), Grid.uniform(256)
    spectrum = 4 * np.sin(grid.omega / 2) ** 2
    found = newton.solve(constants, grid, spectrum, 8)
    denominator = Quadratics.on(constants, grid.omega, 8).parts(found.multipliers)[3]
    assert 0 < denominator[0] < 1e-6 * denominator[1]
    spectrum[0] = 1e-14
    assert newton.solve(constants, grid, spectrum, 8).value == pytest.approx(found.value, rel=1e-3)


@pytest.mark.parametrize("program", ["theta", "paper"])
def test_rounding_in_the_derivatives_does_not_hide_a_solution(program):
    """eta mu = 1e-8, kappa = 1e6, nu a tenth of eta mu: D is a millionth of its terms at low frequencies."""
    correlation = c.damped_anti_pgd(1e-9)
    alone, many = (value(correlation, 1e-6, 1e-2, program=program, max_lag=lags) for lags in (0, 20))
    assert many <= alone * (1 + 1e-9)
    if program == "theta":
        assert many == pytest.approx(alone, rel=1e-6)  # other lags do not help, as with the plain anti-PGD above


@pytest.mark.parametrize(
    ("kappa", "eta", "pole", "n"),
    [
        (541.0, 1.7, 0.9 * np.exp(2.9j), 6),
        (67.25, 1.777, 0.95 * np.exp(1.21j), 5),
        (5388.5, 1.92, 0.906 * np.exp(3.04j), 6),
        (2.88, 1.325, 0.9911 * np.exp(0.7557j), 6),
        (25.55, 1.711, 0.98654 * np.exp(3.0778j), 4),
        (482.3, 1.3125, 0.98395 * np.exp(3.0838j), 6),
    ],
)
def test_noise_in_a_narrow_band(kappa, eta, pole, n):
    """Elsewhere it is as good as 0: D, which hardly counts there, must be positive between the nodes too; and neither
    the certificate nor the nodes must miss the band.
    """
    noise = c.HalfPowers((), (complex(pole),) * n)
    found = sc.bound(noise, sc.StronglyConvex(mu=1 / kappa, L=1.0, eta=eta, rho=0.5), program="f")
    alone = sc.bound(noise, sc.StronglyConvex(mu=1 / kappa, L=1.0, eta=eta, rho=0.5), max_lag=0, program="f")
    assert found.value.certified and found.lower <= found.value <= alone.value
    omega = np.linspace(0, np.pi, 2**18 + 1)
    mean = np.trapezoid(noise.power_spectrum(omega) * found.psi(omega), omega) / np.pi
    assert mean * float(noise.limiting_sensitivity()) ** 2 == pytest.approx(float(found.value), rel=1e-8)
    estimate = sc.bound(noise, sc.StronglyConvex(mu=1 / kappa, L=1.0, eta=eta, rho=0.5), certify=False, program="f")
    assert estimate.value == pytest.approx(float(found.value), rel=5e-6)


def test_a_spectrum_that_the_nodes_do_not_resolve_is_no_estimate():
    """A line of width 7e-5: the certificate integrates it, an estimate would miss it."""

    def line(m, s):
        return m.number(1) / ((m.number(s) - m.number(0.3)) ** 2 + m.number(1e-9))

    with pytest.raises(AccuracyError, match=r"mean still changes by .*certify"):
        sc.bound_density(line, 0.1, 1.0, 0.5, certify=False, max_lag=2)
    proved = sc.bound_density(line, 0.1, 1.0, 0.5, max_lag=2)
    assert proved.value.certified and proved.lower <= proved.value


def test_the_cone_program_has_the_same_feasible_set():
    """At the oracle's optimum psi eliminated in closed form gives the value that cvxpy reports."""
    constants = Program(name="f", mu=0.1, L=1.0, eta=0.5)
    grid = Grid.graded(constants, 4, 64)
    candidate = cone.solve(constants, grid, np.ones_like(grid.omega), 4)
    assert candidate.gap < 1e-7 and np.all(candidate.multipliers >= 0)


# --- what theory says of every case ---


@st.composite
def cases(draw):
    def log(low, high):
        return float(np.exp(draw(st.floats(np.log(low), np.log(high)))))

    mu, eta = log(1e-6, 1.0), log(1e-3, 1.9)
    kind = draw(st.sampled_from(["white", "nu", "damped", "given"]))
    if kind == "given":
        zeros = draw(st.lists(st.floats(-0.99, 0.99), min_size=1, max_size=4))
        correlation = c.from_coefficients(np.polynomial.polynomial.polyfromroots(zeros)[::-1])  # prod (1 - q z)
    else:
        maker = {"white": lambda _: WHITE, "nu": c.nu, "damped": c.damped_anti_pgd}[kind]
        correlation = maker(log(1e-6, 1.0))
    return correlation, mu, eta


@pytest.mark.usefixtures("signatures_unchecked")
@settings(derandomize=True, deadline=None, max_examples=120)
@given(cases())
def test_order_of_the_bounds(case):
    """lower <= f <= theta, and more lags never worse."""
    correlation, mu, eta = case
    short = sc.bound(
        correlation, sc.StronglyConvex(mu=mu, L=1.0, eta=eta, rho=0.5), max_lag=2, certify=False, program="f"
    )
    long = sc.bound(
        correlation, sc.StronglyConvex(mu=mu, L=1.0, eta=eta, rho=0.5), max_lag=6, certify=False, program="f"
    )
    assert float(long.lower) <= long.grid_value * (1 + 1e-9)
    assert long.grid_value <= short.grid_value * (1 + 3e-9)
    assert short.grid_value <= value(correlation, mu, eta, program="theta", max_lag=2) * (1 + 3e-9)
    assert float(long.lower) <= float(long.best) * (1 + 1e-9)


@pytest.mark.usefixtures("signatures_unchecked")
@settings(derandomize=True, deadline=None, max_examples=100)
@given(cases(), st.floats(0.0, 3.0))
def test_monotone_in_the_noise(case, extra):
    correlation, mu, eta = case
    less, more = (
        sc.bound(
            correlation,
            sc.StronglyConvex(mu=mu, L=1.0, eta=eta, rho=0.5, sigma_sgd=sigma),
            max_lag=3,
            certify=False,
            program="f",
        )
        for sigma in (0.0, extra)
    )
    assert less.grid_value <= more.grid_value * (1 + 3e-9) and float(less.lower) <= float(more.lower) * (1 + 1e-9)


@pytest.mark.usefixtures("signatures_unchecked")
@settings(derandomize=True, deadline=None, max_examples=80)
@given(cases(), st.floats(-5.0, 5.0), st.sampled_from(["f", "theta"]))
def test_units(case, log_unit, program):
    """Curvatures in another unit divide the bound by it, at eta in the inverse unit; clip norms square; rho divides."""
    correlation, mu, eta = case
    unit = float(2.0 ** round(log_unit))  # powers of two: not a bit is lost
    base = sc.bound(
        correlation, sc.StronglyConvex(mu=mu, L=1.0, eta=eta, rho=0.5), program=program, max_lag=3, certify=False
    )
    scaled = sc.bound(
        correlation,
        sc.StronglyConvex(mu=mu * unit, L=unit, eta=eta / unit, rho=0.5),
        program=program,
        max_lag=3,
        certify=False,
    )
    assert scaled.grid_value * unit == pytest.approx(base.grid_value, rel=1e-10)
    assert float(scaled.lower) * unit == pytest.approx(float(base.lower), rel=1e-9)
    louder = sc.bound(
        correlation,
        sc.StronglyConvex(mu=mu, L=1.0, eta=eta, rho=2.0, clip_norm=4.0, d=3),
        program=program,
        max_lag=3,
        certify=False,
    )
    assert louder.grid_value == pytest.approx(12 * base.grid_value, rel=1e-10)
