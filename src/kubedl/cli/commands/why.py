"""`kubedl why`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubedl.cli.history_database import database
from kubedl.cli.settings import Settings, declare

if TYPE_CHECKING:
    from kubedl.why.evidence import Evidence
    from kubedl.why.judging import Diagnosis

CANNOT_TELL = 3
FORMATS = ("json", "yaml", "evidence")


@declare("why", short_help="Say why it waits, fails, or is slow, and what to do about it")
@click.argument("name", metavar="NAME", required=False)
@click.option("--all", "everything", is_flag=True, help="Every cause that was found, with its evidence.")
@click.option(
    "--evidence",
    "file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Judge a file that `-o evidence` wrote, without a cluster.",
)
@click.option("-o", "--output", type=click.Choice(FORMATS), help="For programs; evidence is what was read, as JSON.")
def command(settings: Settings, name: str | None, everything: bool, file: Path | None, output: str | None) -> int:
    """Say why a job, a model version, an inference or a cron waits, fails or is slow, and what to do about it.

    NAME may be a job, a pod of one, or KIND/NAME: pytorch/bert, inference/flowers, modelversion/bert-v2, cron/nightly.
    A job that was deleted is looked up in the history, if KUBEDL_HISTORY_DATABASE or the settings name its database.
    The first line is the answer; `-o evidence` prints what was read, without values of variables. The exit code is 0 if
    there is an answer, 3 if the cause cannot be told.
    """
    if (name is None) == (file is None):
        raise click.UsageError("give either NAME or --evidence FILE")
    evidence, diagnosis = _judged(file, everything) if file else _asked(settings, str(name), everything)
    return _print(settings, evidence, diagnosis, everything, output)


def _asked(settings: Settings, name: str, everything: bool) -> "tuple[Evidence, Diagnosis]":
    with settings.client(database()) as client:
        return client.explain(name, ask_all=everything)


def _judged(file: Path, everything: bool) -> "tuple[Evidence, Diagnosis]":
    from kubedl.why.bundle import NoBundleError, read
    from kubedl.why.judging import judge
    from kubedl.why.rules import ALL

    try:
        evidence = read(file.read_bytes())
    except NoBundleError as error:
        raise click.UsageError(f"{file} is no evidence: {error}\nnext  kubedl why NAME -o evidence > {file}") from error
    return evidence, judge(evidence, ALL, ask_all=everything)


def _print(
    settings: Settings, evidence: "Evidence", diagnosis: "Diagnosis", everything: bool, output: str | None
) -> int:
    from kubedl.cli.structured import print_object
    from kubedl.cli.terminal import printable
    from kubedl.why import bundle, report

    if output == "evidence":
        print_object(bundle.to_plain(evidence), "json")
        return 0
    if output:
        print_object(report.to_plain(diagnosis, evidence), output)
    else:
        terminal = settings.terminal()
        first, *rest = report.lines(diagnosis, everything=everything)
        terminal.write(terminal.paint(printable(first), "bold"))
        for line in rest:
            terminal.write(printable(line))
        terminal.stream.flush()
        for line in report.remarks(diagnosis):
            sys.stderr.write(f"{printable(line)}\n")
    return 0 if diagnosis.is_known else CANNOT_TELL
