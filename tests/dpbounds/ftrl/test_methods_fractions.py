"""Matrices of fractions: definiteness where floats cannot tell, and products."""

import numpy as np
import pytest

from dpbounds.circle.polynomials import exact
from dpbounds.ftrl.methods.fractions import in_fractions, positive_definite, product


def test_positive_definite_by_eigenvalues():
    rng = np.random.default_rng(0)
    for shift in np.linspace(-1.0, 4.0, 40):
        matrix = rng.standard_normal((5, 5))
        matrix = matrix + matrix.T + shift * np.eye(5)
        assert positive_definite(in_fractions(matrix)) == bool(np.linalg.eigvalsh(matrix).min() > 0)


@pytest.mark.parametrize("size", [2, 5, 12])
@pytest.mark.parametrize("spread", [0, 100, 500])
def test_positive_definite_where_floats_cannot_tell(size, spread):
    """B B' of rank size - 1 is not, with 2^-300 more on its diagonal it is, with as much less it has a negative value;
    all in units 2^-spread .. 2^spread apart.
    """
    rng = np.random.default_rng(size)
    B = in_fractions(rng.standard_normal((size, size - 1)))
    units = in_fractions(np.diag(2.0 ** rng.integers(-spread, spread + 1, size)))
    singular, little = product(B, B.T), exact(2.0**-300)
    for shift, wanted in ((0, False), (little, True), (-little, False)):
        shifted = singular + shift * in_fractions(np.eye(size))
        assert positive_definite(product(units, shifted, units)) == wanted


def test_positive_definite_refuses_what_no_float_holds():
    large = exact(2.0**1000) ** 3
    assert not positive_definite(np.array([[exact(1.0), large], [large, exact(1.0)]]))
    assert not positive_definite(np.array([[exact(1.0), exact(0.0)], [exact(0.0), exact(0.0)]]))
    assert positive_definite(np.array([[large**2, large], [large, exact(2.0)]]))


def test_products_are_those_of_fractions():
    rng = np.random.default_rng(3)
    A, B, C = (rng.standard_normal(shape) for shape in ((3, 4), (4, 2), (2, 5)))
    assert (product(*map(in_fractions, (A, B, C))) == in_fractions(A) @ in_fractions(B) @ in_fractions(C)).all()
    assert np.array_equal(product(A, B, C), A @ B @ C)
