"""Section 3: the privacy loss, the exact delta, and Algorithm 1."""

from itertools import chain, combinations

import mpmath
import numpy as np
from scipy import integrate, stats

from balle_wang import theory
from balle_wang.algorithms import Answers, calibrate, release
from dpbounds.arithmetic import FLOATS
from dpbounds.privacy import gaussian_mu
from simulators.engine import Experiment
from verify import Claim, Real
from verify.checks import Agreement, Case, Fact, Identity, Means, MonteCarlo, Times, Within

SIGMAS, ANSWERS = (0.5, 1.0, 2.0), Answers(d=3, width=1.0)
BOX = {"epsilon": Real(0.01, 5, "log"), "sigma": Real(0.2, 5, "log")}


def losses(output, predicted):
    return [
        Case(
            label=f"{output} at sigma = {sigma:g}",
            experiment=Experiment(
                algorithm=release, problem=Answers(d=3, width=1.0), settings=sigma, block_trials=2_000
            ),
            output=output,
            predicted=lambda sigma=sigma: predicted(sigma),
            relative_std=3.0,
        )
        for sigma in SIGMAS
    ]


LOSS = Claim(
    id="balle_wang/lem-3",
    where="Lemma 3",
    kind="mc-equality",
    statement=("The privacy loss has mean $eta = 1 \\/ (2 sigma^2)$.", "Its variance is $2 eta$."),
    setting="Neighbours at distance 1, $sigma = 0.5, 1, 2$.",
    checks=(
        MonteCarlo(
            means=Means(cases=lambda: losses("loss", lambda sigma: 1 / (2 * sigma**2))),
            decides="a",
            impostors={"twice the mean": {"scale": 2.0}},
        ),
        MonteCarlo(
            means=Means(cases=lambda: losses("loss_square", lambda sigma: 1 / sigma**2)),
            decides="b",
            impostors={"half the variance": {"scale": 0.5}},
        ),
    ),
)


def events(rng, order=1.0):
    """On eight outcomes every event is tried; the other side is read off the two laws of the loss."""
    for number in range(5):
        p, q = rng.dirichlet(np.ones(8), 2)
        epsilon = 0.3
        every = chain.from_iterable(combinations(range(8), size) for size in range(9))
        worst = max(p[list(event)].sum() - np.exp(epsilon) * q[list(event)].sum() for event in every)
        above, below = p[np.log(p / q) >= epsilon].sum(), q[np.log(q / p) <= -epsilon].sum()
        yield Fact(f"dearest of all events, law {number + 1}", worst, above - np.exp(order * epsilon) * below)


CRITERION = Claim(
    id="balle_wang/thm-5",
    where="Theorem 5",
    kind="number",
    statement=(
        "A mechanism is $(epsilon, delta)$-DP if and only if for all neighbours the chance that the loss is $epsilon$ "
        "or more is at most $delta$ plus $e^epsilon$ times the chance that the other order has $-epsilon$ or less.",
    ),
    setting="Five pairs of random laws on eight outcomes.",
    checks=(Agreement(facts=events, impostors={"the wrong sign of epsilon": {"facts": {"order": -1.0}}}),),
)


def normal_above(m, epsilon, sigma):
    """The chance that a normal variable of mean eta and variance 2 eta is epsilon or more."""
    eta = 1 / (2 * sigma * sigma)
    return 1 - m.ndtr((epsilon - eta) / m.sqrt(2 * eta))


def normal_below(m, epsilon, sigma):
    eta = 1 / (2 * sigma * sigma)
    return 1 - m.ndtr((epsilon + eta) / m.sqrt(2 * eta))


TAILS = Claim(
    id="balle_wang/lem-6",
    where="Lemma 6",
    kind="identity",
    statement=(
        "The loss is $epsilon$ or more with probability $Phi(1 \\/ (2 sigma) - epsilon sigma)$.",
        "In the other order it is $-epsilon$ or less with probability $Phi(-1 \\/ (2 sigma) - epsilon sigma)$.",
    ),
    hypotheses="The loss is normal with mean $1 \\/ (2 sigma^2)$ and twice that as variance (Lemma 3).",
    checks=(
        Identity(
            left=theory.loss_above,
            right=normal_above,
            box={"epsilon": Real(0.01, 2, "log"), "sigma": Real(0.2, 2, "log")},
            lost=20,
            decides="a",
            impostors={"1 % off": {"left": Times("1.01")}},
        ),
        Identity(
            left=theory.loss_below,
            right=normal_below,
            box={"epsilon": Real(0.01, 2, "log"), "sigma": Real(0.2, 2, "log")},
            lost=20,
            decides="b",
            impostors={"1 % off": {"left": Times("1.01")}},
        ),
    ),
)


def of_eta(epsilon, eta):
    """Theorem 8 as a function of eta, in 30 digits."""
    root = mpmath.sqrt(2 * eta)
    return mpmath.ncdf((eta - epsilon) / root) - mpmath.exp(epsilon) * mpmath.ncdf(-(eta + epsilon) / root)


