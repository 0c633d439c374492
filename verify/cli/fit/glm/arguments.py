"""Arguments of `dpbounds fit glm`."""

from __future__ import annotations

import argparse

ABOUT = (
    "A survey in local privacy by direction messages. The users' side: records in, what each user sends out (--csv, "
    "--target, --send). The server's: all messages and public records without labels in, coefficients out (--messages, "
    "--public, --out). Both are given the same link, budget, noise, intercept and label bound."
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The survey, and either side of it."""
    command.description = ABOUT
    survey = command.add_argument_group("survey, the same on both sides")
    survey.add_argument("--link", required=True, help="logistic, boosting, poisson, sigmoid")
    survey.add_argument("--epsilon", type=float, required=True, help="of one user's message, above 0")
    survey.add_argument("--delta", type=float, help="with --noise gaussian alone, below 1")
    survey.add_argument(
        "--noise", choices=("cap", "hemisphere", "gaussian"), default="cap", help="of a message (default: cap)"
    )
    survey.add_argument("--intercept", action="store_true", help="a coordinate 1 before those of x")
    survey.add_argument("--label-bound", type=float, metavar="B", help="labels beyond are clamped")
    users = command.add_argument_group("users' side")
    users.add_argument("--csv", metavar="FILE", help="records: CSV with a header, or .gz")
    users.add_argument("--target", metavar="COLUMN", help="the label; all others are x, in units of order 1")
    users.add_argument("--send", metavar="FILE.csv", help="what is sent, a line for each record; a new file")
    users.add_argument("--seed", type=int, help="a study that can be repeated, and is not private")
    server = command.add_argument_group("server's side")
    server.add_argument("--messages", metavar="FILE", help="messages of all users: CSV with a header, or .gz")
    server.add_argument("--public", metavar="FILE", help="public records of x, without labels: CSV or .gz")
    server.add_argument("--out", metavar="FILE.json", help="the model")
    server.add_argument("--json", action="store_true", help="print the model as JSON")
