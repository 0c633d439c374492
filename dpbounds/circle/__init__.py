"""Everything on the unit circle: quadrature, enclosures of integrals in floats and in balls, polynomials."""
