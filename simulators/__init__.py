"""Algorithms and data models: parameters and generators in, arrays with a leading trial axis out."""
