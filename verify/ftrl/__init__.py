"""The claims on correlated noise (paper `ftrl`), in the order of the paper."""

from verify.ftrl import mean_estimation

CLAIMS = (*mean_estimation.CLAIMS,)
