"""Shapes and types in the signatures of theory and algorithms are checked here, and only here."""

from jaxtyping import install_import_hook

install_import_hook(["dpbounds", "simulators"], "typecheck.checked")
