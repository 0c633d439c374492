"""What the paper states, for sensitivity 1: a sigma is in units of the sensitivity. `m` is the arithmetic."""


def classical(m, epsilon, delta):
    """The standard deviation of Theorem 1, sqrt(2 log(1.25 / delta)) / epsilon."""
    return m.sqrt(2 * m.log(m.number("1.25") / delta)) / epsilon


def for_zero_epsilon(m, delta):
    """The standard deviation that gives (0, delta)-DP by Section 2.1, 1 / (2 delta)."""
    return 1 / (2 * delta)


def loss_above(m, epsilon, sigma):
    """Lemma 6: the chance that the privacy loss of neighbours at distance 1 is epsilon or more."""
    return m.ndtr(1 / (2 * sigma) - epsilon * sigma)


def loss_below(m, epsilon, sigma):
    """Lemma 6: the chance that the loss of the neighbours in the other order is -epsilon or less."""
    return m.ndtr(-1 / (2 * sigma) - epsilon * sigma)


def delta(m, epsilon, sigma):
    """Theorem 8: the least delta of the Gaussian mechanism."""
    return loss_above(m, epsilon, sigma) - m.exp(epsilon) * loss_below(m, epsilon, sigma)


def start(m, epsilon):
    """Algorithm 1: delta at sigma = 1 / sqrt(2 epsilon), where its two branches meet."""
    return 0.5 - m.exp(epsilon) * m.ndtr(-m.sqrt(2 * epsilon))


def more_noise(m, epsilon, u):
    """Algorithm 1: delta where sigma is `wide(u)` / sqrt(2 epsilon)."""
    return m.ndtr(-m.sqrt(epsilon * u)) - m.exp(epsilon) * m.ndtr(-m.sqrt(epsilon * (u + 2)))


def less_noise(m, epsilon, v):
    """Algorithm 1: delta where sigma is `narrow(v)` / sqrt(2 epsilon)."""
    return m.ndtr(m.sqrt(epsilon * v)) - m.exp(epsilon) * m.ndtr(-m.sqrt(epsilon * (v + 2)))


def wide(m, u):
    """Algorithm 1: the factor alpha of more noise."""
    return m.sqrt(1 + u / 2) + m.sqrt(u / 2)


def narrow(m, v):
    """Algorithm 1: the factor alpha of less noise."""
    return m.sqrt(1 + v / 2) - m.sqrt(v / 2)


def bayes_risk(d, width, sigma):
    """Section 4: squared error of the best denoiser of d coordinates drawn with standard deviation `width`."""
    return d * sigma**2 * width**2 / (width**2 + sigma**2)


def james_stein_risk(d, width, sigma):
    """Section 4: the same of James and Stein's denoiser, which does not know `width`; d >= 3."""
    return d * sigma**2 - (d - 2) * sigma**4 / (width**2 + sigma**2)
