"""Questions to the API server: whose token is this, and what may they do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kubedl.console.people import Caller, Person, fingerprint, is_token
from kubedl.console.rights import Question
from kubedl.kube import codec
from kubedl.kube.client import Client
from kubedl.kube.errors import ApiError, UnauthorizedError
from kubedl.kube.types.meta import ObjectMeta, Record, Resource

KNOWN_SECONDS = 55.0  # a stream asks every five seconds, so a token that was taken back ends within a minute
REFUSED_SECONDS = 10.0
MOST_TOKENS = 10_000


class UserInfo(Record, frozen=True):
    """A user as reviews name it."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] | None = None

    def person(self) -> Person:
        """Return the person."""
        return Person.of(self.username, self.uid, self.groups, self.extra)


class _Status(Record, frozen=True):
    authenticated: bool = False
    allowed: bool = False
    denied: bool = False
    user: UserInfo = UserInfo()
    user_info: UserInfo = UserInfo()


class _Review(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    status: _Status = _Status()


_AUTHENTICATION, _AUTHORIZATION = "authentication.k8s.io", "authorization.k8s.io"
TOKEN_REVIEWS = Resource(_Review, "TokenReview", "tokenreviews", group=_AUTHENTICATION, namespaced=False)
SELF_REVIEWS = Resource(_Review, "SelfSubjectReview", "selfsubjectreviews", group=_AUTHENTICATION, namespaced=False)
ACCESS_REVIEWS = Resource(
    _Review, "SubjectAccessReview", "subjectaccessreviews", group=_AUTHORIZATION, namespaced=False
)
OWN_ACCESS_REVIEWS = Resource(
    _Review, "SelfSubjectAccessReview", "selfsubjectaccessreviews", group=_AUTHORIZATION, namespaced=False
)


@dataclass
class TokenReviews:
    """Whose token it is, remembered for less than a minute."""

    client: Client
    clock: Callable[[], float]
    known_seconds: float = KNOWN_SECONDS
    _known: dict[bytes, tuple[Person | None, float]] = field(default_factory=dict)

    async def person(self, token: str) -> Person | None:
        """Return the owner of a token; None if the API server does not know it."""
        if not is_token(token):
            return None
        key, now = fingerprint(token), self.clock()
        found, until = self._known.get(key, (None, float("-inf")))
        if now < until:
            return found
        answer = await _asked(self.client, TOKEN_REVIEWS, {"token": token})
        person = answer.user.person() if answer.authenticated and answer.user.username else None
        if len(self._known) >= MOST_TOKENS:
            self._known = {one: value for one, value in self._known.items() if now < value[1]}
        if len(self._known) < MOST_TOKENS:
            self._known[key] = person, now + (self.known_seconds if person is not None else REFUSED_SECONDS)
        return person


def access_review(client: Client) -> Callable[[Caller, Question], Any]:
    """Return the question of a console with an account of its own: may this person?"""

    async def review(caller: Caller, question: Question) -> bool:
        person = caller.person
        spec = {
            "user": person.name,
            "uid": person.uid,
            "groups": list(person.groups),
            "extra": {name: list(values) for name, values in person.extra},
            "resourceAttributes": _attributes(question),
        }
        status = await _asked(client, ACCESS_REVIEWS, spec)
        return status.allowed and not status.denied

    return review


async def own_access_review(caller: Caller, question: Question) -> bool:
    """Ask as the caller: may I? For a console that runs with a person's own kubeconfig."""
    client = Client(caller.credentials)
    try:
        status = await _post(client, OWN_ACCESS_REVIEWS, {"resourceAttributes": _attributes(question)})
    finally:
        await client.close()
    return status.allowed and not status.denied


async def who_am_i(client: Client) -> Person:
    """Return whom the API server takes this client for."""
    person = (await _post(client, SELF_REVIEWS, None)).user_info.person()
    if not person.name:
        raise UnauthorizedError(401, "Unauthorized", "the API server does not know who this is")
    return person


def _attributes(question: Question) -> dict[str, str]:
    resource, _, part = question.resource.partition("/")
    return {
        "verb": question.verb,
        "group": question.group,
        "resource": resource,
        "subresource": part,
        "namespace": question.namespace,
    }


async def _asked(client: Client, resource: Resource[_Review], spec: Mapping[str, Any]) -> _Status:
    """Ask with the account of the console. If that is not accepted, nobody else is signed out."""
    try:
        return await _post(client, resource, spec)
    except UnauthorizedError as error:
        raise ApiError(error.code, error.reason, "it does not accept the account of this console") from error


async def _post(client: Client, resource: Resource[_Review], spec: Mapping[str, Any] | None) -> _Status:
    body: dict[str, Any] = {"apiVersion": resource.api_version, "kind": resource.kind}
    if spec is not None:
        body["spec"] = spec
    answer = await client.call("create", resource, resource.path(), body=body)
    try:
        return codec.decode(answer, _Review).status
    except msgspec.MsgspecError as error:
        raise UnauthorizedError(0, "", f"cannot read the answer to a {resource.kind}: {error}") from error
