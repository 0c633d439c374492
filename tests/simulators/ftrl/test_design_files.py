"""Exported designs in files: read back, and refused where there is none."""

from __future__ import annotations

import pytest

from dpbounds import DomainError
from dpbounds.ftrl.design.exports import archive, export
from simulators.ftrl.design_files import read_design
from tests.exports.designs import DESIGNS, STEPS, written


def test_the_file_beside_a_module_is_the_design(tmp_path):
    design = export(DESIGNS["scaled BLT"], STEPS, "opacus", rho=0.4)
    _, beside = written(design, tmp_path / "noise.py")
    assert archive(read_design(beside)) == archive(design)


def test_files_that_are_none_are_refused(tmp_path):
    (tmp_path / "text.npz").write_text("noise")
    for name in ("missing.npz", "text.npz", ".", "\0"):
        with pytest.raises(DomainError, match="design"):
            read_design(tmp_path / name)
