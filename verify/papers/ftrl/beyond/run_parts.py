"""Beyond the paper: parts of runs and of searches for bad losses, each by its definition; how tables are read."""

from __future__ import annotations

import dataclasses
import gzip
import math
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dpbounds import DomainError
from dpbounds.ftrl.correlations import independent, nu
from dpbounds.ftrl.design import Objective, unit_columns
from dpbounds.ftrl.linear_regression import Regression
from dpbounds.ftrl.methods import gradient_descent
from dpbounds.ftrl.strongly_convex import Noise
from simulators.engine import Streams
from simulators.ftrl import DesignedTraining, designed_training
from simulators.ftrl.adversarial import _Arena
from simulators.ftrl.adversarial_methods import adversarial_method_lower
from simulators.ftrl.designed import problem_of
from simulators.ftrl.evolution import RIDGES, Decoder
from simulators.ftrl.first_order import _errors
from simulators.ftrl.losses import Logistic
from simulators.ftrl.piecewise import PiecewiseQuadratic, curvature_range, kinked_quadratic, piecewise_quadratic
from simulators.ftrl.rehearsals import STEP, regression_rehearsal
from simulators.ftrl.settings import Settings
from simulators.ftrl.strongly_convex import StronglyConvexLoss, stationary_settings, strongly_convex
from simulators.noise.recursions import _least_squares
from simulators.tables import Table, number_rows, read_columns, read_table, read_texts
from verify.checks import Agreement, Fact, Holds, Times, Within, refused
from verify.papers.ftrl.beyond.exact import OURS
from verify.papers.ftrl.beyond.run_blocks import of_blocks
from verify.papers.ftrl.beyond.run_losses import of_noise, of_rehearsals, on_losses
from verify.papers.ftrl.beyond.run_searches import of_searches
from verify.papers.ftrl.beyond.run_steps import on_fresh_records, on_records
from verify.statements.claims import Claim

_OFF = {"1 % off": {"facts": Times(1.01)}}


# --- runs ---


def _streams() -> Streams:
    return Streams(**{name: np.random.default_rng(4) for name in ("noise", "data", "initial")})


