"""Oracles and runs that several claims of paper `ftrl` share."""
