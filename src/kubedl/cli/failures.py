"""Errors as people see them (what, why, next), and the exit code of a command."""

import os
import sys
from collections.abc import Callable, Sequence

import click

from kubedl.cli.terminal import Terminal, printable

REFUSED, USAGE = 1, 2
TIMED_OUT, OWN_FAILURE, NEVER_RAN, INTERRUPTED = 124, 125, 126, 130
LONGEST_REASON = 20  # lines
# kubectl starts its plugins by this name
PROGRAM = "kubectl kubedl" if os.path.basename(sys.argv[0]) == "kubectl-kubedl" else "kubedl"  # noqa: PTH119


def exit_code_of(
    group: click.Group,
    arguments: Sequence[str],
    translated: Callable[[Sequence[str]], Sequence[str]] = lambda words: words,
) -> int:
    """Run a command, whose words may have to be translated; errors are printed to standard error."""
    _open_closed_streams()
    try:
        with group.make_context(PROGRAM, list(translated(arguments))) as ctx:
            result = group.invoke(ctx)
            sys.stdout.flush()
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.UsageError as error:
        return _usage(error)
    except (KeyboardInterrupt, click.Abort):
        click.echo("", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that nothing is written at exit
        return 0
    except RuntimeError as error:
        print_failure(error, debug="--debug" in arguments)
        return REFUSED
    return result if isinstance(result, int) else 0


def _open_closed_streams() -> None:
    """Replace streams that were closed before the start: `2>&-` asks for silence, not for a failure."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - until the end


def print_error(what: str, why: str = "", steps: Sequence[str] = ()) -> None:
    """Print an error of three parts."""
    terminal = Terminal.of(sys.stderr, "auto", os.environ)
    terminal.write(f"{terminal.paint('error:', 'red')} {printable(what)}")
    for number, line in enumerate(why.splitlines()[:LONGEST_REASON]):
        terminal.write(f"  {'' if number else 'why':6}{printable(line)}")
    if steps:
        terminal.write(f"  next  {'      or  '.join(map(printable, steps))}")


def _usage(error: click.UsageError) -> int:
    message, _, step = error.format_message().partition("\nnext  ")
    steps = [step] if step else []
    if isinstance(error, click.NoSuchOption):
        message = f"no such option: {error.option_name}"
        steps = _similar(error)
    if isinstance(error, click.MissingParameter) and isinstance(error.param, click.Option):
        name = max(error.param.opts, key=len)
        message = f"no {name}"
        steps = [f"{name} {error.param.metavar or 'VALUE'}   ({(error.param.help or '').rstrip('.')})"]
    if not steps and error.ctx is not None:
        steps = [f"{error.ctx.command_path} --help"]
    print_error(message[:1].lower() + message[1:].rstrip("."), steps=steps)
    return USAGE


def _similar(error: click.NoSuchOption) -> list[str]:
    """Return the options that were probably meant, with what they do."""
    if error.ctx is None:
        return []
    known = {
        name: (parameter.help or "").rstrip(".")
        for parameter in error.ctx.command.params
        if isinstance(parameter, click.Option)
        for name in parameter.opts
        if name.startswith("--")
    }
    import difflib  # noqa: PLC0415 - only after a mistake

    close = difflib.get_close_matches(error.option_name, known, n=2, cutoff=0.7)
    return [f"{name}   ({known[name]})" for name in close]


def code_of_job(run: Callable[[], object], on_error: Callable[[RuntimeError], None] | None = None) -> int:
    """Run what ends with a job, and return the exit code of that. Errors are printed, or told to `on_error`."""
    from kubedl.client.errors import JobFailed, KubedlError, WaitTimeout  # noqa: PLC0415

    try:
        run()
    except KubedlError as error:
        (on_error or print_failure)(error)
        if isinstance(error, JobFailed):
            return error.exit_code or REFUSED
        return TIMED_OUT if isinstance(error, WaitTimeout) else OWN_FAILURE
    return 0


def print_failure(error: RuntimeError, *, debug: bool = False) -> None:
    """Print an error of the client; any other one is a defect, and raised."""
    from kubedl.client.errors import KubedlError  # noqa: PLC0415 - only if something failed

    if not isinstance(error, KubedlError):
        raise error
    if debug:
        import traceback  # noqa: PLC0415 - loads more than the rest of a command

        traceback.print_exception(error)
    print_error(error.message, error.why, error.next)
