"""What a job of any kind may ask for beside its replicas: code from git, and a TensorBoard.

What may be written is said here once, as regular expressions that the API server's rules and our own reader share: the
annotations of the first KubeDL, which no rule can see, are held to the same.
"""

from typing import Annotated, ClassVar

from msgspec import Meta

from kubedl.schema.structural import Rule
from kubedl.wire.codec import Opaque
from kubedl.wire.meta import Record

_HOST = r"([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:.]+\])"
_USER = r"([A-Za-z0-9_][A-Za-z0-9_.-]*@)?"
# A known protocol, or user@host:path. Whatever begins with '-' would be an option of git, `ext::` runs a command, and
# a path would be one of the container's own.
ADDRESS = rf"^((https?|git)://{_HOST}(:[0-9]+)?/[!-~]*|ssh://{_USER}{_HOST}(:[0-9]+)?/[!-~]*|{_USER}{_HOST}:/?[!-,.0-9;-~][!-~]*)$"
LONGEST_ADDRESS, LONGEST_NAME, LONGEST_DIRECTORY, LONGEST_ROOT, LONGEST_IMAGE = 2048, 255, 255, 1024, 1024
MOST_VARIABLES = 32
LONGEST_LOG_DIR = 4096
CREDENTIALS = r"^https?://[^/]*@|^[A-Za-z+]+://[^/@]*:[^/@]*@"
NAME_IN_GIT = r"^[A-Za-z0-9_][A-Za-z0-9._/#+@=-]*$"
DIRECTORY = r"^[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*$"
ABSOLUTE = r"^(/[A-Za-z0-9_][A-Za-z0-9_.-]*)+$"

IN_CLEAR_TEXT = "http:// would send the password of secretName in clear text; take https:// or ssh://, or no Secret"
NO_ADDRESS = "an address is https://…, http://…, ssh://…, git://… or user@host:path"
NO_CREDENTIALS = (
    "everybody who sees the job would see these credentials; put them into a Secret (username and password, or "
    "ssh-privatekey and known_hosts) and name it in spec.codeSource.secretName"
)
NO_NAME = "a branch, tag or commit: letters, digits and . _ / # + @ = -, not beginning with one of these signs but _"
NO_DIRECTORY = "a directory below rootPath: names of letters, digits and . _ - that begin with none of . and -"
NO_ROOT = "an absolute path whose names begin with none of . and -"
LONGEST_BOARD_NAME = 63 - len("-tensorboard-0")  # of a job: its TensorBoard's Service has a name in DNS
CHOSEN_ONCE = "the code of a job is chosen once, so that all its replicas run the same; make a new job"


def _matches(field: str, pattern: str, message: str) -> Rule:
    there = f"!has(self.{field}) || self.{field} == '' || "
    return Rule(f"{there}self.{field}.matches(r'{pattern}')", message, field=f".{field}")


def _unchanged(field: str) -> Rule:
    new, old = (f"(has({one}.{field}) ? {one}.{field} : '')" for one in ("self", "oldSelf"))
    return Rule(f"{new} == {old}", CHOSEN_ONCE, field=f".{field}", reason="FieldValueForbidden")


class CodeSource(Record, frozen=True):
    """Code that every replica gets from a git repository before it starts, all of them the same commit."""

    repository: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=LONGEST_ADDRESS,
            description="The repository's address, without user name and password.",
        ),
    ]
    branch: Annotated[
        str,
        Meta(
            max_length=LONGEST_NAME,
            description="The branch whose newest commit is taken; the repository's own by default.",
        ),
    ] = ""
    revision: Annotated[
        str, Meta(max_length=LONGEST_NAME, description="The commit, or a tag or branch, that is taken instead.")
    ] = ""
    destination: Annotated[
        str,
        Meta(
            max_length=LONGEST_DIRECTORY,
            description="The directory that the code is in, below each container's workingDir, or below rootPath where "
            "it has none. By default the repository's name.",
        ),
    ] = ""
    root_path: Annotated[
        str, Meta(max_length=LONGEST_ROOT, description="Where the code is in containers that have no workingDir.")
    ] = "/code"
    secret_name: Annotated[
        str,
        Meta(
            max_length=253,
            description="A Secret with username and password (kubernetes.io/basic-auth), or with ssh-privatekey "
            "(kubernetes.io/ssh-auth) and known_hosts. Not with an address of http://, which would send it in clear.",
        ),
    ] = ""
    depth: Annotated[int, Meta(ge=0, le=2**31 - 1, description="How many commits are fetched; 0 fetches all.")] = 1
    max_failures: Annotated[
        int, Meta(ge=1, le=100, description="After so many failures in a row the code counts as not to be had.")
    ] = 3
    image: Annotated[
        str, Meta(max_length=LONGEST_IMAGE, description="An image with git and sh. The operator has a default.")
    ] = ""
    env: Annotated[
        tuple[Opaque, ...],
        Meta(
            max_length=MOST_VARIABLES, description="Further variables for git, as in a container: a proxy, for example."
        ),
    ] = ()
    resources: Annotated[
        Opaque | None, Meta(description="What fetching may use, as in a container. Small by default.")
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
    """A TensorBoard that shows what the job logs, while it runs and for some time after."""

    log_dir: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=LONGEST_LOG_DIR,
            description="Where the logs are: a directory of a volume that the replicas mount, or an address that "
            "TensorBoard can read.",
        ),
    ]
    image: Annotated[
        str, Meta(max_length=1024, description="An image with TensorBoard. By default that of the replicas.")
    ] = ""
    ttl_seconds_after_finished: Annotated[
        int, Meta(ge=0, le=2**31 - 1, description="How long it stays when the job has ended.")
    ] = 0
    resources: Annotated[Opaque | None, Meta(description="What it may use, as in a container. Small by default.")] = (
        None
    )


def has_credentials(address: str) -> bool:
    """What CREDENTIALS says, in one pass: a user name with http, a password with any protocol."""
    protocol, found, rest = address.partition("://")
    server, _, _ = rest.partition("/")
    if not found or not protocol.replace("+", "a").isalpha() or not protocol.isascii():
        return False
    user, at, _ = server.partition("@")
    return bool(at) and (protocol in {"http", "https"} or ":" in user)
