"""Whether what `dpbounds solve iv` calls reliable is: `python -m tests.power.predictions --help`.

Random settings (n, p, q, strengths, Cov z, errors, budgets, T, step sizes, clip norms) are predicted and simulated. The
simulated median of the error is to be within 10 % of the predicted one wherever the prediction is called reliable.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter

import numpy as np

from simulators.engine import Experiment
from simulators.iv import two_stage_descent
from verify.cli.solve.simulating import median_interval, simulate
from verify.papers.iv.tools.random_runs import PlannedRun, random_run

WITHIN = 0.1
# Trials of a setting at most, in units of those asked for: until the interval is on one side of 10 %.
LOOKS = (1, 4)


def main() -> int:
    """Print each setting and the counts; 1 if a reliable prediction was more than 10 % off."""
    arguments = _arguments()
    rng, counts = np.random.default_rng(arguments.seed), Counter()
    reliable = 0
    while reliable < arguments.count:
        one = random_run(rng, records=(300.0, arguments.records))
        forecast = one.forecast()
        counts["settings"] += 1
        counts["void"] += forecast.median is None
        if forecast.median is None or not (forecast.reliable or arguments.all):
            counts["not reliable"] += forecast.median is not None
            continue
        reliable += forecast.reliable
        kind = "reliable" if forecast.reliable else "not reliable"
        ratio, verdict = _judged(one, forecast.median, arguments.trials, arguments.seed)
        counts[kind] += 1
        counts[f"{kind}: {verdict}"] += 1
        measures = f"theta_noise {forecast.theta_noise:.2f}, sampling {forecast.sampling:.2f}, clipped "
        measures += f"{forecast.clipped_theta:.3f} {forecast.clipped_beta:.3f}"
        print(f"{one.words}: {measures}; simulated / predicted {ratio}, {kind}, {verdict}", flush=True)
    print("; ".join(f"{name}: {number}" for name, number in sorted(counts.items())))
    return 1 if counts["reliable: outside"] else 0


def _judged(one: PlannedRun, predicted: float, trials: int, seed: int) -> tuple[str, str]:
    """The ratio with its interval (99.7 %), and where that is: `within` 10 %, `outside`, or `open`, about the limit."""
    experiment = Experiment(
        algorithm=two_stage_descent, problem=one.model, settings=one.settings, block_trials=max(trials // 4, 1)
    )
    shown, verdict = "", "open"
    for look in LOOKS:
        arrays = simulate({0: experiment}, look * trials, seed=seed, outputs=("error_hat",))[0]
        value, low, high = (end / predicted for end in median_interval(arrays["error_hat"], 0.997))
        shown = f"{value:.3f} ({low:.3f} ... {high:.3f})"
        if low >= 1 - WITHIN and high <= 1 + WITHIN:
            return shown, "within"
        if high < 1 - WITHIN or low > 1 + WITHIN:
            return shown, "outside"
        verdict = "open, nearer to within" if abs(math.log(value)) < math.log(1 + WITHIN) else "open, nearer to outside"
    return shown, verdict


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.power.predictions", description=__doc__)
    parser.add_argument("--count", type=int, default=60, help="reliable settings (default: 60)")
    parser.add_argument("--trials", type=int, default=800, help="runs of each, or four times as many (default: 800)")
    parser.add_argument("--records", type=float, default=3000.0, help="n at most (default: 3000)")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same settings and numbers (default: 0)")
    parser.add_argument("--all", action="store_true", help="simulate what is not called reliable too")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
