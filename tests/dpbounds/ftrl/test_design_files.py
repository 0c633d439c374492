"""Files for training libraries: what stands in them, read back without the libraries; what is refused."""

from __future__ import annotations

import ast
import io
from dataclasses import replace

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.ftrl.design import Blt, Objective, Participation
from dpbounds.ftrl.design.exports import archive, design_of, export, exported_files, source
from dpbounds.ftrl.design.exports.files import file_names
from dpbounds.values import Value
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


@pytest.mark.parametrize("consumer", ["jax-privacy", "opacus"])
def test_every_number_is_a_literal_and_settings_are_held(consumer):
    """NumPy's floats print their class; whatever the caller gives, the module has Python's."""
    rates = np.linspace(0.5, 0.1, STEPS)
    objective = Objective(np.ones(2), STEPS, schedule=rates, batch_size=7)
    design = export(
        Blt((np.float64(0.5),), (np.float64(0.2),)),
        STEPS,
        consumer,
        event_multiplier=np.float64(2.0),
        objective=objective,
        clip_norm=np.float64(1.5),
    )
    code = exported_files(design, "noise.py")["noise.py"].decode()
    assert "np.float64(" not in code
    numbers = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(code).body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.List)
    }
    held = [numbers[name] for name in ("EVENT_MULTIPLIER", "CLIP_NORM", "BATCH_SIZE", "ETA")]
    assert held == [2.0, 1.5, 7, 0.5]
    assert numbers["LEARNING_RATES"] == rates.tolist()
    read = design_of(archive(design))
    np.testing.assert_array_equal(read.learning_rates, rates)
    assert (read.clip_norm, read.batch_size) == (1.5, 7)
    plain = exported_files(export(DESIGNS["BLT"], STEPS, consumer), "noise.py")["noise.py"].decode()
    assert "CLIP_NORM = None" in plain and "LEARNING_RATES = None" in plain


@pytest.mark.parametrize("label", ["nul\0", "lone \ud800"])
def test_labels_that_no_module_can_hold_are_refused(label):
    with pytest.raises(DomainError, match="label"):
        export(Blt((0.5,), (0.2,), label), STEPS, "opacus")


@pytest.mark.parametrize("name", ["a\0.py", "\udcff.py"])
def test_names_that_no_module_can_hold_are_refused(name):
    with pytest.raises(DomainError, match="out"):
        exported_files(export(DESIGNS["BLT"], STEPS, "opacus"), name)


def test_a_source_stays_in_its_comment():
    design = export(DESIGNS["BLT"], STEPS, "opacus")
    sly = Value(float(design.sensitivity), kind="exact", source='x)\nprint("here")\n# \u2028')
    code = source(replace(design, sensitivity=sly), 'a"""b.npz')
    plain = source(design, 'a"""b.npz')
    assert ast.dump(ast.parse(code)) == ast.dump(ast.parse(plain))


@pytest.mark.parametrize(
    "bad", [{"clip_norm": 0.0}, {"batch_size": 0}, {"learning_rates": np.ones(3)}, {"learning_rates": np.zeros(STEPS)}]
)
def test_settings_outside_their_ranges_are_refused(bad):
    with pytest.raises(DomainError, match=next(iter(bad))):
        replace(export(DESIGNS["BLT"], STEPS, "opacus"), **bad)


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
