"""Complete elliptic integrals and the two integrals that the theory of correlated noise lives on.

With E_a(ω)² = |1 − a − e^{iω}|² = a² + 4(1 − a) sin²(ω/2), ω over [−π, π] and dω unnormalised:

- `integral_inverse(a)` = ∫ dω / E_a, and `integral_ratio(a, b)` = ∫ E_a / E_b² dω;
- `K(k)`, `E(k)`, `Pi(alpha_squared, k)`: complete, of the three kinds, in the **modulus** k (not m = k²).

The names here are those of `floats`: float64, vectorised. The same functions to any number of digits are in
`dpbounds.elliptic.digits` (loads mpmath), enclosures in `dpbounds.elliptic.balls` (loads python-flint): both are
submodules to import when wanted. `dpbounds.arithmetic` lets one formula run on all three. Floats and digits use
Gauss's transformation, balls Carlson's R_J, and `integral` is a quadrature that knows no elliptic function.

Normal form: multiply out cos² + sin² = 1 at half the angle, E_a² = (2 − a)² (u² cos² + sin²) with u = a / (2 − a).
Then ∫ dω / E_a = 2π / agm(2 − a, a) = 4 K(1 − a), and with v = b / (2 − b)

    ∫ E_a / E_b² dω = (2 − a) / (2 − b)² J(u, v),   J(u, v) = 4 ∫_0^{π/2} √(u² cos² + sin²) / (v² cos² + sin²).

It is Π in disguise, with characteristic 1 − (u / v)²; written as J nothing cancels for u ≪ v or u ≫ v.
"""

from dpbounds.elliptic.floats import E, K, Pi, integral, integral_inverse, integral_ratio

__all__ = ["E", "K", "Pi", "integral", "integral_inverse", "integral_ratio"]
