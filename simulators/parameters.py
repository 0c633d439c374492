"""Parameters of an estimator by scikit-learn's conventions, without scikit-learn.

>>> class Mean(Parameters):
...     def __init__(self, *, bound=1.0, seed=None):
...         self.bound, self.seed = bound, seed
>>> Mean(bound=2.0).set_params(seed=3)
Mean(bound=2.0, seed=3)
"""

from __future__ import annotations

import inspect
from typing import Any, Self

from dpbounds.errors import DomainError


class Parameters:
    """What the constructor takes by keyword, stored under the same names and nothing else."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as they were given."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters; they count from the next `fit` on. Raises `DomainError` for a name that is none."""
        for name, value in params.items():
            if name not in self._defaults():
                raise DomainError("parameter", name, f"one of {', '.join(self._defaults())}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """The parameters that are not the default; nothing of the data."""
        own, defaults = self.get_params(), self._defaults()
        shown = sorted(name for name in own if own[name] is not defaults[name])
        return f"{type(self).__name__}({', '.join(f'{name}={own[name]!r}' for name in shown)})"

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        parameters = inspect.signature(cls.__init__).parameters.values()
        return {one.name: one.default for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY}
