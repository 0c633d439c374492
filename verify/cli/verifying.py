"""`dpbounds verify`."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from threadpoolctl import threadpool_limits

from dpbounds import DomainError
from dpbounds.errors import count
from verify.cli import export, files, proving
from verify.cli.console import print_json, print_table, progress
from verify.cli.listing import print_facts, say_spread
from verify.running import results
from verify.running.executor import Dask, Executor, Processes, Serial, default_jobs
from verify.running.registry import select
from verify.running.runner import Decision, Impostor, Run, detection_rate
from verify.running.store import Store
from verify.statements.claims import DATA_DIR
from verify.statements.plain import plain
from verify.statements.wording import literal

# Claims whose facts are printed one by one, if so few are named.
MOST_WITH_FACTS = 3


def run(arguments: Namespace) -> int:
    """Compute, conclude, print and write the results file; the exit status tells whether a verdict changed."""
    _take_data_dir(arguments)
    _check_export(arguments)
    proving.check(arguments)
    say_spread(arguments.names)
    claims = select(arguments.names)
    if arguments.proofs is not None:
        return proving.run(claims, arguments)
    executor = _executor(arguments)
    shard = arguments.shard
    # One thread for the linear algebra of planning and concluding, as the workers have.
    journal = f"-{shard[0]}-of-{shard[1]}" if shard else ""
    with threadpool_limits(1), executor, Store(Path(arguments.store), shard=journal) as store:
        for line in store.damaged:
            print(f"dpbounds: {line}", file=sys.stderr)
        session = Run(claims, level=arguments.level, seed=arguments.seed, store=store, impostors=arguments.impostors)
        with progress("impostors" if arguments.impostors else "verify") as show:
            tasks = session.compute(executor, resume=arguments.resume, shard=shard, progress=show)
        if shard:
            return _say_shard(session, tasks, shard)
        return _conclude_impostors(session, arguments) if arguments.impostors else _conclude(session, arguments)


def _executor(arguments: Namespace) -> Executor:
    if arguments.scheduler and arguments.jobs:
        raise DomainError("jobs", arguments.jobs, "nothing beside --scheduler", "the scheduler knows its workers")
    if arguments.scheduler:
        return Dask(arguments.scheduler)
    jobs = default_jobs() if arguments.jobs is None else count("jobs", arguments.jobs)
    return Serial() if jobs == 1 else Processes(jobs)


def _take_data_dir(arguments: Namespace) -> None:
    """Into the environment, where claims and worker processes look for it."""
    folder = arguments.data_dir
    if folder is None:
        return
    if arguments.scheduler:
        remedy = f"set {DATA_DIR} on the workers and here"
        raise DomainError("data_dir", folder, "left out with --scheduler", remedy)
    if not Path(folder).is_dir():
        raise DomainError("data_dir", folder, "a folder that exists")
    os.environ[DATA_DIR] = str(Path(folder).resolve())


def _check_export(arguments: Namespace) -> None:
    for _, file in arguments.export or ():
        if arguments.shard or arguments.impostors:
            raise DomainError("export", file, "left out with --shard and --impostors", "they give no verdicts")
        files.check_target("export", file)


def _conclude(session: Run, arguments: Namespace) -> int:
    decided = session.decide()
    path = results.write(session.store.folder, decided, level=session.level, seed=session.seed)
    for form, file in arguments.export or ():
        export.write(form, file, decided, seed=session.seed)
    changed = [item for item in decided if item.changed]
    failed = [item for item in decided if item.failure]
    if arguments.json:
        print_json([_row(item, session.seed) for item in decided])
    else:
        print_table([_row(item, session.seed) for item in decided], ["claim", "verdict", "how", "slack", "seconds"])
        _print_findings(decided)
        if arguments.names and len(decided) <= MOST_WITH_FACTS:
            _print_facts(decided)
        counts = Counter(item.verdict.word for item in decided)
        words = ", ".join(f"{n} {word}{_but_for(word, decided)}" for word, n in counts.most_common())
        print(f"\n{len(decided)} claim{'s' * (len(decided) != 1)}: {words}. Results: {path}")
    for item in changed:
        words = f"{item.claim.id} is {item.verdict.word}, reviewed was {item.claim.reviewed}"
        found = plain(item.verdict.finding) or "every check of it holds"
        print(f"dpbounds: {words}: {found}", file=sys.stderr)
    for item in failed:
        print(f"dpbounds: {item.claim.id} failed:\n{item.failure}", file=sys.stderr)
    return 3 if failed else 1 if changed else 0


def _conclude_impostors(session: Run, arguments: Namespace) -> int:
    judged = session.judge_impostors()
    rows = [{"claim": item.claim, "impostor": item.name, "kind": item.kind, "caught": item.caught} for item in judged]
    failed = [item for item in judged if item.failure]
    escaped = [item for item in judged if not item.caught]
    if arguments.json:
        print_json(rows)
    else:
        print_table(rows, ["claim", "impostor", "kind", "caught"])
        _print_detection(judged)
    for item in failed:
        print(f"dpbounds: impostor {item.name!r} of {item.claim} failed:\n{item.failure}", file=sys.stderr)
    return 3 if failed else 1 if escaped else 0


def _print_detection(judged: Sequence[Impostor]) -> None:
    per_kind = Counter(item.kind for item in judged)
    caught = Counter(item.kind for item in judged if item.caught)
    kinds = ", ".join(f"{kind} {caught[kind]} of {per_kind[kind]}" for kind in sorted(per_kind))
    total = f"{sum(caught.values())} of {len(judged)} impostors caught"
    print(f"\nDetection rate {detection_rate(judged):.1%}: {total} ({kinds}).")


def _print_findings(decided: Sequence[Decision]) -> None:
    for item in decided:
        if item.verdict.finding and item.verdict.word != "not run":
            verdict = item.verdict
            severity = f", {verdict.severity}" if verdict.severity else ""
            print(f"\n{item.claim.id} ({item.claim.where}) {verdict.word}{severity}: {plain(verdict.finding)}")
            if verdict.correction:
                grounds = f"refutation {verdict.refutation}, correction {verdict.how}"
                print(f"  Corrected ({grounds}): {plain(verdict.correction)}")
            if verdict.derivation:
                print(f"  Derivation: {plain(verdict.derivation)}")
            if item.verdict.consequence:
                print(f"  Consequence: {plain(item.verdict.consequence)}")

    for item in decided:
        for clause in item.verdict.open_clauses:
            print(f"\n{item.claim.id} {item.verdict.word} but for ({clause.letter}): {plain(clause.text)}")


def _but_for(word: str, decided: Sequence[Decision]) -> str:
    """How many of these verdicts leave a clause open."""
    count = sum(bool(item.verdict.open_clauses) for item in decided if item.verdict.word == word)
    return f" ({count} but for a clause that no check decides)" if count else ""


def _print_facts(decided: Sequence[Decision]) -> None:
    """What the checks found, fact by fact."""
    for item in decided:
        for form, found in item.evidence.items():
            for evidence in found:
                if evidence.facts:
                    print(f"\n{item.claim.id}, {form}: {plain(literal(evidence.summary))}")
                    print_facts([plain(literal(fact)) for fact in evidence.facts])


def _row(item: Decision, seed: int) -> dict:
    verdict = item.verdict
    return {
        "claim": item.claim.id,
        "topic": item.claim.topic,
        "verdict": verdict.word,
        "how": verdict.how,
        "refutation": verdict.refutation,
        "slack": verdict.slack,
        "seconds": round(item.seconds, 3),
        "seed": seed,
        "finding": plain(verdict.finding),
        "severity": verdict.severity,
        "touches": verdict.touches,
        "root": verdict.root,
        "consequence": plain(verdict.consequence),
        "remark": plain(verdict.remark),
        "derivation": plain(verdict.derivation),
        "clauses": [{**asdict(clause), "text": plain(clause.text)} for clause in verdict.clauses],
    }


def _say_shard(session: Run, tasks: int, shard: tuple[int, int]) -> int:
    for job, error in session.failures.items():
        print(f"dpbounds: a task of {job.claim} failed:\n{error}", file=sys.stderr)
    print(f"Shard {shard[0]} of {shard[1]}: {tasks} tasks stored in {session.store.folder}; join all with --resume.")
    return 3 if session.failures else 0
