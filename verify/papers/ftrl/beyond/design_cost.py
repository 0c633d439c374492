"""What a mechanism with few buffers costs: the exact cost in O(T), the slopes that fits follow, and its noise.

G is the Gram matrix of a training run, C = B^{-1}; tr(G B B^T) is the cost at sensitivity 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dpbounds.arithmetic import balls
from dpbounds.ftrl import correlations, design
from dpbounds.ftrl.design.banded_cost import stationary_cost
from dpbounds.ftrl.design.buffered_cost import Decays, Directions, cost
from dpbounds.ftrl.design.gram import Chains
from dpbounds.ftrl.design.mechanisms.spectral import gain_spectrum
from simulators.ftrl import DesignedTraining, designed_noise
from verify.checks import Agreement, Fact, Holds, Times, refused, taken
from verify.papers.ftrl.beyond.exact import OURS
from verify.papers.ftrl.tools.design_problems import impulse_gram, mean_loss
from verify.statements.claims import Claim

BLT = design.Blt((0.97, 0.8, 0.3), (0.05, 0.12, 0.2))


def _chains() -> Iterator[Fact]:
    """G from products of matrices, one pair of steps at a time, over several blocks; G v for one vector and three."""
    own, T = np.random.default_rng(16), 70
    for d, p in ((2, 1), (2, 2), (1, 2)):
        M, b = own.uniform(-0.9, 0.9, (T, d, p, p)), own.uniform(0.3, 1.2, (T, d, p))
        roots = own.uniform(-1.0, 1.0, (T, d, p, p))
        Z = roots @ roots.swapaxes(-1, -2)
        chains, G = Chains(transition=M, drive=b, future=Z, start=np.zeros(d)), np.zeros((T, T))
        for j in range(d):
            for s in range(T):
                pushed = b[s, j]
                for t in range(s, T):
                    pushed = M[t, j] @ pushed if t > s else pushed
                    G[s, t] += pushed @ Z[t, j] @ b[t, j]
        G = np.triu(G) + np.triu(G, 1).T
        label = f"of {d} chains of {p} states"
        yield Fact(f"the Gram matrix {label}", chains.gram(), G)
        for shape in ((T,), (T, 3)):
            v = own.standard_normal(shape)
            yield Fact(f"its product {label}, {len(shape)} axes", chains.apply(v), G @ v)
        yield Fact(f"its diagonal {label}", chains.diagonal(), np.diag(G))


def _by_definition(rng: np.random.Generator) -> Iterator[Fact]:
    """tr(G B B^T) in O(T) against the definition of G, by runs, and B by inversion; T = 7."""
    yield from _chains()
    for growth in (0.3, -3.0):  # and where rows fall so fast that a transform would lose the last ones
        scales, band = np.exp(growth * np.arange(7)), np.diag(np.full(7, 0.5)) + np.diag(np.full(6, 0.1), -1)
        found = design.ScaledToeplitz(design.Bands((0.5, 0.1)), 7, scales).encoder(7)
        band *= scales[:, None]
        yield Fact(f"two bands, rows growing by {growth:g}", found, band / np.linalg.norm(band, axis=0))
    rates, rows = np.array([0.5, 0.4, 0.4, 0.3, 0.3, 0.2, 0.1]), np.exp(0.3 * np.arange(7))
    omega, eigenvalues = np.array([0.0, 0.1, 0, 0, 0.4, 0.2, 1.0]), np.array([1.0, 0.3])
    cases: tuple[tuple[dict[str, Any], int, float], ...] = (
        ({"batch_size": 3}, 3, 0.0),
        ({"noiseless": True}, 0, 0.0),
        ({"noiseless": True, "momentum": 0.6}, 0, 0.6),
    )
    weights = [1.0, *(sum(w * a**k for a, w in zip(BLT.buf_decay, BLT.output_scale, strict=True)) for k in range(2))]
    for steps in (1, 2, 3):
        yield Fact(f"the first {steps} of C", BLT.inverse_coefficients(steps), np.array(weights[:steps]))
    for options, examples, momentum in cases:
        objective = design.Objective(eigenvalues, 7, schedule=rates, weights=omega, **options)
        mechanism = design.ScaledBlt(BLT, 7, rows)
        powers = np.power.outer(np.array(BLT.buf_decay), np.arange(6))
        c = np.concatenate([[1.0], np.array(BLT.output_scale) @ powers])
        C = np.array([[c[i - j] if i >= j else 0.0 for j in range(7)] for i in range(7)]) * rows[:, None]
        C /= np.linalg.norm(C, axis=0)
        gram = impulse_gram(eigenvalues, rates, omega, examples, momentum)
        stated = float(np.trace(gram @ np.linalg.inv(C.T @ C)))
        label = ", ".join(f"{name} {value}" for name, value in options.items())
        yield Fact(f"tr(G B B^T), {label}", objective.noise_power(mechanism), stated, 1e-11)
        yield Fact(f"C, {label}", mechanism.encoder(7).tolist(), C.tolist(), 1e-12)
        yield Fact("sensitivity", mechanism.sensitivity(7), 1.0, 1e-14)


def _search_cost(rng: np.random.Generator) -> Iterator[Fact]:
    """The cost that the fits minimise, and its slopes, against the dense cost of neighbouring mechanisms."""
    objective = design.Objective(
        np.array([1.0, 0.3, 0.05]), 23, schedule=0.3 * (1 - np.arange(23) / 25), batch_size=4, weights="final"
    )
    logs, rows = np.array([-3.0, -2.2, -1.1, 0.2]), np.linspace(0, 1, 23) ** 2

    def dense(logs: np.ndarray, rows: np.ndarray, unit: bool) -> float:
        decays = Decays.at(logs)
        blt = design.Blt(tuple(decays.outer), tuple(decays.omega))
        if unit:
            return objective.noise_power(correlations.from_matrix(design.ScaledBlt(blt, 23, np.exp(rows)).matrix(23)))
        return objective.noise_power(correlations.from_matrix(blt.matrix(23) / np.exp(rows)))

    for unit in (True, False):
        decays = Decays.at(logs)
        value, slopes, by_rows = cost(Directions.of(objective), decays, rows, unit_columns=unit)
        yield Fact(f"cost, unit columns {unit}", value, dense(logs, rows, unit), 1e-10)
        inverse = design.Blt(tuple(decays.inner), tuple(-decays.kappa))
        yield Fact("kappa", list(inverse.inverse_coefficients(9)), list(_blt(decays).coefficients(9)), 1e-12)
        moves = 1e-5 * np.eye(4)
        numeric = [(dense(logs + h, rows, unit) - dense(logs - h, rows, unit)) / 2e-5 for h in moves]
        chain = np.stack(
            [-decays.outer * (1 - decays.outer) * slopes[0], -decays.inner * (1 - decays.inner) * slopes[1]]
        )
        yield Fact(f"slopes by decays, unit columns {unit}", list(chain.T.ravel()), numeric, 1e-6)
        moves = 1e-5 * np.eye(23)[::6]
        numeric = [(dense(logs, rows + h, unit) - dense(logs, rows - h, unit)) / 2e-5 for h in moves]
        yield Fact(f"slopes by rows, unit columns {unit}", list(by_rows[::6]), numeric, 1e-6)


def _directions(rng: np.random.Generator) -> Iterator[Fact]:
    """Curvatures within a factor of 1.25 of the least of theirs are one direction, at their mean by what each costs; no
    more directions than there may be.
    """
    del rng
    rates, omega = np.array([0.9, 0.3, 0.5, 0.2, 0.6]), np.array([0.3, 0.0, 0.7, 0.2, 0.9])
    curvatures = [0.6, 0.75, 0.72, 0.03, 0.96, 0.6]
    found = Directions.of(design.Objective(np.array(curvatures), 5, schedule=rates, weights=omega, noiseless=True))
    # From 0.03 on, in powers of 1.25: 0.6 and 0.72 between 13 and 15, 0.75 and 0.96 beyond.
    groups: dict[int, list[float]] = {}
    for one in sorted(curvatures):
        groups.setdefault(int(np.log(one / 0.03) / np.log(1.25)), []).append(one)
    costs = {one: _costs_ahead(one, rates, omega) for one in curvatures}
    means = [sum(x * costs[x].sum() for x in group) / sum(costs[x].sum() for x in group) for group in groups.values()]
    yield Fact("directions: how many", [len(group) for group in groups.values()], [1, 2, 2, 1], 0)
    yield Fact("directions: what is kept", found.kept, 1 - np.outer(rates, means), 1e-14)
    gains = np.array([sum(costs[x] for x in group) for group in groups.values()]).T * rates[:, None]
    yield Fact("directions: what they cost", found.gain, gains, 1e-14)
    yield Fact("directions: rates", found.drive, rates, 0)
    yield Fact("directions: the diagonal", found.diagonal, rates**2 * sum(costs[x] for x in curvatures), 1e-14)
    for steps, most in ((1024, 24), (1025, 10)):
        run = design.Objective(np.geomspace(1e-6, 1.0, 97)[::-1], steps, eta=0.5, weights="final")
        kept = Directions.of(run).kept
        yield Fact(f"{steps} steps: most directions", kept.shape, (steps, most), 0)
    close = np.geomspace(0.1, 1.0, 97)
    yield Fact("a factor of ten: directions", Directions.of(design.Objective(close, 5, eta=0.5)).kept.shape, (5, 11), 0)


def _costs_ahead(curvature: float, rates: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """What a unit of squared distance after each step costs later, with exact gradients."""
    T = len(rates)
    return np.array(
        [
            sum(omega[u] * curvature / 2 * np.prod(1 - rates[t + 1 : u + 1] * curvature) ** 2 for u in range(t, T))
            for t in range(T)
        ]
    )


def _blt(decays: Decays) -> design.Blt:
    """Its C, from the decays of C."""
    return design.Blt(tuple(decays.outer), tuple(decays.omega))


def _filters(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """BLT and bands as correlations, by long sums; streams against B on the same draws."""
    long, x = 6000, np.array([0.02, 0.3, 1.0])
    for filtered in (BLT, design.Bands((1.0, 0.6, 0.3, 0.1)), design.truncated(BLT, 4)):
        c, beta = filtered.inverse_coefficients(long), filtered.coefficients(long)
        yield Fact(f"{filtered.name}: B C = 1", list(np.convolve(c, beta)[:50]), [1.0] + [0.0] * 49, 1e-12)
        limit = float(filtered.limiting_sensitivity())
        yield Fact(f"{filtered.name}: limit", limit, float(np.linalg.norm(c)), 1e-12)
        states = [np.sum(np.convolve(beta[:2000], (1 - rate) ** np.arange(2000)) ** 2) for rate in x]
        yield Fact(f"{filtered.name}: c(x)", list(filtered.filtered_power(x)), list(x * (2 - x) * states), 1e-9)
        spectrum = np.abs(np.fft.fft(beta, 1 << 13)) ** 2
        omega = 2 * np.pi * np.arange(1 << 13) / (1 << 13)
        yield Fact(f"{filtered.name}: |B|^2", list(filtered.power_spectrum(omega)), list(spectrum), 1e-9)
        with balls() as m:
            shown = [float(filtered.spectral_density(m, m.number(s))) for s in np.sin(omega[:4096:512] / 2) ** 2]
        yield Fact(f"{filtered.name}: |B|^2 in balls", shown, list(spectrum[:4096:512]), 1e-9)
    yield from _many_bands()
    yield Fact("the inverse of a BLT", list(BLT.inverse().inverse_coefficients(40)), list(BLT.coefficients(40)), 1e-12)
    fitted = design.fit_coefficients(BLT.inverse_coefficients(300), 3)
    yield Fact("a BLT fitted to its own coefficients", list(fitted.buf_decay), list(BLT.buf_decay), 1e-5)
    rows = np.exp(np.linspace(0, 2, 61))
    for mechanism in (
        BLT,
        design.ScaledBlt(BLT, 61, rows),
        design.unit_columns(design.Bands((1.0, 0.6, 0.3, 0.1)), 61),
        design.ScaledToeplitz(design.Bands((2.0, 0.6)), 61, rows),
        design.unit_columns(design.spectral(mean_loss("1/k", 0.5, 61)), 61),
    ):
        if mechanism is not BLT:
            norms = np.linalg.norm(mechanism.encoder(61), axis=0)
            yield Fact(f"columns of {mechanism.name}", list(norms), [1.0] * 61, 1e-12)
        seed = int(rng.integers(1 << 30))
        draws = np.random.default_rng(seed).standard_normal((61, 2))
        stream = np.array(list(designed_noise(mechanism, 61, (2,), np.random.default_rng(seed))))
        yield Fact(f"stream of {mechanism.name}", stream.tolist(), (mechanism.matrix(61) @ draws).tolist(), 1e-9)


def _many_bands() -> Iterator[Fact | Holds]:
    """90 coefficients of (1 - z / 2)^{1/2}; few and many with zeros near the circle."""
    c = np.cumprod([1.0, *(0.5 * (k - 1.5) / k for k in range(1, 90))])
    bands = design.Bands(tuple(c))
    yield Fact("many bands: B C = 1", list(np.convolve(c, bands.coefficients(90))[:90]), [1.0] + [0.0] * 89, 1e-12)
    yield taken("one band", lambda: design.Bands((-2.0,)))
    for size, trailing in ((2, 0), (64, 0), (64, 30), (65, 0), (200, 0), (3, 70)):
        for far in (1e-4, 0.5e-12, 2e-12, -1e-4):
            if far < 1e-4 and size > 2:
                continue
            c = np.zeros(size + trailing)
            c[0], c[size - 1] = 1.0, -((1.0 - far) ** (size - 1))
            label = f"{size} coefficients and {trailing} zeros, {far:g} outside the circle"
            call = partial(design.Bands, tuple(c))
            yield taken(label, call) if far > 1e-12 else refused(label, "c", call)
    for size in (50, 90):
        for far in (0.1, 1e-4, 0.0, -1e-4, -0.1):
            # one zero, or two pairs, at 1 / (1 - far), and the others at 2
            pair = np.array([1.0, -2 * (1 - far) * np.cos(1.23), (1 - far) ** 2])
            for zeros, near in (("one zero", np.array([1.0, 1 - far])), ("two pairs", np.convolve(pair, pair))):
                c = np.convolve(near, [1.0, *np.zeros(size - 6), 0.5 ** (size - 5)])
                label, call = f"{zeros}, {len(c)} coefficients, {far:g} outside", partial(design.Bands, tuple(c))
                yield taken(label, call) if far > 0 else refused(label, "c", call)
    c = [1.0, *np.zeros(70), -(1.0 - 1e-9)]
    yield refused("zeros nearer than a grid can tell", "c", lambda: design.Bands(tuple(c)))


def _long_run_bands(rng: np.random.Generator) -> Iterator[Fact]:
    """The criterion for bands in long runs by a finer Riemann sum; its slopes by differences."""
    objective = design.Objective(np.array([1.0, 0.4]), 64, 0.5, noiseless=True)
    c, omega = np.array([1.0, 0.5, 0.3, 0.1]), 2 * np.pi * np.arange(1 << 14) / (1 << 14)
    gain = gain_spectrum(objective, regularised=False)
    h = gain(omega)

    def value(c: np.ndarray) -> float:
        return float(c @ c) * float(np.mean(h / np.abs(np.fft.fft(c, 1 << 14)) ** 2))

    found, slopes = stationary_cost(gain, objective)(c)
    yield Fact("stationary cost of bands", found, value(c), 1e-9)
    numeric = [(value(c + move) - value(c - move)) / 2e-5 for move in 1e-5 * np.eye(4)]
    yield Fact("its slopes", list(slopes), numeric, 1e-6)


def _deviation(rng: np.random.Generator) -> Iterator[Fact]:
    """Of the noise in a gradient: s(C) G_c / (m (2 rho)^{1/2}), m = 1 where gradients are noiseless."""
    encoder = BLT.encoder(9)
    cases: tuple[tuple[dict[str, Any], int], ...] = (({"noiseless": True}, 1), ({"batch_size": 3}, 3))
    for options, examples in cases:
        objective = design.Objective(np.array([1.0, 0.3]), 9, 0.3, **options)
        found = DesignedTraining(objective=objective, mechanism=BLT, rho=0.4, clip_norm=0.7).noise_deviation
        stated = float(np.linalg.norm(encoder[:, 0])) * 0.7 / examples / np.sqrt(0.8)
        yield Fact(f"deviation of the noise, {next(iter(options))}", found, stated, 1e-12)


EXACT_COST = Claim(
    id="ftrl/beyond-design-cost",
    where=f"{OURS}: cost of a mechanism with few buffers",
    kind="identity",
    statement=(
        (
            r'The cost $op("tr")(G B B^top)$ of $C = op("diag")(r) L(c) op("diag")(1\/n)$ with $c_t = sum_i omega_i '
            "phi_i^(t-1)$ follows from the joint second moments of buffers and iterate, in $O(T)$, for every schedule, "
            "batch size and momentum;"
        ),
        "its noise needs one vector per buffer, and bands one less than coefficients, all of whose zeros are outside.",
    ),
    checks=(
        Agreement(decides="a", facts=_by_definition, impostors={"1e-6 off": {"facts": Times(1 + 1e-6)}}),
        Agreement(decides="a", facts=_search_cost, impostors={"1e-4 off": {"facts": Times(1 + 1e-4)}}),
        Agreement(decides="a", facts=_directions, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(decides="b", facts=_filters, impostors={"1e-4 off": {"facts": Times(1 + 1e-4)}}),
        Agreement(decides="a", facts=_long_run_bands, impostors={"1e-4 off": {"facts": Times(1 + 1e-4)}}),
        Agreement(decides="a", facts=_deviation, impostors={"1e-4 off": {"facts": Times(1 + 1e-4)}}),
    ),
)
