"""Errors as people read them: what failed, why, and what to do next. Pure."""

import shlex
from collections.abc import Sequence

import msgspec

from kubedl.console.wire import Problem
from kubedl.console.wire_base import FieldProblem
from kubedl.kube.errors import ApiError, ForbiddenError, NotFoundError, UnauthorizedError, UnknownOutcomeError


class RefusalError(Exception):
    """A request is answered with an error."""

    def __init__(self, status: int, what: str, why: str, next_step: str, fields: Sequence[FieldProblem] = ()) -> None:
        super().__init__(f"{what}: {why}")
        self.status, self.what, self.why, self.next_step, self.fields = status, what, why, next_step, fields

    def body(self, request: str) -> bytes:
        """Return the answer's body."""
        return msgspec.json.encode(
            Problem(what=self.what, why=self.why, next=self.next_step, request=request, fields=self.fields)
        )


def signed_out() -> RefusalError:
    """Return the answer to somebody who is not signed in, or no longer."""
    return RefusalError(401, "not signed in", "there is no valid proof of who you are", "Sign in again.")


def no_such_job(namespace: str, kind: str, name: str) -> RefusalError:
    """Return the answer about a job that is not there."""
    return RefusalError(
        404,
        f"no {kind} {namespace}/{name}",
        "it does not exist, or was deleted",
        "Look in the list of jobs, or in the history: kubedl history list",
    )


def forbidden(user: str, verb: str, resource: str, namespace: str) -> RefusalError:
    """Return the answer about something that this person may not see, whether it exists or not."""
    place = f" in {namespace}" if namespace else ""
    what = f"may not {verb} {resource}{place}"
    why = f"{user} has no right to {verb} {resource}{place}"
    who = shlex.quote(user)
    if namespace:
        where = shlex.quote(namespace)  # an address may have any text in its place
        binding = f"kubectl create rolebinding kubedl-view --clusterrole=view --user={who} --namespace={where}"
        return RefusalError(403, what, why, f"Ask an administrator: {binding}")
    name = f"{verb}-{resource.partition('.')[0]}"
    role = f"kubectl create clusterrole {name} --verb={verb} --resource={resource}"
    binding = f"kubectl create clusterrolebinding {name} --clusterrole={name} --user={who}"
    return RefusalError(403, what, why, f"Ask an administrator: {role} && {binding}")


def not_read_yet(resources: Sequence[str]) -> RefusalError:
    """Return the answer while the console has not listed what the answer is made of."""
    why = f"the console has just started, and has not read all {', '.join(resources)}"
    return RefusalError(503, "not known yet", why, "It is asked again by itself; else look at the console's log.")


def from_api(error: ApiError, what: str) -> RefusalError:
    """Return the answer for an error of the API server."""
    if isinstance(error, UnauthorizedError):
        return signed_out()
    if isinstance(error, ForbiddenError):
        return RefusalError(403, what, error.message, "Ask an administrator for this right.")
    if isinstance(error, NotFoundError):
        return RefusalError(404, what, error.message, "It may have been deleted; load the page again.")
    if isinstance(error, UnknownOutcomeError) and error.code == 0:  # the reason, with addresses, is in the log
        return RefusalError(502, what, "the API server does not answer", "Try again when it does.")
    return RefusalError(502, what, f"the API server answered: {error.message}", "Try again.")
