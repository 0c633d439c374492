"""What ball arithmetic proves about multipliers: enclosures, refusals, stored bounds."""

import json

import mpmath
import numpy as np
import pytest

from dpbounds import AccuracyError, DomainError, Value
from dpbounds.arithmetic import balls
from dpbounds.circle.balls import allowance, integrate
from dpbounds.ftrl import correlations as c
from dpbounds.ftrl import linear_regression as lr
from dpbounds.ftrl import mean_estimation as me
from dpbounds.ftrl import strongly_convex as sc
from dpbounds.ftrl.strongly_convex.certificate import program_fraction
from dpbounds.ftrl.strongly_convex.programs import Program, Quadratics

MECHANISMS = [
    c.independent(),
    c.nu(0.01),
    c.damped_anti_pgd(1e-3),
    c.from_coefficients([1.0, -0.8, 0.15]),
    c.HalfPowers((0.9, 0.2 + 0.6j), (0.5,)),
]


def error_of_the_class(bound: sc.ConvexBound, correlation: c.ToeplitzCorrelation, rho: float):
    """(1 / 2 pi) int S psi at 30 digits, psi as a Schur complement of the constraint's matrix at every frequency."""
    p, gap = bound.program, bound.program.L - bound.program.mu
    lags = (len(bound.multipliers) - 1) // 2
    forward, backward = bound.multipliers[1 : lags + 1], bound.multipliers[lags + 1 :]

    def squared_gain(omega):
        w = mpmath.expj(omega)
        if isinstance(correlation, c.NuCorrelation):
            return abs(1 - (1 - mpmath.mpf(correlation.nu)) * w)
        if isinstance(correlation, c.HalfPowers):
            top = mpmath.fprod(
                abs(1 - q * w) * (abs(1 - mpmath.conj(q) * w) if q.imag else 1) for q in correlation.zeros
            )
            return top / mpmath.fprod(abs(1 - q * w) for q in correlation.poles)
        return abs(mpmath.polyval(list(correlation.coefficients(8))[::-1], w)) ** 2

    def psi(omega):
        w = mpmath.expj(omega)
        lam = mpmath.fsum(bound.multipliers) - mpmath.fsum(f * w ** (k + 1) for k, f in enumerate(forward))
        lam -= mpmath.fsum(f * w ** -(k + 1) for k, f in enumerate(backward))
        a, b, off = mpmath.mpf(p.L) / 2, mpmath.mpf(p.mu if p.name == "f" else p.L) / 2, lam + mpmath.mpf(p.L) / 2
        u, v = (1 - w - p.eta * mpmath.mpf(x) for x in (p.mu, p.L))
        to_pq = mpmath.matrix([[u / p.eta, -1], [-v / p.eta, 1]])
        form = to_pq.H * mpmath.matrix([[a, off], [mpmath.conj(off), b]]) * to_pq / mpmath.mpf(gap) ** 2
        return mpmath.re(form[1, 1]) - abs(form[0, 1]) ** 2 / mpmath.re(form[0, 0])

    with mpmath.workdps(30):
        scale = p.eta * p.mu
        points = sorted({0, scale / 10, scale, 10 * scale, 1e-3, 0.1, 1, 2, mpmath.pi})
        gamma_squared = mpmath.quad(lambda x: 1 / squared_gain(x), points) / mpmath.pi
        return gamma_squared / (2 * rho) * mpmath.quad(lambda x: squared_gain(x) * psi(x), points) / mpmath.pi


@pytest.mark.parametrize(
    ("correlation", "program"),
    [*((correlation, "f") for correlation in MECHANISMS), *((MECHANISMS[k], "theta") for k in (0, 4))],
    ids=lambda value: getattr(value, "name", value),
)
def test_the_enclosure_holds_the_integral(correlation, program):
    bound = sc.bound(correlation, sc.StronglyConvex(mu=0.05, L=1.0, eta=0.4, rho=0.5), program=program, max_lag=3)
    assert bound.value.enclosure
    low, high = bound.value.enclosure
    exact = error_of_the_class(bound, correlation, 0.5)
    assert low <= exact * (1 + 1e-14) and exact * (1 - 1e-14) <= high
    assert high / low - 1 < 1e-8 and float(bound.value) == high and bound.value.kind == "upper"


