"""Oracles and runs that several claims of paper `iv` share."""
