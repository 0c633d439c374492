"""Shapes and types in the signatures of theory and algorithms are checked here, and only here."""

from jaxtyping import install_import_hook

from tests import typecheck

install_import_hook(["dpbounds", "simulators"], f"{typecheck.__name__}.{typecheck.checked.__name__}")
