"""Options that every kind of job has: code from git, and TensorBoard.

The patterns are defined once, for the CEL rules and for the operator's own checks: CEL rules cannot see the annotations
of KubeDL 0.5, which must match the same patterns.
"""

from typing import Annotated, ClassVar

from msgspec import Meta

from kubedl.kube.codec import RawObject
from kubedl.kube.types.meta import Record
from kubedl.schema.structural import MAX_INT32, Rule

_HOST = r"([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:.]+\])"
_USER = r"([A-Za-z0-9_][A-Za-z0-9_.-]*@)?"
# A known protocol, or user@host:path. A leading '-' would be an option of git, `ext::` runs a command, and a plain path
# would refer to the container's own file system.
ADDRESS = rf"^((https?|git)://{_HOST}(:[0-9]+)?/[!-~]*|ssh://{_USER}{_HOST}(:[0-9]+)?/[!-~]*|{_USER}{_HOST}:/?[!-,.0-9;-~][!-~]*)$"
LONGEST_ADDRESS, LONGEST_NAME, LONGEST_DIRECTORY, LONGEST_ROOT, LONGEST_IMAGE = 2048, 255, 255, 1024, 1024
MOST_VARIABLES = 32
LONGEST_LOG_DIR = 4096
CREDENTIALS = r"^https?://[^/]*@|^[A-Za-z+]+://[^/@]*:[^/@]*@"
NAME_IN_GIT = r"^[A-Za-z0-9_][A-Za-z0-9._/#+@=-]*$"
DIRECTORY = r"^[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*$"
ABSOLUTE = r"^(/[A-Za-z0-9_][A-Za-z0-9_.-]*)+$"

IN_CLEAR_TEXT = (
    "http:// would send the password of secretName in clear text; use https:// or ssh://, or remove secretName"
)
NO_ADDRESS = "must be https://…, http://…, ssh://…, git://… or user@host:path"
NO_CREDENTIALS = (
    "credentials in the URL are visible to every reader of the job; put them into a Secret (username and password, "
    "or ssh-privatekey and known_hosts) and set spec.codeSource.secretName"
)
NO_NAME = "a branch, tag or commit: letters, digits and . _ / # + @ = -, beginning with a letter, digit or _"
NO_DIRECTORY = "a directory below rootPath: letters, digits and . _ -, where no name begins with . or -"
NO_ROOT = "an absolute path in which no name begins with . or -"
LONGEST_BOARD_NAME = 63 - len("-tensorboard-0")  # of a job: the TensorBoard Service has a DNS name
CHOSEN_ONCE = "immutable, so that all replicas run the same code; create a new job"


def _matches(field: str, pattern: str, message: str) -> Rule:
    there = f"!has(self.{field}) || self.{field} == '' || "
    return Rule(f"{there}self.{field}.matches(r'{pattern}')", message, field=f".{field}")


def _unchanged(field: str) -> Rule:
    new, old = (f"(has({one}.{field}) ? {one}.{field} : '')" for one in ("self", "oldSelf"))
    return Rule(f"{new} == {old}", CHOSEN_ONCE, field=f".{field}", reason="FieldValueForbidden")


