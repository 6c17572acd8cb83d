"""Manual commands to a rollout, in an annotation. A command is handled once, however often it is read. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

ANNOTATION = "serving.kubedl.io/rollout"
ANSWERED = f"{ANNOTATION}-answered"  # number of handled commands that were removed
LONGEST_WORD = 128
COMMANDS = ("next", "promote", "abort", "retry")


@dataclass(frozen=True)
class Command:
    """A manual command with its sequence number, as a command may be repeated.

    `promote` addresses every predictor, `promote:main` the one with that name.
    """

    text: str = ""
    number: int = 1
    is_meant: bool = True  # the addressed predictor

    @property
    def command(self) -> str:
        """The command."""
        return self.text.partition(":")[0]

    @property
    def predictor(self) -> str:
        """The addressed predictor; empty for all."""
        return self.text.partition(":")[2]


NO_COMMAND = Command()


class Commanded(Protocol):
    """A state that records the last handled command."""

    @property
    def last_command(self) -> str:
        """The last handled command."""

    @property
    def last_command_number(self) -> int:
        """Its sequence number."""


def pending_command(annotations: Mapping[str, str]) -> Command:
    """Return the command in the annotation."""
    answered = annotations.get(ANSWERED, "")
    known = int(answered) if answered.isascii() and answered.isdigit() and len(answered) < 10 else 0
    return Command(annotations.get(ANNOTATION, "")[:LONGEST_WORD], known + 1)


def addressed(command: Command, predictor: str) -> Command:
    """Return the command for a predictor; one for another predictor counts as handled."""
    return replace(command, is_meant=command.predictor in ("", predictor))


def is_handled(state: Commanded, command: Command) -> bool:
    """Return whether a predictor has handled the command."""
    return (state.last_command, state.last_command_number) == (command.text, command.number)


def command_for(state: Commanded, command: Command) -> str:
    """Return the pending command for this predictor, if any."""
    return command.command if command.is_meant and not is_handled(state, command) else ""


def by_hand(done: str, command: str) -> str:
    """Return the message of a state caused by a command."""
    return f"{done} by annotation {ANNOTATION}={command}"
