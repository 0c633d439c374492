"""The reference: real files fit the schemas, changed ones do not; names, parsers and examples are all there."""

from __future__ import annotations

import importlib
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("furo", reason="the extra `docs` is not installed")
pytest.importorskip("jsonschema", reason="the extra `docs` is not installed")

from jsonschema.validators import validator_for

from docs.reference import MODULES, SCHEMAS, commands, module_of, prose
from dpbounds.ftrl.design import Participation
from dpbounds.ftrl.design.exports import archive, export
from tests.exports.designs import DESIGNS, STEPS
from tests.reports.examples import content, one_of_each
from verify.cli import main

Data = dict[str, Any]
DESIGN = (
    "design ftrl --steps 16 --batch-size 16 --eta 1 --objective final --decay 1 --d 8 --initial 11.3 --epsilon 4 "
    "--sigma-sgd 0.5"
)


def validator(name: str) -> Any:
    schema = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    kind = validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def written(tmp_path: Path, words: str, capsys: pytest.CaptureFixture[str]) -> Any:
    """The JSON file that a command saves."""
    file = tmp_path / "file.json"
    main([*words.split(), "--save", str(file)])
    capsys.readouterr()
    return json.loads(file.read_text(encoding="utf-8"))


def with_changes(data: Any, changes: list[Any]) -> Any:
    """The same data with the value at a path replaced."""
    *path, value = changes
    copy = json.loads(json.dumps(data))
    place = copy
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return copy


def refused(name: str, data: Any, *faults: list[Any]) -> None:
    """The file fits, and with any of these values it does not."""
    check = validator(name)
    check.validate(data)
    for fault in faults:
        assert not check.is_valid(with_changes(data, fault)), fault


def test_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["verify", "ftrl/prop-c.8", "ftrl/thm-2.1-rate", "--jobs", "1", "--store", str(tmp_path)])
    capsys.readouterr()
    real = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    validator("results").validate(content(one_of_each()))
    faults = [
        ["format", "dpbounds-results/3"],
        ["claims", 0, "verdict", "true"],
        ["claims", 0, "evidence", 0, "how", "x"],
    ]
    refused("results", real, *faults, ["claims", 0, "page", -1], ["topics", 0, "name", "../evil"])


def test_bounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    real = written(tmp_path, "solve ftrl --kappa 10 --eta 0.1 --mechanism sgd --program f --certify", capsys)
    refused(
        "bounds", real, ["rows", 0, "upper", "low"], ["rows", 0, "certificate", "multipliers", ["x"]], ["format", "x"]
    )


def test_methods(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    real = written(tmp_path, "solve ftrl --kappa 4 --eta 0.1 --method gd --mechanism sgd --certify", capsys)
    refused("methods", real, [0, "P", [["x"]]], [0, "memory", -1], [0, "format", "dpbounds-storage/0"])


def test_designs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    real = written(tmp_path, DESIGN, capsys)
    changed = ["designed", "stream", {}], ["designed", "event_multiplier", None], ["rows", 0, "total", "x"]
    refused("design", real, *changed)


def arrays_of(content: bytes) -> Data:
    """A NumPy archive as its schema has it."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return {
            name: json.loads(str(arrays[name])) if name == "meta" else arrays[name].tolist() for name in arrays.files
        }


@pytest.mark.parametrize("name", DESIGNS)
def test_noise(name: str) -> None:
    design = export(DESIGNS[name], STEPS, "npz", rho=0.4, participation=Participation.min_separation(2, 6))
    found = arrays_of(archive(design))
    refused("noise", found, ["before", 0, -1.0], ["meta", "format", "x"], ["meta", "stream", "steps", 0])
    refused("noise", found, ["meta", "sensitivity", "kind", "x"], ["meta", "stream", "form", "x"], ["pickled", []])
    parts = {"blt": "buf_decay"}.get(found["meta"]["stream"]["form"], "coefficients")
    assert not validator("noise").is_valid({key: value for key, value in found.items() if key != parts})


def test_noise_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "noise.npz"
    assert main([*DESIGN.split(), "--export", "npz", "--out", str(file)]) == 0
    capsys.readouterr()
    found = arrays_of(file.read_bytes())
    refused("noise", found, ["learning_rates", 0, 0.0], ["meta", "batch_size", 0], ["meta", "clip_norm", "1"])
    assert len(found["learning_rates"]) == found["meta"]["stream"]["steps"]


def test_every_schema_is_held_against_files() -> None:
    """By a test above that calls `refused` with its name."""
    tried = set(re.findall(r'refused\(\s*"([a-z]+)"', Path(__file__).read_text(encoding="utf-8")))
    assert {path.stem for path in SCHEMAS.glob("*.json")} == tried


def test_witnesses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mechanism = tmp_path / "mechanism.py"
    noisy = "data.clip(0, 1).sum(axis=0) + 0.1 * np.random.default_rng(seed).standard_normal(3)"
    mechanism.write_text(f"import numpy as np\n\n\ndef run(data, seed):\n    return {noisy}\n", encoding="utf-8")
    claim = "--epsilon 1 --delta 1e-6 --adjacency zero-out --domain 4x3,0,1 --law gaussian:0.1"
    real = written(tmp_path, f"audit {mechanism}:run {claim}", capsys)
    refused("witness", real, ["alpha", 0.5], ["adjacency", "none"], ["claim", {}])


def test_proofs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["verify", "ftrl/prop-c.8", "--jobs", "1", "--proofs", str(tmp_path)])
    capsys.readouterr()
    files = [json.loads(path.read_bytes()) for path in tmp_path.glob("*.json")]
    assert {file["kind"] for file in files} == {"generic", "derivation"}
    for file in files:
        refused("proof", file, ["form", "x"], ["kind", "program"], ["check", None if file["check"] == 0 else 0])


def test_every_command_and_option_of_the_parsers_is_there() -> None:
    found = {command["name"]: {item["name"] for item in command["arguments"]} for command in commands()}
    assert {"dpbounds verify", "dpbounds solve iv", "dpbounds design ftrl", "dpbounds audit"} <= set(found)
    assert any(name.startswith("--confidence") for name in found["dpbounds solve iv"])
    assert "--level {quick,full,paper}" in found["dpbounds verify"]


def test_names_come_with_examples() -> None:
    modules = [module_of(importlib.import_module(name)) for name in MODULES]
    assert all(item["doc"] for module in modules for item in module["names"])
    assert sum(module["examples"] for module in modules) >= 60
    assert not any("|---" in item["doc"] for module in modules for item in (module, *module["names"]))
    signatures = "\n".join(item["signature"] for module in modules for item in module["names"])
    assert "ForwardRef" not in signatures and not re.search("""(: |-> )['"]""", signatures)
    assert "adjacency: Adjacency = 'zero-out'" in signatures
    assert " at 0x" not in signatures and not re.search(r"\d\.\d{6}", signatures)
    assert "progress: Progress = no_progress" in signatures and "= (0.25, ..., 4.0)" in signatures


def test_docstrings_are_text() -> None:
    def made() -> None:
        """<script>x</script> `a < b` and *no* emphasis, **bold, `c`.** Then a**2 + b**2, `**d` and `**e`.

        - one

        >>> "<b>"
        '<b>'
        """

    found = prose(made)
    assert "<script" not in found and "<code>a &lt; b</code>" in found and "*no*" in found and "<li>" in found
    assert "<b>" not in found
    assert re.findall("<strong>.*?</strong>", found) == ["<strong>bold, <code>c</code>.</strong>"]
