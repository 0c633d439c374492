"""Judgement: claims, checks, statistics, privacy audit, runner, result store and the command line."""
