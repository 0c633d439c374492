"""Algorithm 5: the two branches meet where they should, and what either mend changes."""

import pytest

from dpbounds import DomainError
from dpbounds.ols import DynamicMixing

BUDGET = {"epsilon": 1.0, "delta": 1e-6, "k": 100, "failure": 1e-7}
ABOVE = 1 + 1e-9


class TestSketch:
    def test_noise_reaches_zero_where_the_other_branch_begins(self):
        mixing = DynamicMixing(**BUDGET)
        threshold = 5 * mixing.gamma
        rows, noise = mixing.sketch(threshold / ABOVE, bound_squared=5.0)
        assert rows == 100
        assert 0 < noise < 1e-5
        assert mixing.sketch(threshold * ABOVE, bound_squared=5.0) == (100, 0.0)

    def test_a_released_eigenvalue_below_zero_counts_as_zero(self):
        mixing = DynamicMixing(**BUDGET)
        assert mixing.sketch(-3.0, bound_squared=2.0) == (100, 2 * mixing.gamma)

    def test_only_the_eigenvalue_in_units_of_the_bound_matters(self):
        mixing = DynamicMixing(**BUDGET)
        sizes = {mixing.sketch(3 * mixing.gamma * bound, bound_squared=bound)[0] for bound in (0.5, 2.0, 16.0)}
        assert len(sizes) == 1

    def test_the_printed_lines(self):
        mended = DynamicMixing(**BUDGET)
        rows = mended.sketch(20 * mended.gamma, bound_squared=2.0)[0]
        assert DynamicMixing(**BUDGET, in_units=False).sketch(20 * mended.gamma, bound_squared=2.0)[0] > 3 * rows
        assert DynamicMixing(**BUDGET, as_drawn=False).sketch(20 * mended.gamma, bound_squared=2.0)[0] < 300
        assert DynamicMixing(**BUDGET, in_units=False).sketch(1.5 * mended.gamma, bound_squared=2.0)[1] == 0
        assert mended.sketch(1.5 * mended.gamma, bound_squared=2.0)[1] > 0


@pytest.mark.parametrize(
    ("changed", "parameter"), [({"epsilon": 0.0}, "epsilon"), ({"delta": 1.0}, "delta"), ({"k": 0}, "k")]
)
def test_numbers_outside_their_ranges_are_refused(changed, parameter):
    with pytest.raises(DomainError, match=parameter):
        DynamicMixing(**{**BUDGET, **changed})