@pytest.mark.usefixtures("signatures_unchecked")
@pytest.mark.parametrize("correlation", MECHANISMS, ids=lambda correlation: correlation.name)
@pytest.mark.parametrize(("mu", "eta"), [(1.0, 1e-8), (1e-6, 1e-2), (1e-6, 1.9), (1.0, 1.0)])
def test_the_whole_range_is_certified(correlation, mu, eta):
    """eta mu from 1e-8 to 1, kappa from 1 to 1e6: narrow enclosures in the right order."""
    bound = sc.bound(correlation, sc.StronglyConvex(mu=mu, L=1.0, eta=eta, rho=0.5), program="f")
    ends = [value.enclosure for value in (bound.value, bound.lower, *bound.simple)]
    assert all(end and end[1] / end[0] - 1 < 1e-8 for end in ends)
    assert 1 <= bound.ratio <= float(bound.value) / float(bound.lower)
    assert bound.grid_value == pytest.approx(float(bound.value), rel=1e-5)
    if mu == 1.0:
        assert bound.ratio < 1 + 1e-7


@pytest.mark.usefixtures("signatures_unchecked")
@pytest.mark.parametrize("program", ["f", "theta"])
@pytest.mark.parametrize("mu", [1.0, 0.1, 1e-6])
def test_steps_next_to_the_stability_limit(mu, program):
    """All changes at frequency pi, over 2 - eta L; independent noise then has a closed form."""
    found = sc.bound(c.nu(1.0), sc.StronglyConvex(mu=mu, L=1.0, eta=2 - 1e-5, rho=0.5), program=program)
    assert float(found.lower) == pytest.approx((2 - 1e-5) / 2 / 1e-5, rel=1e-6) and found.curvature == 1.0
    assert found.value.enclosure and found.value.enclosure[1] / found.value.enclosure[0] - 1 < 1e-5
    assert found.grid_value == pytest.approx(float(found.value), rel=1e-5) and found.lower <= found.value
    if mu == 1.0:
        assert float(found.value) == pytest.approx(float(found.lower), rel=1e-5)


@pytest.mark.usefixtures("signatures_unchecked")
def test_the_range_of_sandwiches_for_anticorrelated_noise():
    """At kappa = 100 and eta <= 0.1 / L the program leaves at most 10 % open."""
    for eta in (0.1, 0.05, 0.01, 1e-3):
        assert (
            sc.bound(
                c.damped_anti_pgd(eta / 100), sc.StronglyConvex(mu=0.01, L=1.0, eta=eta, rho=0.5), program="f"
            ).ratio
            < 1.05
        )


def test_multipliers_that_fail_between_nodes_are_refused():
    """A denominator that is negative on an interval too short for any grid, and one that just is not."""
    program = Program(name="f", mu=0.1, L=1.0, eta=0.5)
    omega = np.linspace(0.0, np.pi, 40_001)
    quadratics = Quadratics.on(program, omega, 10)

    def least(margin):
        shape = np.array([margin, *np.linspace(2.0, 1.0, 10), *np.zeros(10)])
        return quadratics.parts(shape)[3].min(), shape

    low, high = 0.0, 1e3
    for _ in range(80):
        low, high = (low, (low + high) / 2) if least((low + high) / 2)[0] > 0 else ((low + high) / 2, high)
    assert 0.1 < low < 100

    def certified(margin):
        fraction = program_fraction(program, least(margin)[1].tolist())
        return integrate(lambda m, s: [fraction.at(s)], fraction.degree)

    assert certified(high * (1 + 1e-3))[0].is_finite()
    with pytest.raises(AccuracyError, match=r"a denominator is not positive.*near frequency [0-9.]+"):
        certified(low * (1 - 1e-9))
    assert (Quadratics.on(program, omega[::500], 10).parts(least(low * (1 - 1e-9))[1])[3] > 0).all()


