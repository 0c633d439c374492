"""The run-time checker of the tests: the shapes that public signatures state, and nothing else.

Wrong values of other types are the business of the functions' own errors, which the tests provoke.
"""

from beartype import beartype

SHAPED = ("Float[", "Int[", "Bool[", "Complex[")


def checked(function):
    """Check the annotations that are jaxtyping arrays."""
    annotations = getattr(function, "__annotations__", {})
    if isinstance(function, type) or not annotations:
        return function
    shaped = {name: hint for name, hint in annotations.items() if any(kind in str(hint) for kind in SHAPED)}
    function.__annotations__ = shaped
    return beartype(function) if shaped else function