class CodeSource(Record, frozen=True):
    """Code that is cloned from a git repository before each replica starts. All replicas get the same commit."""

    repository: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=LONGEST_ADDRESS,
            description="The URL of the repository, without user name and password.",
        ),
    ]
    branch: Annotated[
        str,
        Meta(
            max_length=LONGEST_NAME,
            description="The branch whose latest commit is used. Defaults to the default branch of the repository.",
        ),
    ] = ""
    revision: Annotated[
        str,
        Meta(
            max_length=LONGEST_NAME,
            description="A commit, tag or branch to use instead of the latest commit of branch.",
        ),
    ] = ""
    destination: Annotated[
        str,
        Meta(
            max_length=LONGEST_DIRECTORY,
            description="The directory of the code, relative to the workingDir of each container, or to rootPath for "
            "containers without workingDir. Defaults to the name of the repository.",
        ),
    ] = ""
    root_path: Annotated[
        str,
        Meta(
            max_length=LONGEST_ROOT,
            description="The parent directory of the code in containers without workingDir. Defaults to /code.",
        ),
    ] = "/code"
    secret_name: Annotated[
        str,
        Meta(
            max_length=253,
            description="The name of a Secret with username and password (kubernetes.io/basic-auth), or with "
            "ssh-privatekey (kubernetes.io/ssh-auth) and known_hosts. Rejected with an http:// URL, which would send "
            "the password in clear text.",
        ),
    ] = ""
    depth: Annotated[
        int,
        Meta(
            ge=0,
            le=MAX_INT32,
            description="The number of commits to fetch. 0 fetches the whole history. Defaults to 1.",
        ),
    ] = 1
    max_failures: Annotated[
        int,
        Meta(
            ge=1,
            le=100,
            description="The number of consecutive failures after which the job fails because its code cannot be "
            "fetched. Defaults to 3.",
        ),
    ] = 3
    image: Annotated[
        str,
        Meta(
            max_length=LONGEST_IMAGE,
            description="An image with git and sh. Defaults to the operator's flag --git-image.",
        ),
    ] = ""
    env: Annotated[
        tuple[RawObject, ...],
        Meta(max_length=MOST_VARIABLES, description="Additional environment variables for git, for example a proxy."),
    ] = ()
    resources: Annotated[
        RawObject | None,
        Meta(
            description="Resource requests and limits of the init container that fetches the code. Defaults to small "
            "ones."
        ),
    ] = None

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            f"!self.repository.matches(r'{CREDENTIALS}')", NO_CREDENTIALS, ".repository", reason="FieldValueForbidden"
        ),
        Rule(f"self.repository.matches(r'{ADDRESS}')", NO_ADDRESS, ".repository"),
        Rule(
            "!self.repository.startsWith('http://') || !has(self.secretName) || self.secretName == ''",
            IN_CLEAR_TEXT,
            ".secretName",
            reason="FieldValueForbidden",
        ),
        _matches("branch", NAME_IN_GIT, NO_NAME),
        _matches("revision", NAME_IN_GIT, NO_NAME),
        _matches("destination", DIRECTORY, NO_DIRECTORY),
        _matches("rootPath", ABSOLUTE, NO_ROOT),
        Rule("self.repository == oldSelf.repository", CHOSEN_ONCE, ".repository", reason="FieldValueForbidden"),
        _unchanged("branch"),
        _unchanged("revision"),
    )


class TensorBoard(Record, frozen=True):
    """A TensorBoard that shows the logs of the job while it runs, and for some time after."""

    log_dir: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=LONGEST_LOG_DIR,
            description="The log directory: a path in a volume that the replicas mount, or a URL that TensorBoard "
            "can read.",
        ),
    ]
    image: Annotated[
        str, Meta(max_length=1024, description="An image with TensorBoard. Defaults to the image of the replicas.")
    ] = ""
    ttl_seconds_after_finished: Annotated[
        int,
        Meta(
            ge=0,
            le=MAX_INT32,
            description="Seconds that TensorBoard keeps running after the job has finished. Defaults to 0.",
        ),
    ] = 0
    resources: Annotated[
        RawObject | None, Meta(description="Resource requests and limits of TensorBoard. Defaults to small ones.")
    ] = None


def has_credentials(address: str) -> bool:
    """Match CREDENTIALS in linear time: a user name with http, or a password with any protocol."""
    protocol, found, rest = address.partition("://")
    server, _, _ = rest.partition("/")
    if not found or not protocol.replace("+", "a").isalpha() or not protocol.isascii():
        return False
    user, at, _ = server.partition("@")
    return bool(at) and (protocol in {"http", "https"} or ":" in user)