def test_integrals_against_closed_forms():
    """Poisson kernel, an end where the integrand is infinite, and a kink at 0."""
    with balls(128) as m:
        poisson, kink = integrate(lambda m, s: [1 / (m.number("1/4") + 2 * s), m.sqrt(s)])
        assert poisson.contains(1 / (m.number("1/4") * m.number("9/4")).sqrt())
        assert kink.contains(2 / m.pi) and kink.rad() < 1e-8
    with pytest.raises(AccuracyError, match=r"next to frequency 0"):
        integrate(lambda m, s: [1 / s])


def test_a_given_density_is_the_correlation_that_has_it():
    bound = sc.bound(c.damped_anti_pgd(0.2), sc.StronglyConvex(mu=0.05, L=1.0, eta=0.3, rho=0.5), program="f")
    gamma_squared = float(c.damped_anti_pgd(0.2).limiting_sensitivity()) ** 2
    given = sc.bound_density(
        lambda m, s: m.number(gamma_squared) * (m.number(0.2) ** 2 + 4 * m.number(0.8) * s), 0.05, 1.0, 0.3
    )
    assert given.value.certified and float(given.value) == pytest.approx(float(bound.value), rel=1e-8)
    assert float(given.lower) == pytest.approx(float(bound.lower), rel=1e-8)
    with pytest.raises(DomainError, match=r"noise = a function .*cannot be stored"):
        given.data()


def test_a_density_that_is_not_analytic_is_not_certified():
    with pytest.raises(AccuracyError, match="certificate"):
        sc.bound_density(
            lambda m, s: m.sqrt((s - 0.5) ** 2 if m.name == "floats" else s - m.number(0.5)), 0.1, 1.0, 0.5
        )


def test_simple_bounds():
    """Co-coercivity is attained by the quadratic of curvature L beyond eta L = 1; contraction by none, but holds."""
    white = sc.bound(c.independent(), sc.StronglyConvex(mu=0.2, L=1.0, eta=1.6, rho=0.5), program="f")
    contraction, coercivity = white.simple
    assert float(coercivity) == pytest.approx(1.6 / 2 / (2 - 1.6), rel=1e-8)
    assert float(white.lower) == pytest.approx(float(coercivity), rel=1e-8) and white.curvature == 1.0
    assert float(contraction) == pytest.approx(1.6**2 / 2 / 0.32**2, rel=1e-8)
    assert white.best == coercivity and white.ratio < 1 + 1e-7


def test_nu_1_is_independent_noise():
    """Co-coercivity holds for it, and for no other correlation."""
    independent = sc.bound(c.independent(), sc.StronglyConvex(mu=0.2, L=1.0, eta=1.6, rho=0.5), max_lag=2, program="f")
    for correlation in (c.nu(1.0), c.damped_anti_pgd(1.0), c.from_coefficients([1.0, 0.0])):
        found = sc.bound(correlation, sc.StronglyConvex(mu=0.2, L=1.0, eta=1.6, rho=0.5), max_lag=2, program="f")
        assert float(found.best) == pytest.approx(float(independent.best), rel=1e-9) and len(found.simple) == 2
    assert (
        len(sc.bound(c.nu(0.999), sc.StronglyConvex(mu=0.2, L=1.0, eta=1.6, rho=0.5), max_lag=2, program="f").simple)
        == 1
    )


def test_the_best_bound_is_never_the_printed_program():
    printed, f = (
        sc.bound(c.nu(0.1), sc.StronglyConvex(mu=0.1, L=1.0, eta=0.1, rho=0.5), program=name, max_lag=1, certify=False)
        for name in ("paper", "f")
    )
    assert printed.value < printed.best == printed.simple[0] and f.best == f.value


