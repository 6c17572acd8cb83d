"""What people do in the console is done by the operations of the client, as that person; errors become answers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

from kubedl.client.errors import (
    AlreadyExists,
    Busy,
    Conflict,
    Forbidden,
    Invalid,
    KubedlError,
    NotFound,
    Unauthorized,
    Unreachable,
)
from kubedl.client.kinds import JobKind
from kubedl.client.operations import Operations
from kubedl.console.kinds import job_resources
from kubedl.console.own_calls import OwnCalls
from kubedl.console.people import Caller
from kubedl.console.problems import RefusalError, signed_out
from kubedl.console.wire_base import FieldProblem
from kubedl.kube.errors import ApiError

MOST_FIELDS, LONGEST_FIELD = 50, 1000
SECONDS = 30.0  # for all requests of one action; the API server may ask to come back later
_ANSWERS: tuple[tuple[type[KubedlError], int, str], ...] = (
    (NotFound, 404, "It may have been deleted; load the page again."),
    (AlreadyExists, 409, "Choose another name."),
    (Conflict, 409, "Look at the page again, and repeat it if you still want it."),
    (Invalid, 422, "Correct it, and try again."),
    (Forbidden, 403, "Ask an administrator for this right, or meet the rule that the API server names."),
    (Busy, 503, "The API server is busy. Try again later."),
    (Unreachable, 502, "Try again, after a look at whether it was done."),
)


@asynccontextmanager
async def acting(caller: Caller, namespace: str) -> AsyncIterator[Operations]:
    """Return the operations of a person in a namespace, for one action."""
    calls = OwnCalls(caller.credentials)
    try:
        async with asyncio.timeout(SECONDS):
            yield Operations(calls, namespace, kinds=known_kinds())
    except KubedlError as error:
        raise from_client(error) from error
    except TimeoutError:
        raise RefusalError(
            504,
            "no answer in time",
            f"the API server took longer than {SECONDS:.0f} seconds",
            "It may still have been done: load the page again.",
        ) from None
    finally:
        await calls.close()


def from_client(error: KubedlError) -> RefusalError:
    """Return the answer for an error of the client. Its next steps are commands, so the console has its own."""
    if isinstance(error, Unauthorized):
        return signed_out()
    why = error.why or "the API server does not say why"
    for kind, status, step in _ANSWERS:
        if isinstance(error, kind):
            return RefusalError(status, error.message, why, step, _fields(error))
    return RefusalError(502, error.message, why, "Try again.")


def _fields(error: KubedlError) -> list[FieldProblem]:
    """Return what the API server said about each field."""
    causes = error.__cause__.causes if isinstance(error.__cause__, ApiError) else ()
    return [
        FieldProblem(field=one.field[:LONGEST_FIELD], message=one.message[:LONGEST_FIELD])
        for one in causes[:MOST_FIELDS]
        if one.field
    ]


@cache
def known_kinds() -> tuple[JobKind, ...]:
    """Return the kinds of jobs, so that an action does not ask the API server for them."""
    return tuple(JobKind(kind=one.kind, plural=one.plural) for one in job_resources().values())
