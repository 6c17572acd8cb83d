"""Errors of the client: what happened, why, and what to do next.

Most have a second base class, so that programs that catch Kubeflow's RuntimeError, ValueError or TimeoutError work.
"""

from typing import TYPE_CHECKING

from kubedl.kube.errors import (
    AlreadyExistsError,
    ApiError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    TooManyRequestsError,
    UnauthorizedError,
    UnknownOutcomeError,
)

if TYPE_CHECKING:
    from kubedl.client.job import Job

MOST_FIELDS, LONGEST_LINE = 15, 400
LATER = "repeat the command later; kubedl doctor checks the cluster"
LONGEST_QUOTE = 2000  # characters of the server's words


class KubedlError(RuntimeError):
    """The base of all errors of the client."""

    def __init__(self, message: str, why: str = "", next: tuple[str, ...] = ()) -> None:  # noqa: A002 - its public name
        super().__init__(message)
        self.message = message
        self.why = why
        self.next = next


class NotFound(KubedlError, LookupError):
    """There is no such job, kind or namespace."""


class Ambiguous(KubedlError, LookupError):
    """Jobs of several kinds have this name."""


class AlreadyExists(KubedlError):
    """The name is taken."""


class Forbidden(KubedlError, PermissionError):
    """The caller may not do it, or a quota or an admission policy refuses it."""


class Unauthorized(KubedlError):
    """The server does not know the caller, or there are no credentials."""


class Invalid(KubedlError, ValueError):
    """The server refuses the object."""


class Conflict(KubedlError):
    """Somebody else changed the object."""


class Unreachable(KubedlError, ConnectionError):
    """There is no connection to the server, or it was cut."""


class Busy(KubedlError):
    """The server asks to come back later."""


class NotSupported(KubedlError, NotImplementedError):
    """This client, or this cluster, does not have it."""


class FunctionNotPortable(KubedlError, ValueError):
    """A function cannot be sent: it refers to something that is only here."""


class CodeTooLarge(KubedlError, ValueError):
    """The code does not fit into a ConfigMap."""


class WaitTimeout(KubedlError, TimeoutError):
    """The time to wait has passed. `job` is its last known state."""

    def __init__(self, message: str, job: "Job | None" = None, next: tuple[str, ...] = ()) -> None:  # noqa: A002
        super().__init__(message, next=next)
        self.job = job


class JobFailed(KubedlError):
    """The job failed. `exit_code` is that of the replica that failed first; None if no container has one."""

    def __init__(self, message: str, job: "Job", exit_code: int | None, next: tuple[str, ...] = ()) -> None:  # noqa: A002
        super().__init__(message, next=next)
        self.job = job
        self.exit_code = exit_code


_TYPES: tuple[tuple[type[ApiError], type[KubedlError], str], ...] = (
    (NotFoundError, NotFound, "kubedl doctor"),
    (AlreadyExistsError, AlreadyExists, "choose another name"),
    (ConflictError, Conflict, "repeat the command"),
    (InvalidError, Invalid, "correct this, and repeat the command"),
    (ForbiddenError, Forbidden, "meet the rule that the server names, or ask who administers it"),
    (UnauthorizedError, Unauthorized, "log in again, or choose another --context"),
    (TooManyRequestsError, Busy, "repeat the command later"),
)


def _by_field(error: ApiError) -> str:
    """Return a line for each field that the server refuses; nothing if it names none."""
    lines = {f"{cause.field}: {cause.message}"[:LONGEST_LINE]: None for cause in error.causes if cause.field}
    more = [f"and {len(lines) - MOST_FIELDS} more"] if len(lines) > MOST_FIELDS else []
    return "\n".join([*list(lines)[:MOST_FIELDS], *more])


def from_api(error: ApiError, what: str, server: str) -> KubedlError:
    """Return the client's error for one of the API server, whose words are quoted. `what` completes "cannot …"."""
    words = _by_field(error) or error.message[:LONGEST_QUOTE]
    if isinstance(error, UnknownOutcomeError):
        if error.code:
            return Unreachable(
                f"cannot {what}: the API server failed", f"{error.code} {error.reason}: {words}", (LATER,)
            )
        return Unreachable(f"cannot {what}: no answer from {server}", words, ("check the address, or --context",))
    if isinstance(error, ForbiddenError) and 'User "' in words:  # a quota or a policy does not name the user
        return Forbidden(f"cannot {what}", words, ("kubectl auth can-i --list", "another -n, --context or --as"))
    for kind, made, step in _TYPES:
        if isinstance(error, kind):
            return made(f"cannot {what}", words, (step,))
    return KubedlError(f"cannot {what}", f"{error.code} {error.reason}: {words}", (LATER,))
