"""Files for training libraries: what stands in them, read back without the libraries; what is refused."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.ftrl.design import Blt, Objective, Participation, best
from dpbounds.ftrl.design.exports import export
from simulators.ftrl.design_files import design_bytes, read_design
from tests.exports.designs import DESIGNS, STEPS
from verify.cli.design import exporting


@pytest.mark.parametrize("name", DESIGNS)
def test_what_is_written_is_read_back(name, tmp_path):
    written = export(DESIGNS[name], STEPS, "npz", rho=0.4, participation=Participation.min_separation(2, 6))
    (file,) = exporting.write(written, tmp_path / "noise.npz")
    read = read_design(file)
    np.testing.assert_array_equal(read.stream.encoder(), written.stream.encoder())
    for field in (
        "noise_multiplier",
        "rho",
        "sensitivity",
        "unscaled_sensitivity",
        "value",
        "participation",
        "consumer",
    ):
        assert getattr(read, field) == getattr(written, field)
    assert (read.sensitivity.kind, read.sensitivity.source) == (written.sensitivity.kind, written.sensitivity.source)
    assert design_bytes(read) == file.read_bytes()


def test_other_programs_can_read_the_arrays(tmp_path):
    (file,) = exporting.export(DESIGNS["scaled BLT"], "npz", tmp_path / "noise.npz", steps=STEPS)
    with np.load(file, allow_pickle=False) as arrays:
        assert {"meta", "before", "after", "buf_decay", "output_scale"} == set(arrays.files)
        np.testing.assert_array_equal(arrays["buf_decay"], [0.97, 0.8, 0.3])


@pytest.mark.parametrize("consumer", ["jax-privacy", "opacus"])
@pytest.mark.parametrize("name", DESIGNS)
def test_modules_are_python_with_the_numbers_of_the_design(name, consumer, tmp_path):
    design = export(DESIGNS[name], STEPS, consumer, rho=0.4, participation=Participation.cyclic(3, 6))
    module, archive = exporting.write(design, tmp_path / "it's noise.py")
    assert archive == module.with_suffix(".npz")
    tree = ast.parse(module.read_text(encoding="utf-8"))
    constants = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.List)
    }
    assert constants["STEPS"] == STEPS
    assert constants["SENSITIVITY"] * constants["EVENT_MULTIPLIER"] == design.noise_multiplier
    if name == "scaled BLT" and consumer == "jax-privacy":
        assert constants["BUF_DECAY"] == [0.97, 0.8, 0.3]
        assert constants["UNSCALED_SENSITIVITY"] == float(design.unscaled_sensitivity) > 1
    said = ast.get_docstring(tree)
    assert "3 times at most, exactly 6 steps apart" in said
    assert "zero-out" in said
    assert max(len(line) for line in module.read_text(encoding="utf-8").splitlines()) <= 120


def test_a_name_stays_inside_its_string(tmp_path):
    """Labels are the caller's: none of them may end the module's docstring, or add a line of code."""
    for label in ('end""" + print(1) + """', "back\\slash\\", 'quote"', "two\nlines = 1", "braces {0}"):
        mechanism = Blt((0.5,), (0.2,), label)
        module, _ = exporting.export(mechanism, "jax-privacy", tmp_path / "noise.py", steps=4)
        tree = ast.parse(module.read_text(encoding="utf-8"))
        plain = exporting.source(export(Blt((0.5,), (0.2,), "name"), 4, "jax-privacy"), "noise.npz")
        assert ast.dump(ast.Module(tree.body[1:], [])) == ast.dump(ast.Module(ast.parse(plain).body[1:], []))


def test_a_design_says_its_own_steps_and_participation(tmp_path):
    objective = Objective(np.array([1.0, 0.2]), 16, 0.3)
    design = best(objective, Participation.min_separation(2, 4), buffers=2)
    (file,) = exporting.export(design, "npz", tmp_path / "noise.npz", rho=0.5)
    read = read_design(file)
    assert read.participation == Participation.min_separation(2, 4)
    assert read.value == pytest.approx(float(design.value))


def test_bad_files_are_refused(tmp_path):
    design = export(DESIGNS["BLT"], STEPS, "jax-privacy")
    for path in (tmp_path / "noise.npz", tmp_path / "noise", tmp_path / "none" / "noise.py"):
        with pytest.raises(DomainError, match="out"):
            exporting.write(design, path)
    assert not list(tmp_path.iterdir())


def test_bad_archives_are_refused(tmp_path):
    whole = design_bytes(export(DESIGNS["BLT"], STEPS, "npz"))
    contents = {
        "cut": whole[: len(whole) // 2],
        "empty": b"",
        "text": b"noise",
        "one array": None,
        "pickle": None,
    }
    for name, content in contents.items():
        file = tmp_path / f"{name}.npz"
        if content is not None:
            file.write_bytes(content)
        elif name == "pickle":
            np.savez(file, meta=np.array({"format": "x"}, dtype=object))
        else:
            np.savez(file, meta=np.array('{"format": "other"}'))
        with pytest.raises(DomainError, match="design"):
            read_design(file)
    with pytest.raises(DomainError, match="design"):
        read_design(tmp_path / "missing.npz")
