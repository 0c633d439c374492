"""What is proved in place of a difference is tied to the sides: a wrong side has no proof."""

import pytest

from dpbounds import DomainError
from verify.checks import Inequality
from verify.checks.domains import Real
from verify.checks.inequality import certify
from verify.running.registry import claim_named

CLAIMS = (
    "fig-1-left", "thm-2.1-rate", "a.2-zcdp", "eq-32-bound", "lem-c.21-line", "prop-d.5", "prop-f.10",
    "prop-f.11", "beyond-privacy-curve",
)  # fmt: skip


def test_no_impostor_of_a_check_with_a_certificate_has_a_proof():
    tried = 0
    for name in CLAIMS:
        for _, checks in claim_named(f"ftrl/{name}").forms():
            for check in checks:
                if isinstance(check, Inequality) and check.certificate:
                    for impostor in check.impostors:
                        tried += 1
                        _, reason = certify(check.impostor(impostor))
                        assert reason is not None and "more than the sides" in reason, (name, impostor)
    assert tried == 13


def test_a_factor_that_is_negative_ties_nothing():
    check = Inequality(
        smaller=lambda m, x: 0 * x,
        larger=lambda m, x: -x,
        certificate=lambda m, x: 1 + x,
        factor=lambda m, x: -x / (1 + x),
        box={"x": Real(0.5, 2.0)},
    )
    assert certify(check)[1] is not None


def test_a_certificate_needs_a_factor():
    with pytest.raises(DomainError, match="factor of here"):
        Inequality(
            smaller=lambda m, x: x, larger=lambda m, x: 2 * x, certificate=lambda m, x: x, box={"x": Real(0.5, 2.0)}
        ).validate("here")