def test_a_spectrum_given_as_a_function_has_an_estimate_and_no_certificate():
    spectrum = c.from_power_spectrum(lambda omega: 1.25 - np.cos(omega))
    with pytest.raises(DomainError, match=r"certify = True .*False for a spectrum given .*bound_density"):
        sc.bound(spectrum, sc.StronglyConvex(mu=0.05, L=1.0, eta=0.4, rho=0.5), program="f")
    found = sc.bound(
        spectrum, sc.StronglyConvex(mu=0.05, L=1.0, eta=0.4, rho=0.5), certify=False, max_lag=3, program="f"
    )
    same = sc.bound(
        c.damped_anti_pgd(0.5),
        sc.StronglyConvex(mu=0.05, L=1.0, eta=0.4, rho=0.5),
        certify=False,
        max_lag=3,
        program="f",
    )
    assert found.grid_value == pytest.approx(same.grid_value, rel=1e-9)


# --- stored bounds ---


@pytest.mark.usefixtures("signatures_unchecked")
@pytest.mark.parametrize("correlation", MECHANISMS, ids=lambda correlation: correlation.name)
def test_stored_bounds_are_proved_again(correlation):
    bound = sc.bound(
        correlation, sc.StronglyConvex(mu=0.02, L=1.0, eta=0.3, rho=0.5, d=3, clip_norm=2.0, sigma_sgd=0.5), program="f"
    )
    text = json.dumps(bound.data())
    again = sc.recertify(json.loads(text))
    assert again.value == bound.value and again.lower == bound.lower and len(text) < 4000
    assert again.program == bound.program and again.noise == bound.noise


def tampered(**changes):
    data = sc.bound(c.nu(0.1), sc.StronglyConvex(mu=0.1, L=1.0, eta=0.5, rho=0.5), max_lag=2, program="f").data()
    for place, change in changes.items():
        *path, last = place.split("__")
        target = data
        for name in path:
            target = target[name]
        target[last] = change(target.get(last))
    return data


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"value": lambda x: x * (1 - 1e-6)}, r"value = .*which its multipliers prove; the file was changed"),
        ({"lower": lambda x: x * (1 + 1e-6)}, r"lower = .*which its multipliers prove; the file was changed"),
        ({"curvature": lambda x: 2.0}, "curvature = 2.0 .*between mu = 0.1 and L = 1"),
        ({"multipliers": lambda x: [*x[:-1], x[-1] + 0.1]}, "value = "),
        ({"multipliers": lambda x: [-1.0, *x[1:]]}, "multipliers = .*odd number of nonnegative"),
        ({"multipliers": lambda x: [*x[:-1], float("inf")]}, r"multipliers\[4\] = inf .*finite"),
        ({"multipliers": lambda x: [*x[:-1], "0.1"]}, r"multipliers\[4\] = 0.1 .*real number"),
        ({"multipliers": lambda x: [True, *x[1:]]}, r"multipliers\[0\] = True .*real number"),
        ({"multipliers": lambda x: [10**400, *x[1:]]}, r"multipliers\[0\] = 1000.*real number"),
        ({"multipliers": lambda x: x * 41}, "multipliers = 205 numbers .*at most 201"),
        ({"value": str}, "value = .*real number"),
        ({"value": lambda x: 10**400}, "value = .*real number"),
        ({"noise__d": lambda x: True}, "d = True"),
        ({"noise__comment": lambda x: "x"}, "noise = .*that dpbounds stored"),
        ({"comment": lambda x: "x"}, "bound = .*that dpbounds stored"),
        ({"noise__correlation": lambda x: {"kind": "coefficients", "beta": [1.0] + [0.0] * 300}}, "beta = 301 numbers"),
        (
            {"noise__correlation": lambda x: {"kind": "half_powers", "label": "", "zeros": [[0.5]], "poles": []}},
            "pairs",
        ),
        ({"multipliers": lambda x: x[1:]}, "multipliers = .*odd number"),
        ({"program__eta": lambda x: 3.0}, "eta = 3.0"),
        ({"noise__rho": lambda x: 5.0}, "value = "),
        ({"noise__correlation": lambda x: {"kind": "tree"}}, "correlation = tree"),
        ({"format": lambda x: "other/1"}, "format = other/1"),
        ({"program": lambda x: None}, "program = None .*that dpbounds stored"),
        ({"value": lambda x: float("nan")}, "value = nan"),
    ],
)
@pytest.mark.usefixtures("signatures_unchecked")
def test_changed_files_are_refused(changes, message):
    with pytest.raises(DomainError, match=message):
        sc.recertify(tampered(**changes))


