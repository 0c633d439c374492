"""`dpbounds fit glm`: what each user sends, as a CSV file, and the model from all that was sent."""

from __future__ import annotations

import csv
import io
import json
import os
from argparse import Namespace
from pathlib import Path

from dpbounds import DomainError
from simulators.glm.survey import LocalGLM
from simulators.tables import read_table
from verify.cli.console import print_json, print_table
from verify.cli.files import check_target, write
from verify.running.store import strict

SENDING, FITTING = ("csv", "target", "send"), ("messages", "public", "out")


def run(arguments: Namespace) -> int:
    """The users' side where records are given, else the server's."""
    own, other = (SENDING, FITTING) if arguments.csv is not None else (FITTING, SENDING)
    for name in own:
        if getattr(arguments, name) is None:
            raise DomainError(name, None, f"given with --{own[0]}", f"--{', --'.join(own)} belong together")
    for name in other:
        if getattr(arguments, name) is not None:
            raise DomainError(name, getattr(arguments, name), f"left out with --{own[0]}", "it is of the other side")
    survey = LocalGLM(
        link=arguments.link,
        epsilon=arguments.epsilon,
        delta=arguments.delta,
        noise=arguments.noise,
        intercept=arguments.intercept,
        label_bound=arguments.label_bound,
        seed=arguments.seed,
    )
    return _send(arguments, survey) if own is SENDING else _fit(arguments, survey)


def _send(arguments: Namespace, survey: LocalGLM) -> int:
    check_target("send", arguments.send)
    if os.path.lexists(arguments.send):
        remedy = "sending again spends every user's budget again; name another file if that is meant"
        raise DomainError("send", Path(arguments.send), "a new file", remedy)
    table = read_table(Path(arguments.csv), "csv")
    table.column(arguments.target)
    if table.dropped:
        raise DomainError("csv", Path(arguments.csv), "without missing values", "who gives no answer sends nothing")
    if len(table.names) < 2:
        raise DomainError("csv", Path(arguments.csv), "a table with a label and x")
    names = [name for name in table.names if name != arguments.target]
    sent = survey.message(*table.split(arguments.target))
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["intercept", *names] if arguments.intercept else names)
    rows.writerows(sent.tolist())
    write("send", arguments.send, text.getvalue().encode())
    delta = "" if arguments.delta is None else f", {arguments.delta:g}"
    private = f"({arguments.epsilon:g}{delta})-DP each, in local privacy" if survey.private_ else "NOT PRIVATE: a seed"
    print(f"{len(sent)} messages of {sent.shape[1]} numbers in {arguments.send}: {private}.")
    return 0


def _fit(arguments: Namespace, survey: LocalGLM) -> int:
    if arguments.seed is not None:
        raise DomainError("seed", arguments.seed, "left out with --messages", "the server draws nothing")
    check_target("out", arguments.out)
    sent, public = (read_table(Path(getattr(arguments, name)), name) for name in ("messages", "public"))
    names = [*["intercept"] * arguments.intercept, *public.names]
    if list(sent.names) != names:
        said = f"with the columns {', '.join(names)}, in this order"
        raise DomainError("messages", Path(arguments.messages), said, "--intercept as when they were sent")
    for name, table in (("messages", sent), ("public", public)):
        if table.dropped:
            raise DomainError(name, Path(getattr(arguments, name)), "without missing values")
    content = survey.fit(sent.rows, public.rows).content(public.names)
    try:
        write("out", arguments.out, (json.dumps(strict(content), indent=1, allow_nan=False) + "\n").encode())
    finally:
        if arguments.json:
            print_json(content)
        else:
            rows = [
                {"column": name, "coefficient": value}
                for name, value in zip(content["columns"], content["coefficients"], strict=True)
            ]
            rows += [{"column": "intercept", "coefficient": content["intercept"]}] if arguments.intercept else []
            print_table(rows, ("column", "coefficient"))
            print(f"From {content['messages']} messages and {content['public']} public records.")
    return 0
