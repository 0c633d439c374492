"""A survey: the users' side and the server's."""

from __future__ import annotations

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.private import LocalGLM


@pytest.mark.parametrize("link", ["logistic", "poisson", "sigmoid"])
@pytest.mark.parametrize("noise", ["cap", "gaussian"])
def test_coefficients_come_back(link, noise):
    """2e5 users at epsilon = 4: the predicted squared error is below .01 everywhere."""
    rng, w = np.random.default_rng(0), np.array([0.6, -0.4])
    x, public = rng.standard_normal((200_000, 2)), rng.standard_normal((10_000, 2))
    z = 0.3 + x @ w
    y = rng.poisson(np.exp(z)) if link == "poisson" else 1 / (1 + np.exp(-z))
    y = (rng.random(len(z)) < y) if link == "logistic" else y
    survey = LocalGLM(
        link=link, epsilon=4.0, noise=noise, delta=1e-6 if noise == "gaussian" else None, intercept=True, seed=1
    )
    survey.fit(survey.message(x, y), public)
    assert survey.coef_ == pytest.approx(w, abs=0.15) and survey.intercept_ == pytest.approx(0.3, abs=0.15)
    assert survey.messages_ == 200_000 and not survey.private_


def test_same_seed_same_messages_and_none_without():
    x, y = np.ones((5, 2)), np.ones(5)
    first, again = (LocalGLM(link="logistic", epsilon=1.0, seed=3).message(x, y) for _ in range(2))
    assert np.array_equal(first, again)
    one, two = (LocalGLM(link="logistic", epsilon=1.0).message(x, y) for _ in range(2))
    assert not np.array_equal(one, two)


def test_what_is_refused():
    survey = LocalGLM(link="logistic", epsilon=1.0, seed=0)
    x, y = np.random.default_rng(0).standard_normal((50, 2)), np.ones(50)
    for bad in ((x, y[:3]), (np.where(x > 2, np.nan, x * 0 + np.nan), y), (x, y * np.inf), ("ab", y)):
        with pytest.raises(DomainError):
            survey.message(*bad)
    sent = survey.message(x, y)
    for messages in (sent[:, :1], 2 * sent, sent * np.nan, sent[:0]):
        with pytest.raises(DomainError, match="messages"):
            survey.fit(messages, x)
    with pytest.raises(DomainError, match="root"):
        survey.fit(np.tile(sent[:1], (50, 1)), x)
    with pytest.raises(DomainError, match="delta"):
        LocalGLM(link="logistic", epsilon=1.0, noise="gaussian")
    with pytest.raises(DomainError, match="link"):
        LocalGLM(link="cubic", epsilon=1.0)