def test_infeasible_stored_multipliers_prove_nothing():
    with pytest.raises(AccuracyError, match="denominator"):
        sc.recertify(tampered(program__name=lambda _: "theta", multipliers=lambda x: [1e-3 * value for value in x]))


def test_a_proof_ends_when_its_allowance_is_spent():
    data = tampered()
    with allowance(10_000), pytest.raises(AccuracyError, match=r"more than 10000 units of work"):
        sc.recertify(data)
    with allowance(1_000_000):
        assert sc.recertify(data).value.certified and sc.recertify(data).lower.certified


# --- correlations and densities that say what is not so ---


class OneZeroInside(c.DampedAntiPGD):
    """B(z) = 1 - 2 z: its spectrum is 4 times that of 1 - z / 2, whose sensitivity it states or not."""

    stated = 3.0

    def spectral_density(self, m, s):
        return 1 + 8 * s

    def limiting_sensitivity(self):
        return Value(self.stated, kind="exact", source="a test")


def test_a_correlation_that_states_another_sensitivity_than_its_spectrum_has_is_not_certified():
    with pytest.raises(AccuracyError, match=r"0\.333333333, .*states 9: .*zero inside the unit disc"):
        sc.bound(OneZeroInside(0.5), sc.StronglyConvex(mu=0.1, L=1.0, eta=0.5, rho=0.5), max_lag=1, program="f")


def test_a_density_that_turns_balls_into_floats_is_not_certified():
    """Whatever it is made of: a spectrum given as a function cannot be smuggled into a certificate."""
    spectrum = c.from_power_spectrum(lambda omega: 1.25 - np.cos(omega))

    def smuggled(m, s):
        middle = s if m.name == "floats" else float(s.real if hasattr(s, "real") else s)
        value = spectrum.power_spectrum(2.0 * np.arcsin(np.sqrt(middle)))
        return value if m.name == "floats" else m.number(float(value))

    assert sc.bound_density(smuggled, 0.1, 1.0, 0.5, certify=False, max_lag=1).value.kind == "estimate"
    with pytest.raises(AccuracyError, match=r"density: on the ball .*not what it is at its points"):
        sc.bound_density(smuggled, 0.1, 1.0, 0.5, max_lag=1)
    with pytest.raises(DomainError, match=r"spectrum given as a function has no enclosure"):
        sc.bound_density(lambda m, s: spectrum.spectral_density(m, s), 0.1, 1.0, 0.5, max_lag=1)


def test_nothing_made_of_a_spectrum_given_as_a_function_is_called_exact_or_certified():
    spectrum = c.from_power_spectrum(lambda omega: 1.25 - np.cos(omega))
    eigenvalues = np.array([1.0, 0.5])
    found = sc.bound(
        spectrum, sc.StronglyConvex(mu=0.05, L=1.0, eta=0.4, rho=0.5), certify=False, max_lag=1, program="f"
    )
    values = [spectrum.limiting_sensitivity(), found.value, found.lower, found.best, *found.simple]
    values += [
        lr.suboptimality(spectrum, lr.Regression(eigenvalues=eigenvalues, eta=0.1, rho=0.5)),
        me.stationary_variance(spectrum, 0.1, 0.5),
    ]
    values += [
        *lr.trace_bounds(spectrum, lr.Regression(eigenvalues=eigenvalues, eta=0.1, rho=0.5)),
        lr.paper_lower_bound(spectrum, lr.Regression(eigenvalues=eigenvalues, eta=0.1, rho=0.5)),
    ]
    values += [lr.paper_upper_bound(spectrum, lr.Regression(eigenvalues=eigenvalues, eta=0.05, rho=0.5))]
    assert {value.kind for value in values} == {"estimate"} and not any(value.certified for value in values)
    with pytest.raises(DomainError, match="closed form"):
        found.data()
