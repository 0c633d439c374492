"""Beyond the paper: the pairs that an audit plans, listed by hand."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from dpbounds.audit import Box
from simulators.audit import neighbours
from simulators.audit.domains import _material, _pairs
from verify.checks import Agreement, Fact, Holds, Times, refused
from verify.statements.claims import Claim

# --- pairs ---


def _planned(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Which records stand in which places of which data sets, and how many pairs are kept."""
    records = [np.array([k + 0.5, 10.0 - 3 * k]) for k in range(8)]
    couples = list(itertools.combinations(records, 2))
    drawn = np.random.default_rng(7).permutation(len(couples))[:12]
    kept = dict.fromkeys([0, 1, 2, *drawn.tolist()])
    pairs = list(_pairs([np.zeros((1, 2))], records, "replace-one", np.random.default_rng(7)))
    sides = [[one.first[0], one.second[0]] for one in pairs]
    yield Fact("the first three couples of records, then twelve drawn", sides, [couples[k] for k in kept], 0)
    few = list(_pairs([np.zeros((1, 2))], records[:2], "replace-one", np.random.default_rng(7)))
    yield Fact("two records are one couple", [[one.first[0], one.second[0]] for one in few], [records[:2]], 0)
    bases = [np.full((7, 2), 9.0), np.full((4, 2), -9.0)]
    for adjacency, words in (("zero-out", "record {} set to 0"), ("add-remove", "record {} of {} removed")):
        found = list(_pairs(bases, records[:2], adjacency, np.random.default_rng(7)))
        stated = [(base, place, record) for base in (0, 1) for place in ((0, 6, 3), (0,))[base] for record in (0, 1)]
        yield Holds(f"{adjacency}: places", [one.place for one in found] == [place for _, place, _ in stated])
        for one, (base, place, record) in zip(found, stated, strict=True):
            data, label = bases[base].copy(), words.format(place, len(bases[base]))
            data[place] = records[record]
            less = np.delete(data, place, axis=0) if adjacency == "add-remove" else data * (data != data[place])
            yield Fact(label, one.first, data, 0)
            yield Fact("its neighbour", one.second, less, 0)
            yield Holds("its words", one.label == label)
    wide, own = Box(shape=(5, 60)), np.random.default_rng(3)
    pairs = neighbours(wide, "zero-out", np.random.default_rng(3))
    bases, records = wide.bases(own), wide.records(own)
    yield Fact(
        "the first eight pairs", [one.first for one in pairs[:8]], [_placed(bases[0], one) for one in records[:8]]
    )
    contents = {(one.place, one.first.tobytes()) for one in pairs}
    yield Fact("pairs of one audit, none twice", [len(pairs), len(contents), len(records)], [120, 120, 24], 0)
    yield refused(
        "a box of one record", "domain", lambda: neighbours(Box(shape=(4,), low=3, high=3), "replace-one", rng)
    )
    yield from _columns()


def _placed(base: np.ndarray, record: np.ndarray) -> np.ndarray:
    return np.vstack([record, base[1:]])


def _columns() -> Iterator[Fact | Holds]:
    """Records of several columns, and of examples."""
    X, y, fixed = Box(shape=(4, 2), low=0, high=1), Box(shape=(4,), low=-1, high=2), Box(shape=(4,), low=3, high=3)
    bases, records = _material({"X": X, "y": y, "c": fixed}, np.random.default_rng(5))
    plain = [[*one["X"].tolist(), float(one["y"]), float(one["c"])] for one in records]
    stated = [[1, 1, 2, 3], [0, 0, -1, 3], [1, 1, -1, 3], [0, 0, 2, 3]]
    yield Fact("columns: both high, both low, mixed, one fixed", plain[:4], stated, 0)
    # Of X there are five records, of y four.
    yield Fact("as many drawn as the longest column has", len(records), 4 + 5, 0)
    known = ({(1, 1), (0, 0), (0.5, 0.5), (1, 0), (0, 1)}, {2.0, -1.0, 0.5, 0.0})
    yield Holds("drawn of each", all(tuple(row[:2]) in known[0] and row[2] in known[1] for row in plain[4:]))
    yield Fact(
        "data sets",
        [[*base["X"][2], base["y"][2]] for base in bases[1:]],
        [[0, 0, 0], [1, 1, 2], [0, 0, -1], [0, 0, -1]],
        0,
    )
    examples = [np.arange(7.0 * 2).reshape(7, 2) + 100 * k for k in range(5)]
    found = _material(examples, np.random.default_rng(5))[1]
    yield Fact("records of examples", found, np.concatenate([one[:6] for one in examples])[:24], 0)
    deep = Box(shape=(5, 2, 3), low=-2, high=np.array([1.0, 4.0, 7.0]))
    high, low = np.tile([1.0, 4.0, 7.0], (2, 1)), np.full((2, 3), -2.0)
    turns = np.array([[True, False, True], [False, True, False]])
    records = [high, low, (high + low) / 2, 0 * low, np.where(turns, high, low), np.where(turns, low, high)]
    yield Fact("records of two axes", deep.records(np.random.default_rng(5))[:6], records)
    corners = Box(shape=(2, 60), low=-1.0, high=2.0).records(np.random.default_rng(5))[6:9]
    fair = np.where(np.random.default_rng(5).random((3, 60)) < 0.5, -1.0, 2.0)
    yield Fact("corners drawn by fair coins", corners, fair, 0)
    halves = np.stack([low, high, low, high, low])
    yield Fact("half and half", deep.bases(np.random.default_rng(5))[4], halves, 0)


BEYOND_AUDIT_SEARCHES = Claim(
    id="ftrl/beyond-audit-searches",
    where="beyond the paper: pairs that audits plan",
    kind="privacy",
    statement=("The pairs that an audit plans are those of its records, in the places and data sets that are listed.",),
    checks=(Agreement(facts=_planned, impostors={"1e-3 off": {"facts": Times(1.001)}}),),
)
