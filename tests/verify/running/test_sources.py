"""What a topic's results depend on: code and templates of code, of its own packages and of what all share."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbounds import DomainError
from verify.running.registry import topics
from verify.running.sources import LAYERS, package_folder, source_files


@pytest.fixture(scope="module")
def of_glm() -> list[Path]:
    """The sources of one topic."""
    return source_files(topics()["glm"], [other for name, other in topics().items() if name != "glm"])


def test_own_and_shared_files_count_and_other_papers_and_the_command_line_do_not(of_glm: list[Path]) -> None:
    root = package_folder("dpbounds").parent
    rooms = {"/".join(file.relative_to(root).parts[:2]) for file in of_glm}
    assert {"dpbounds/glm", "simulators/glm", "verify/checks", "dpbounds/circle"} <= rooms
    assert not rooms & {"dpbounds/iv", "simulators/ols", "verify/cli"}
    assert {file.relative_to(root).parts[2] for file in of_glm if "verify/papers" in file.as_posix()} >= {"glm"}


def test_templates_of_code_count() -> None:
    others = [other for name, other in topics().items() if name != "ftrl"]
    templates = package_folder("dpbounds.ftrl.design.exports") / "templates"
    assert set(templates.glob("*.txt")) <= set(source_files(topics()["ftrl"], others))


def test_nothing_made_by_running_counts(of_glm: list[Path]) -> None:
    assert {file.suffix for file in of_glm} <= {".py", ".txt"}
    assert all("__pycache__" not in file.parts for file in of_glm)


def test_layers_are_packages_and_other_names_are_refused() -> None:
    assert all((package_folder(layer) / "__init__.py").is_file() for layer in LAYERS)
    with pytest.raises(DomainError, match=r"^source = "):
        package_folder("dpbounds_of_nobody.claims")
