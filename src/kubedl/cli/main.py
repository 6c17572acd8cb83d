"""The commands. Each is a line here and a module, which is imported when the command is used."""

from collections.abc import Sequence

from kubedl.cli.failures import exit_code_of
from kubedl.cli.lazy_group import LazyGroup, Listed
from kubedl.cli.settings import global_options

_PLACE = "kubedl.cli.commands"
COMMANDS: dict[str, Listed] = {
    "Start a job": {
        "run": (f"{_PLACE}.run", "Run a command with the code of this directory, and follow it"),
        "submit": (f"{_PLACE}.submit", "Submit a training job by flags, or from a file"),
        "apply": (f"{_PLACE}.apply", "Create or change objects from files; says what changed"),
        "rerun": (f"{_PLACE}.rerun", "Submit again what ran or runs, with changes if you like"),
    },
    "See what it does": {
        "list": (f"{_PLACE}.list", "List jobs, newest first"),
        "get": (f"{_PLACE}.get", "Show one job: replicas, what it waits for, what happened"),
        "logs": (f"{_PLACE}.logs", "Print or follow the logs of all replicas"),
        "why": (f"{_PLACE}.why", "Say why it waits, fails, or is slow, and what to do about it"),
        "events": (f"{_PLACE}.events", "Show what happened to a job and its pods, in order"),
        "wait": (f"{_PLACE}.wait", "Wait for a state; ends with the exit code of the job"),
        "top": (f"{_PLACE}.top", "Show use of nodes, or of a job's replicas"),
    },
    "Change it": {
        "suspend": (f"{_PLACE}.suspend", "Stop its pods and keep the job"),
        "resume": (f"{_PLACE}.resume", "Start a suspended job"),
        "scale": (f"{_PLACE}.scale", "Change the number of workers"),
        "delete": (f"{_PLACE}.delete", "Delete jobs"),
        "prune": (f"{_PLACE}.prune", "Delete finished jobs, and files that no job uses"),
        "attach": (f"{_PLACE}.attach", "Open a shell in a replica"),
        "exec": (f"{_PLACE}.exec", "Run a command in a replica, or in all"),
        "open": (f"{_PLACE}.open", "Open the console, or forward a port of a job or a service"),
    },
    "Models and services": {
        "model": (f"{_PLACE}.model", "list, get, lineage, build, delete"),
        "serve": (f"{_PLACE}.serve", "submit, list, get, logs, traffic, next, promote, abort, retry, scale, delete"),
    },
    "Schedules, history, queues": {
        "cron": (f"{_PLACE}.cron", "list, get, create, suspend, resume, run, delete"),
        "history": (f"{_PLACE}.history", "list, get, logs, stats, receipt"),
        "queue": (f"{_PLACE}.queue", "list, get: who is in it, and who is before whom"),
    },
    "The installation": {
        "doctor": (f"{_PLACE}.doctor", "Check cluster, rights and parts; one line each with the fix"),
        "config": (f"{_PLACE}.config", "get, list, set, unset: what flags are by default"),
        "completion": (f"{_PLACE}.completion", "Print the completion of bash, zsh or fish"),
        "version": (f"{_PLACE}.version", "Print the version"),
    },
}
HIDDEN: Listed = {
    "whoami": (f"{_PLACE}.whoami", "Say who the server takes you for"),
    "scalein": (f"{_PLACE}.arena_words:scalein", "As Arena writes it"),
    "scaleout": (f"{_PLACE}.arena_words:scaleout", "As Arena writes it"),
}
ALIASES = {"ls": "list", "log": "logs", "del": "delete"}

kubedl = LazyGroup(
    name="kubedl",
    help="Deep learning on Kubernetes. A name is enough: commands look through all kinds of jobs of a namespace.",
    epilog="`kubedl COMMAND --help` has the flags of a command; `kubedl help processes` lists what runs in a cluster.",
    subcommand_metavar="COMMAND ...",
    options_metavar="",
    sections=COMMANDS,
    hidden_commands=HIDDEN,
    aliases=ALIASES,
    params=global_options(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


_OF_ARENA = ("--config", "--loglevel", "--arena-namespace", "--helm-binary", "--pprof", "--trace")


def main(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code."""
    if any(word.partition("=")[0] in _OF_ARENA for word in arguments):
        return exit_code_of(kubedl, arguments, _without_flags_of_arena)
    return exit_code_of(kubedl, arguments)


def _without_flags_of_arena(words: Sequence[str]) -> Sequence[str]:
    from kubedl.cli.submit.arena import translate_globals  # noqa: PLC0415 - only for old flags

    return translate_globals(words)
