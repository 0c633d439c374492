"""Oracles and runs that several claims of paper `glm` share."""
