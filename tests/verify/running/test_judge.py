"""`tests.power.judge` sees a mistake in a copy of this process, and leaves this process as it is."""

from __future__ import annotations

from pathlib import Path

import dpbounds.privacy.zcdp as zcdp
from tests.power.edits import edits_of
from tests.power.judge import Trial, judged
from tests.power.mutants import EQUIVALENTS, LAYERS

ROOT = Path(zcdp.__file__).parents[2]
FILE, CLAIM = "dpbounds/privacy/zcdp.py", "ftrl/fn-2"


def _trials(changed: str, patience: float = 100) -> list[Trial]:
    source = (ROOT / FILE).read_bytes()
    edits = [edit for edit in edits_of(ROOT, FILE) if changed in edit.name]
    assert edits
    return [Trial(edit.name, ROOT / FILE, edit.applied(source), (CLAIM,), patience) for edit in edits]


def test_a_mistake_is_noticed_and_stays_in_its_copy() -> None:
    before = zcdp._bun_steinke_rho(1.0, 13.8)
    ((_, reason),) = judged(_trials("epsilon + log_inverse_delta -> (epsilon - log_inverse_delta)"), 1)
    assert reason.startswith(f"{CLAIM}: ")
    assert zcdp._bun_steinke_rho(1.0, 13.8) == before


def test_what_changes_nothing_is_not_noticed() -> None:
    source = (ROOT / FILE).read_bytes()
    (trial, *_) = _trials("epsilon + log_inverse_delta -> (epsilon - log_inverse_delta)")
    harmless = source.replace(b"epsilon + log_inverse_delta", b"log_inverse_delta + epsilon")
    assert harmless != source
    ((_, reason),) = judged([Trial("in another order", trial.file, harmless, (CLAIM,), 100)], 1)
    assert reason == ""


def test_a_copy_that_hangs_is_noticed() -> None:
    source = (ROOT / FILE).read_bytes()
    (trial, *_) = _trials("epsilon + log_inverse_delta -> (epsilon - log_inverse_delta)")
    endless = source.replace(
        b"    return (epsilon / (math.sqrt(epsilon", b"    while True: pass\n    return (epsilon / (math.sqrt(epsilon"
    )
    assert endless != source
    ((_, reason),) = judged([Trial("without end", trial.file, endless, (CLAIM,), 1)], 1)
    assert reason == "it hung, or died"


def test_what_is_said_to_change_nothing_can_be_done() -> None:
    files = [file.relative_to(ROOT).as_posix() for layer in LAYERS for file in sorted((ROOT / layer).rglob("*.py"))]
    possible = {edit.name for file in files for edit in edits_of(ROOT, file)}
    lines = [line.rsplit(" # ", 1) for line in EQUIVALENTS.read_text().splitlines()]
    assert [name for name, *reason in lines if name not in possible or not reason] == []
