"""Files for training libraries: what stands in them, read back without the libraries; what is refused."""

from __future__ import annotations

import ast
import io

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.ftrl.design import Blt, Participation
from dpbounds.ftrl.design.exports import archive, design_of, export, exported_files, source
from dpbounds.ftrl.design.exports.files import file_names
from tests.exports.designs import DESIGNS, STEPS, written


@pytest.mark.parametrize("name", DESIGNS)
def test_what_is_written_is_read_back(name):
    design = export(DESIGNS[name], STEPS, "npz", rho=0.4, participation=Participation.min_separation(2, 6))
    (content,) = exported_files(design, "noise.npz").values()
    read = design_of(content)
    np.testing.assert_array_equal(read.stream.encoder(), design.stream.encoder())
    for field in (
        "noise_multiplier",
        "rho",
        "sensitivity",
        "unscaled_sensitivity",
        "value",
        "participation",
        "consumer",
    ):
        assert getattr(read, field) == getattr(design, field)
    assert (read.sensitivity.kind, read.sensitivity.source) == (design.sensitivity.kind, design.sensitivity.source)
    assert archive(read) == content


def test_other_programs_can_read_the_arrays():
    content = exported_files(export(DESIGNS["scaled BLT"], STEPS, "npz"), "noise.npz")["noise.npz"]
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        assert {"meta", "before", "after", "buf_decay", "output_scale"} == set(arrays.files)
        np.testing.assert_array_equal(arrays["buf_decay"], [0.97, 0.8, 0.3])


@pytest.mark.parametrize("consumer", ["jax-privacy", "opacus"])
@pytest.mark.parametrize("name", DESIGNS)
def test_modules_are_python_with_the_numbers_of_the_design(name, consumer, tmp_path):
    design = export(DESIGNS[name], STEPS, consumer, rho=0.4, participation=Participation.cyclic(3, 6))
    module, beside = written(design, tmp_path / "it's noise.py")
    assert beside == module.with_suffix(".npz")
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


def test_a_name_stays_inside_its_string():
    """Labels are the caller's: none of them may end the module's docstring, or add a line of code."""
    braces = ("braces {0}", "$steps ${archive} $")
    for label in ('end""" + print(1) + """', "back\\slash\\", 'quote"', "two\nlines = 1", *braces):
        mechanism = Blt((0.5,), (0.2,), label)
        tree = ast.parse(source(export(mechanism, 4, "jax-privacy"), "noise.npz"))
        plain = source(export(Blt((0.5,), (0.2,), "name"), 4, "jax-privacy"), "noise.npz")
        assert ast.dump(ast.Module(tree.body[1:], [])) == ast.dump(ast.Module(ast.parse(plain).body[1:], []))


def test_names_with_another_suffix_are_refused():
    design = export(DESIGNS["BLT"], STEPS, "jax-privacy")
    for name in ("noise.npz", "noise", "noise.py.txt"):
        with pytest.raises(DomainError, match="out"):
            exported_files(design, name)


def test_a_name_with_its_folder():
    assert list(exported_files(export(DESIGNS["BLT"], STEPS, "npz"), "./noise.npz")) == ["noise.npz"]
    assert file_names("opacus", "a/noise.py") == ("a/noise.npz", "a/noise.py")


def test_bad_archives_are_refused():
    whole = archive(export(DESIGNS["BLT"], STEPS, "npz"))
    pickled, other = io.BytesIO(), io.BytesIO()
    np.savez(pickled, meta=np.array({"format": "x"}, dtype=object))
    np.savez(other, meta=np.array('{"format": "other"}'))
    for content in (whole[: len(whole) // 2], b"", b"noise", pickled.getvalue(), other.getvalue()):
        with pytest.raises(DomainError, match="design"):
            design_of(content)
