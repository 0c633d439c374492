"""The problem of ftrl Section 3: a class of losses, and how DP-FTRL is run on them.

>>> problem = StronglyConvex(mu=0.1, L=1.0, eta=0.5, rho=0.5)
>>> problem.kappa, problem.program("f").b
(10.0, 0.05)
"""

from __future__ import annotations

from dataclasses import dataclass

from dpbounds.ftrl.correlations import ToeplitzCorrelation, independent
from dpbounds.ftrl.strongly_convex.noise import Noise
from dpbounds.ftrl.strongly_convex.programs import Program, ProgramName

# Fields that a `Program` and a `Noise` have of a problem.
CONSTANTS, MAGNITUDES = ("mu", "L", "eta"), ("rho", "d", "clip_norm", "sigma_sgd")


@dataclass(frozen=True, kw_only=True)
class StronglyConvex:
    """All mu-strongly convex, L-smooth losses on R^d, and DP-FTRL without clipping on them.

    - `mu`, `L`: 0 < mu <= L; `eta`: the learning rate, below 2 / L;
    - `rho`: zCDP budget under zero-out adjacency; `d`: the dimension; `clip_norm`: G, which scales the noise;
    - `sigma_sgd`: bound on the norm of the error of a gradient.

    Raises `DomainError` where `Program` or `Noise` do.
    """

    mu: float
    L: float
    eta: float
    rho: float
    d: int = 1
    clip_norm: float = 1.0
    sigma_sgd: float = 0.0

    def __post_init__(self) -> None:
        # Both know their ranges; independent noise has sensitivity 1, so that only the magnitudes are looked at.
        program, noise = self.program("f"), self.noise(independent())
        for names, part in ((CONSTANTS, program), (MAGNITUDES, noise)):
            for name in names:
                object.__setattr__(self, name, getattr(part, name))

    @classmethod
    def of(cls, program: Program, noise: Noise) -> StronglyConvex:
        """The problem that a program and a noise are made for."""
        constants = {name: getattr(program, name) for name in CONSTANTS}
        return cls(**constants, **{name: getattr(noise, name) for name in MAGNITUDES})

    @property
    def kappa(self) -> float:
        """L / mu."""
        return self.program("f").kappa

    def program(self, name: ProgramName) -> Program:
        """The convex program of this name for the constants of the class."""
        return Program(name=name, mu=self.mu, L=self.L, eta=self.eta)

    def noise(self, correlation: ToeplitzCorrelation) -> Noise:
        """Privacy and gradient noise with this correlation."""
        return Noise(correlation=correlation, **{name: getattr(self, name) for name in MAGNITUDES})