def _runs(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """Gradients of other inputs record by record; errors on the sphere; the work of a rehearsal; a fitted recursion."""
    objective = Objective(np.array([1.0, 0.3]), 1, eta=0.4, batch_size=5, initial=2.0, sigma_sgd=0.5)
    for inputs in ("sign", "skewed"):
        problem = dataclasses.replace(problem_of(objective), inputs=inputs)
        settings = DesignedTraining(objective=objective, mechanism=unit_columns(independent(), 1), rho=1e20)
        found = designed_training(problem, settings, _streams(), 3)["theta"]
        data, start = _streams().data, np.full(2, math.sqrt(2.0))
        x = problem.draw(data, (3, 5))
        residuals = x @ start - 0.5 * data.standard_normal((3, 5))
        gradient = np.array([np.mean(r[:, None] * rows, axis=0) for r, rows in zip(residuals, x, strict=True)])
        yield Fact(f"one step with {inputs} inputs", found, start - 0.4 * gradient, 1e-8)
    loss = Logistic(mu=0.2, L=1.0, dimension=2, seed=3)
    yield Within("a minimiser that is not 0", float(np.linalg.norm(loss.minimiser)), 0.1)
    quiet = Settings(correlation=independent(), eta=1.0, rho=1e20, steps=200, clipping=False)
    ended = strongly_convex(StronglyConvexLoss(loss=loss, initial=(1.0, -2.0)), quiet, _streams(), 2)
    yield Within("without noise the end is the minimiser", float(np.abs(ended["theta"]).max()), 0.0, 1e-6)
    yield Within("and its loss the least", float(np.abs(ended["loss"]).max()), 0.0, 1e-9)
    draws = _errors(1.7, (4000, 2), np.random.default_rng(3))
    yield Fact("errors of one size", np.linalg.norm(draws, axis=1), np.full(4000, 1.7))
    yield Within("in all directions", float(np.linalg.norm(draws.mean(axis=0))), 0.0, 0.1)
    made = regression_rehearsal(nu(0.5), Regression(eigenvalues=np.array([1.0, 0.5]), eta=0.3, rho=0.5), steps=40)
    block = made.experiment.block_trials
    numbers = [2 * (block * 40 * 5 + STEP * 40), block * 40 * 5 + STEP * 40]
    yield Fact("work of a block and one more, and of one", [made.work(block + 1), made.work(1)], numbers, 0.0)
    Q = np.linalg.qr(np.random.default_rng(5).standard_normal((9, 3)))[0]
    fitted = np.linalg.lstsq(Q[:-1], Q[1:], rcond=None)[0]
    yield Fact("the recursion of least squares", _least_squares(Q[:-1].T @ Q[1:], Q[-1]), fitted, 1e-10)


def _losses(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """Losses of the search lie in their class; ridges by their angles; distances of quadratics by their exact error."""
    for offsets in ((0.2, -0.1), (-0.1, 0.2)):
        ridged: dict[str, Any] = {"curvature": 1.0, "directions": ((1.0, 0.0), (0.6, 0.8)), "weights": (0.3, 0.1)}
        yield refused(
            f"offsets {offsets}", "offsets", lambda given=ridged, b=offsets: PiecewiseQuadratic(**given, offsets=b)
        )
    plane = Decoder(0.1, 2.0, 2, (0.5, 1.5), 0.5)
    for seed in range(4):
        genes = np.random.default_rng(seed).random(1 + 3 * RIDGES)
        loss = plane(genes)
        turned = 2 * math.pi * genes[1 + 2 * RIDGES :]
        directions, offsets = np.array(loss.directions), np.array(loss.offsets)
        yield Fact(f"loss {seed}: directions", directions, np.transpose([np.cos(turned), np.sin(turned)]))
        yield Fact(f"loss {seed}: offsets", np.log(offsets), np.log(0.05) + genes[1 : 1 + RIDGES] * np.log(90.0))
        eigenvalues = []
        for point in 9.0 * np.random.default_rng(9).standard_normal((4000, 2)):
            active = (directions @ point > offsets) * np.array(loss.weights)
            eigenvalues.append(np.linalg.eigvalsh(loss.curvature * np.eye(2) + (directions.T * active) @ directions))
        yield Within(f"loss {seed}: least curvature", float(np.min(eigenvalues)), 0.1 - 1e-9)
        yield Within(f"loss {seed}: largest curvature", float(np.max(eigenvalues)), 0.0, 2.0 + 1e-9)
    curvatures, errors = np.array([0.1, 0.5, 2.5]), np.array([0.3, 2.0, 1.0])
    made = Decoder.of(curvatures, errors, 2)
    yield Fact("the worst quadratic's gene", [made.mu, made.L, made.d, made.worst], [0.1, 2.5, 2, 0.5])
    sizes = np.sqrt(2 * errors / curvatures / 2)
    yield Fact("deviations of quadratics", made.deviations, [min(sizes), max(sizes)])
    one = curvature_range(0.3, np.array([[0.6, 0.8]]), np.array([0.5]), np.array([1.2]))
    yield Fact("one ridge", one, [0.3, 1.5])
    settings = stationary_settings(kinked_quadratic(0.5, 2.0), nu(0.3), 0.4, 0.5)
    arena, curvatures = _Arena(settings, 0.5, 1), np.array([0.5, 1.0, 2.0])
    quadratics = [piecewise_quadratic([1.0], [h, h]) for h in curvatures]
    means = arena.means(quadratics, 4000, np.random.default_rng(7))
    yield Fact("time averages of quadratics", means, arena.quadratic_errors(nu(0.3), curvatures), 0.05)
    # The worst distance under white noise is that of the flattest quadratic, eta / (2 - eta mu) / mu for each draw.
    options: dict[str, Any] = {"mu": 0.5, "L": 0.5001, "measure": "distance", "population": 24, "generations": 1}
    noise = Noise(correlation=independent(), rho=0.5)
    found = adversarial_method_lower(noise, gradient_descent(eta=0.5), search_trials=8, trials=400, seed=3, **options)
    yield Fact("distance of a quadratic", float(found.value), 0.5 / (2 - 0.25) / 0.5, 0.1)


# --- tables ---


def _tables(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Headers, blanks, gaps and texts, by file and by text; what is said of them."""
    text = "a, b ,c\n1,2,3\n\n4,,6\n7,8e1,-9\n"
    with tempfile.TemporaryDirectory() as folder:

        def file(content: str, name: str = "t.csv") -> Path:
            path = Path(folder) / name
            path.write_bytes(gzip.compress(content.encode()) if name.endswith("gz") else content.encode())
            return path

        for name in ("t.csv", "t.csv.gz"):
            table = read_table(file(text, name))
            yield Fact(f"{name}: complete rows", table.rows, [[1, 2, 3], [7, 80, -9]], 0.0)
            yield Fact(f"{name}: rows dropped", table.dropped, 1, 0.0)
            yield Holds(f"{name}: names", table.names == ("a", "b", "c"))
        plain = read_table(file("a,b\n1,2\n3,4\n"))
        yield Fact("without gaps", plain.rows, [[1, 2], [3, 4]], 0.0)
        rest, target = plain.split("b")
        yield Fact("split", np.column_stack([rest, target]), plain.rows, 0.0)
        some = read_columns(file(text), ["c", "a"], drop_missing=True)
        yield Fact("named columns alone", some.values, [[3, 1], [6, 4], [-9, 7]], 0.0)
        progress: list[tuple[int, int, str]] = []
        long = file("a\n" + "1\n" * 100_000)
        read_columns(long, ["a"], drop_missing=True, report=lambda *now: progress.append(now))
        size = long.stat().st_size
        yield Holds("progress, every 100,000 records", progress == [(size - 1, size, "100000 records")])
        cells = [(line, cell) for line, (cell,) in read_texts(file(text), ["b"])]
        yield Holds("texts and lines", cells == [(2, "2"), (4, ""), (5, "8e1")])
        calls: dict[str, tuple[str, str]] = {
            "a text": ("a,b\n1,2\n3,x\n", "t.csv, line 3, column b"),
            "nothing complete": ("a,b\n,2\n1,\n", "file"),
            "a header alone": ("a,b\n", "file"),
            "a name twice": ("a,a\n1,2\n", "file"),
            "other separators": ("a;b\n1;2\n", "file"),
            "a longer record": ("a,b\n1,2\n1,2,3\n", "t.csv, line 3"),
            "longer records alone": ("a,b\n1,2,3\n4,5,6\n", "t.csv, line 2"),
            "an infinite number": ("a,b\n1,inf\n", "t.csv, line 2, column b"),
        }
        for label, (content, parameter) in calls.items():
            yield refused(label, parameter, lambda content=content: read_table(file(content)))
        yield Fact("a record of gaps alone counts", read_table(file("a,b\n1,2\n,\n")).dropped, 1, 0.0)
        names = [f"c{k}" for k in range(21)]
        wide, less = (Table(names=tuple(names[:k]), rows=np.zeros((1, k))) for k in (21, 20))
        remedy = "code text as numbers, such as 0 and 1, and leave it empty where a value is missing"
        comma = "this is a decimal comma, and decimals are written with a point"
        semicolons = "it has semicolons; write decimals with points, and columns apart by commas"
        gaps = "missing in 1 of 3 records: --drop-missing leaves them out"
        holes = file("a,b\n1,\n,2\n3,4\n", "holes.csv")
        told: dict[str, Callable[[], Any]] = {
            f"a number; {gaps}": lambda: read_columns(holes, ["a"], drop_missing=False),
            f"a finite number; {remedy}": lambda: read_table(file("a,b\n1,x\n")),
            f"a finite number; {comma}": lambda: read_table(file('a,b\n1,"1,5"\n')),
            f"a CSV file whose columns are separated by commas; {semicolons}": lambda: read_table(file("a;b\n1;2\n")),
            f"one of the columns {', '.join(names[:20])}": lambda: less.column("y"),
            f"one of the columns {', '.join(names[:20])}, ...": lambda: wide.column("y"),
            "the name of one column; 2 columns have it": lambda: read_columns(
                file("a,b,a\n1,2,3\n"), ["a"], drop_missing=True
            ),
        }
        for words, call in told.items():
            yield Holds(f"it must be {words}", _words(call).endswith(f" is not allowed: it must be {words}"))
        path = file(text)
        yield refused("a gap", "t.csv, line 4, column b", lambda: read_table(path, drop_missing=False))
    for label, given, rows in (
        ("blanks, commas and a heading", "x y\n1, 2\n\n3 4\n", [[1, 2], [3, 4]]),
        ("a row alone", "1 2\n", [[1, 2]]),
        ("a row below a heading", "x y\n1 2\n", [[1, 2]]),
        ("numbers alone", "1 2\n3 4", [[1, 2], [3, 4]]),
    ):
        yield Fact(label, number_rows(given), rows, 0.0)
    yield Holds("a heading alone is no number", _raises(lambda: number_rows("x y\n")))
    yield Holds("nor is one number in a heading", _raises(lambda: number_rows("x 1\n2 3\n")))


def _words(call: Callable[[], Any]) -> str:
    """What a refusal says."""
    try:
        call()
    except DomainError as error:
        return str(error)
    return ""


def _raises(call: Callable[[], Any]) -> bool:
    try:
        call()
    except ValueError:
        return True
    return False


RUN_PARTS = Claim(
    id="ftrl/beyond-run-parts",
    where=f"{OURS}: parts of runs and searches",
    kind="algorithm",
    statement=(
        "Runs of other inputs take the gradients of their records, and errors of gradients have the stated size;",
        (
            "losses of the search lie in their class, with ridges at the angles and offsets of their genes, and each "
            "generation is made of the best of those before it and of their children;"
        ),
        "tables are read as they stand, and what cannot be read is refused by file, line and column;",
        "runs are their recursions step by step, for batches of every order, fresh records, losses, searches and "
        "games, in blocks that are held at a time, and rehearsals are as long as they say, in their units.",
    ),
    checks=(
        Agreement(decides="a", facts=_runs, impostors=_OFF),
        Agreement(decides="b", facts=_losses, impostors=_OFF),
        Agreement(decides="b", facts=of_searches, impostors=_OFF),
        Agreement(decides="c", facts=_tables, impostors=_OFF),
        Agreement(decides="d", facts=on_records, impostors=_OFF),
        Agreement(decides="d", facts=on_fresh_records, impostors=_OFF),
        Agreement(decides="d", facts=on_losses, impostors=_OFF),
        Agreement(decides="d", facts=of_noise, impostors=_OFF),
        Agreement(decides="d", facts=of_rehearsals, impostors=_OFF),
        Agreement(decides="d", facts=of_blocks, impostors=_OFF),
    ),
)
