"""The command `kubedl`: processes of the cluster by their name, else the command line of people.

A process is imported on demand, since each may need packages that the others do not have; help is a text file.
"""

import importlib
import os
import sys
from collections.abc import Sequence

PROCESSES = {
    "console": "kubedl.entrypoints.console",
    "operator": "kubedl.entrypoints.operator",
    "packer": "kubedl.entrypoints.packer",
    "pipeline-step": "kubedl.entrypoints.pipeline_step",
    "loader": "kubedl.entrypoints.loader",
    "recorder": "kubedl.entrypoints.recorder",
    "smoke-test": "kubedl.entrypoints.smoke_test",
}
EXTRAS = {"recorder": "operator,history"}  # of the package, by process; the others need `operator`


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one process or command and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words and words[0] in PROCESSES:
        return _run_process(words[0], words[1:])
    if words == ["help", "processes"]:
        print("Processes of the cluster, each with --help:", *sorted(PROCESSES), sep="\n  ")
        return 0
    if instruction := os.environ.get("_KUBEDL_COMPLETE"):
        return _complete(instruction)
    from kubedl.cli.static_help import help_for  # noqa: PLC0415 - a process needs no command line

    if (text := help_for(words)) is not None:
        print(text, end="")
        return 0
    from kubedl.cli.main import main as run  # noqa: PLC0415

    return run(words)


def _run_process(name: str, words: Sequence[str]) -> int:
    """Run a process, or say what to install: the client alone lacks the packages of most of them."""
    try:
        module = importlib.import_module(PROCESSES[name])
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("", "kubedl"):
            raise  # a defect of ours
        print(f"error: kubedl {name} cannot start here", file=sys.stderr)
        print(f"  why   the Python package {missing} is not installed", file=sys.stderr)
        print(f"  next  pip install 'kubedl[{EXTRAS.get(name, 'operator')}]'", file=sys.stderr)
        return 1
    code: int = module.main(words)
    return code


def _complete(instruction: str) -> int:
    """Answer a shell that completes words."""
    from click.shell_completion import shell_complete  # noqa: PLC0415

    from kubedl.cli.main import kubedl  # noqa: PLC0415

    return shell_complete(kubedl, {}, "kubedl", "_KUBEDL_COMPLETE", instruction)


if __name__ == "__main__":
    sys.exit(main())