def slopes(rng, factor=1.0):
    """The derivative in eta by differences against a closed form, which is positive."""
    with mpmath.workdps(30):
        for epsilon, eta in ((0.1, 0.01), (0.5, 1.0), (1.0, 0.3), (3.0, 5.0)):
            closed = mpmath.exp(-((epsilon - eta) ** 2) / (4 * mpmath.mpf(eta))) / (2 * mpmath.sqrt(mpmath.pi * eta))
            found = mpmath.diff(lambda x, epsilon=epsilon: of_eta(epsilon, x), eta)
            yield Fact(f"slope at epsilon = {epsilon}, eta = {eta}", float(found), factor * float(closed), 1e-10)
            yield Within(f"and it is positive, at epsilon = {epsilon}", float(found), least=0.0)


MONOTONE = Claim(
    id="balle_wang/lem-7",
    where="Lemma 7",
    kind="number",
    statement="The least $delta$ grows with $eta$: more noise is never worse.",
    remark="Its slope is $e^(-(epsilon - eta)^2 \\/ (4 eta)) \\/ (2 sqrt(pi eta))$.",
    checks=(Agreement(facts=slopes, impostors={"twice the slope": {"facts": {"factor": 2.0}}}),),
)


def divergences(rng, factor=1.0):
    """The excess of one density over e^epsilon times the other, by quadrature."""
    for epsilon in (0.0, 0.1, 1.0, 3.0):
        for sigma in SIGMAS:

            def excess(x, epsilon=epsilon, sigma=sigma):
                return stats.norm.pdf(x, 0, sigma) - np.exp(epsilon) * stats.norm.pdf(x, 1, sigma)

            edge = 0.5 - epsilon * sigma**2
            found = integrate.quad(excess, edge - 40 * sigma, edge, points=[-3.0, 0.0], limit=400, epsabs=1e-13)[0]
            label = f"delta at epsilon = {epsilon}, sigma = {sigma}"
            yield Fact(label, theory.delta(FLOATS, epsilon, factor * sigma), found, 1e-6)


EXACT = Claim(
    id="balle_wang/thm-8",
    where="Theorem 8",
    kind="number",
    statement=(
        "The Gaussian mechanism is $(epsilon, delta)$-DP if and only if $Phi(1 \\/ (2 sigma) - epsilon sigma) - "
        "e^epsilon Phi(-1 \\/ (2 sigma) - epsilon sigma) <= delta$.",
    ),
    checks=(Agreement(facts=divergences, impostors={"1 % more noise": {"facts": {"factor": 1.01}}}),),
)


def branch(curve, factor):
    """Both sides of what Algorithm 1 computes: its own curve, and Theorem 8 at its sigma."""
    return lambda m, epsilon, x: theory.delta(m, epsilon, factor(m, x) / m.sqrt(2 * epsilon)), curve


def of_branch(curve, factor):
    at_sigma, own = branch(curve, factor)
    return Identity(
        left=at_sigma,
        right=lambda m, epsilon, x: own(m, epsilon, x),
        box={"epsilon": Real(0.01, 5, "log"), "x": Real(0.01, 5, "log")},
        lost=20,
        impostors={"1 % off": {"right": Times("1.01")}},
    )


MORE = Claim(
    id="balle_wang/alg-1-more",
    where="Algorithm 1, more noise",
    kind="identity",
    statement="At $sigma = (sqrt(1 + u \\/ 2) + sqrt(u \\/ 2)) \\/ sqrt(2 epsilon)$ the least $delta$ is $B^- (u)$.",
    checks=(of_branch(theory.more_noise, theory.wide),),
)

LESS = Claim(
    id="balle_wang/alg-1-less",
    where="Algorithm 1, less noise",
    kind="identity",
    statement="At $sigma = (sqrt(1 + v \\/ 2) - sqrt(v \\/ 2)) \\/ sqrt(2 epsilon)$ the least $delta$ is $B^+ (v)$.",
    checks=(of_branch(theory.less_noise, theory.narrow),),
)

START = Claim(
    id="balle_wang/alg-1-start",
    where="Algorithm 1, where the branches meet",
    kind="identity",
    statement="At $sigma = 1 \\/ sqrt(2 epsilon)$ the least $delta$ is $Phi(0) - e^epsilon Phi(-sqrt(2 epsilon))$.",
    checks=(
        Identity(
            left=lambda m, epsilon: theory.delta(m, epsilon, 1 / m.sqrt(2 * epsilon)),
            right=theory.start,
            box={"epsilon": Real(0.01, 20, "log")},
            lost=20,
            impostors={"1 % off": {"right": Times("1.01")}},
        ),
    ),
)


def noises(rng, factor=1.0):
    """Algorithm 1 against dpbounds' own calibration, which does not follow it."""
    for epsilon in (0.1, 1.0, 5.0):
        for delta in (1e-8, 1e-4, 0.1, 0.6):
            label = f"sigma at epsilon = {epsilon}, delta = {delta:g}"
            yield Fact(label, calibrate(epsilon, delta), factor / float(gaussian_mu(epsilon, delta)), 1e-8)


LEAST = Claim(
    id="balle_wang/thm-9",
    where="Theorem 9",
    kind="algorithm",
    statement="Algorithm 1 gives the least $sigma$ with which the Gaussian mechanism is $(epsilon, delta)$-DP.",
    checks=(Agreement(facts=noises, impostors={"0.1 % off": {"facts": {"factor": 1.001}}}),),
)
