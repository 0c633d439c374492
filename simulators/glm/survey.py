"""A survey in local privacy: what each user sends, and the coefficients from all that was sent; `dpbounds.private`.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> x = rng.standard_normal((200_000, 2))
>>> y = rng.random(200_000) < 1 / (1 + np.exp(-x @ [1.0, -0.5]))
>>> survey = LocalGLM(link="logistic", epsilon=3.0, seed=1)
>>> survey.fit(survey.message(x, y), public=rng.standard_normal((20_000, 2))).coef_.round(1).tolist()
[1.0, -0.5]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, positive, real_array
from dpbounds.glm.links import Link
from dpbounds.glm.messages import Noise, scored, solve, sphere
from simulators.glm.messages import MessageSettings, directions, noised

# Rounding of lengths of messages in text files.
ROUNDING = 1e-6


class LocalGLM:
    """Direction messages of (x, y), and the coefficients that they tell.

    - `link`: a name of `dpbounds.glm.LINKS` with bounded labels or counts; `label_bound` as in
      `dpbounds.glm.messages.scored`: labels beyond are clamped;
    - `epsilon`, and `delta` for `noise="gaussian"`; the cap (default) and the hemisphere need none;
    - `intercept`: a coordinate 1 is put before those of x; its coefficient is `intercept_`;
    - `matrix`: A (of x with the 1, if any), public and the same for all, by default I. Near Sigma^-3/4 has the least
      error (`dpbounds.glm.messages.message_matrix`).

    `message` is for the users' side: every record may be sent once, each call spends the budget of the records given.
    With `seed` = None noise comes from the operating system's entropy; **with a seed what is sent is a study and not
    private.** Noise of floats has known holes for who sees every bit of a Gaussian. Where the link is wrong the
    estimate has another length, and the direction of w* if x is elliptical about 0 and A'A a multiple of Sigma^-1.

    After `fit`: `coef_` (p,), `intercept_`, `messages_` and `public_`, how many there were, and `solution_`.
    """

    @typed
    def __init__(
        self,
        *,
        link: Link | str,
        epsilon: float,
        delta: float | None = None,
        noise: Noise = "cap",
        intercept: bool = False,
        matrix: Any = None,
        label_bound: float | None = None,
        seed: int | None = None,
    ) -> None:
        self.labels = scored(link, label_bound)
        self.settings = MessageSettings(noise=noise, epsilon=positive("epsilon", epsilon), delta=delta)
        self.intercept = intercept
        self.matrix = None if matrix is None else real_array("matrix", matrix)
        self.private_ = seed is None
        self._generator = np.random.default_rng(seed)

    def message(self, x: Any, y: Any) -> np.ndarray:
        """What users with records x (n, p) and labels y (n,) send: (n, p), with the intercept (n, p + 1).

        One record may be given as (p,) and a number. Raises `DomainError` for shapes that do not fit and for what is
        not finite.
        """
        x, y = np.atleast_2d(real_array("x", x)), np.atleast_1d(real_array("y", y))
        if x.ndim != 2 or y.shape != (len(x),):
            raise DomainError("y", f"an array of shape {y.shape}", f"of shape ({len(x)},), as x is of shape {x.shape}")
        for name, values in (("x", x), ("y", y)):
            if not np.all(np.isfinite(values)):
                raise DomainError(name, "with values that are not finite", "finite numbers")
        rows = self._rows(x)
        sent = directions(rows, self._matrix(rows.shape[1])) * self.labels.score(y)[:, None]
        return noised(sent, self.settings, self._generator)

    def fit(self, messages: Any, public: Any) -> LocalGLM:
        """The coefficients from messages (n, q) and public records (m, p) of the same law of x, without labels.

        Raises `DomainError` for messages of another dimension or length than this survey's, and where no coefficients
        satisfy their equation: then there are too few of them, or the link is wrong.
        """
        sent, rows = real_array("messages", messages), real_array("public", public)
        if rows.ndim != 2 or not np.all(np.isfinite(rows)):
            raise DomainError("public", f"an array of shape {rows.shape}", "finite numbers of shape (m, p)")
        rows = self._rows(rows)
        q = rows.shape[1]
        if sent.ndim != 2 or sent.shape[1] != q or not len(sent) or not np.all(np.isfinite(sent)):
            raise DomainError("messages", f"an array of shape {sent.shape}", f"finite numbers of shape (n, {q})")
        if self.settings.noise != "gaussian":
            length = sphere(self.settings.noise, q, self.settings.epsilon).scale
            off = np.abs(np.linalg.norm(sent, axis=1) / length - 1.0).max()
            if not off <= ROUNDING:
                raise DomainError("messages", f"of a length {1 + off:.6g} times or less of it", f"of length {length:g}")
        found = solve(
            sent.mean(axis=0), rows, self.labels.link, matrix=self._matrix(q), label_bound=self._label_bound()
        )
        if not found.exists:
            remedy = "more users or a larger epsilon; or the link is not that of the labels"
            raise DomainError("messages", f"{len(sent)} messages", "such that their equation has a root", remedy)
        self.solution_, self.messages_, self.public_ = found, len(sent), len(rows)
        self.intercept_ = float(found.w[0]) if self.intercept else 0.0
        self.coef_ = found.w[1:] if self.intercept else found.w
        return self

    def content(self, names: Sequence[str] = ()) -> dict[str, Any]:
        """The fitted model as JSON data, with names of the coordinates of x. Raises `DomainError` before `fit`."""
        if not hasattr(self, "coef_"):
            raise DomainError("content", "asked for before fit", "asked for after it")
        if names and len(names) != len(self.coef_):
            raise DomainError("names", list(names), f"{len(self.coef_)} names")
        return {
            "kind": "generalised linear model",
            "link": self.labels.link.name,
            "columns": list(names) or [str(place) for place in range(len(self.coef_))],
            "coefficients": self.coef_.tolist(),
            "intercept": self.intercept_,
            "messages": self.messages_,
            "public": self.public_,
            "noise": self.settings.noise,
            "epsilon": self.settings.epsilon,
            "delta": self.settings.delta,
        }

    def _label_bound(self) -> float | None:
        return None if self.labels.link.labels == "binary" else self.labels.label_bound

    def _rows(self, x: np.ndarray) -> np.ndarray:
        return np.column_stack([np.ones(len(x)), x]) if self.intercept else x

    def _matrix(self, q: int) -> np.ndarray:
        if self.matrix is None:
            return np.eye(q)
        if self.matrix.shape != (q, q):
            raise DomainError("matrix", f"an array of shape {self.matrix.shape}", f"of shape {(q, q)}")
        return self.matrix
