"""Oracles and runs that several claims of paper `ols` share."""
