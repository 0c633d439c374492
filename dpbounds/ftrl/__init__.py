"""Theory of correlated noise (DP-FTRL): correlations, mean estimation, linear regression, finite time."""
