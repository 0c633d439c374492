"""The site: `python -m docs RESULTS OUT` builds it from a results file, offline. Nothing in this house imports it."""
