"""Proof files: certified inequalities, identities and counterexamples, for `verify/proof_checker.py`."""
