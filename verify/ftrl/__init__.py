"""The claims on correlated noise (paper `ftrl`), in the order of the paper."""

from verify.ftrl import (
    appendix_f,
    background,
    figure_1,
    figure_2,
    finite_time,
    finite_time_expected,
    mean_estimation,
    mechanisms,
    nu_and_anti_pgd,
    regression_lower,
    regression_rates,
    regression_setup,
    regression_upper,
)

CLAIMS = (
    *background.CLAIMS,
    *mechanisms.CLAIMS,
    *mean_estimation.CLAIMS,
    *figure_1.CLAIMS,
    *regression_rates.CLAIMS,
    *figure_2.CLAIMS,
    *regression_setup.CLAIMS,
    *regression_upper.CLAIMS,
    *regression_lower.CLAIMS,
    *nu_and_anti_pgd.CLAIMS,
    *finite_time.CLAIMS,
    *finite_time_expected.CLAIMS,
    *appendix_f.CLAIMS,
)
