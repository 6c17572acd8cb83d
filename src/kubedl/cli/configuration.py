"""What flags are by default: from the environment, from `kubedl.toml` of a project, or from the user's own file.

A project's file comes with a checkout, so it may say what is run where, but not to whom credentials are sent.
"""

import os
import os.path
from dataclasses import dataclass
from typing import Any

import click

PROJECT_FILE = "kubedl.toml"
LARGEST = 64 * 1024  # bytes


@dataclass(frozen=True)
class Key:
    """A setting."""

    help: str
    in_project: bool = True  # whether a project's file may have it


KEYS = {
    "namespace": Key("Namespace"),
    "context": Key("Context of the kubeconfig"),
    "image": Key("Image of `run` and `submit`"),
    "queue": Key("Queue of `run` and `submit`"),
    "model-repo": Key("Repository of model images"),
    "color": Key("auto, always or never"),
    "request-timeout": Key("Seconds for one request"),
    "history-cluster": Key("Name of the cluster in the history"),
    "kubeconfig": Key("Kubeconfig", in_project=False),
    "cluster": Key("Cluster of the kubeconfig", in_project=False),
    "user": Key("User of the kubeconfig", in_project=False),
    "as": Key("User to impersonate", in_project=False),
    "server": Key("Address of the API server", in_project=False),
    "history-database-file": Key("File with the address of the history's database", in_project=False),
    "logs-endpoint": Key("Address of the storage of archived logs", in_project=False),
    "logs-region": Key("Its region", in_project=False),
    "logs-ca-file": Key("CA certificates of it", in_project=False),
}
SECRETS = ("token",)  # flags that no file should have


@dataclass(frozen=True)
class Value:
    """A value, and where it comes from."""

    text: str
    origin: str


def variable(key: str) -> str:
    """Return the environment variable of a key."""
    return f"KUBEDL_{key.upper().replace('-', '_')}"


def find(key: str) -> Value | None:
    """Return the value of a key: of the environment, the project, or the user."""
    text = os.environ.get(variable(key))
    if text:
        check(key, text, f"${variable(key)}")
        return Value(text, f"${variable(key)}")
    for file, is_project in ((project_file(), True), (user_file(), False)):
        found = read(file, is_project=is_project).get(key) if file is not None else None
        if found:
            return Value(found, str(file))
    return None


def text(key: str) -> str | None:
    """Return the value of a key."""
    found = find(key)
    return found.text if found is not None else None


class ConfiguredOption(click.Option):
    """A flag whose default is the setting of the same name."""

    def get_default(self, ctx: click.Context, call: bool = True) -> Any:  # noqa: ANN401 - click's
        return text(str(self.name).replace("_", "-")) or super().get_default(ctx, call)


def user_file() -> str:
    """Return the user's own file."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")  # noqa: PTH111, PTH118
    return os.path.join(home, "kubedl", "config.toml")  # noqa: PTH118 - pathlib takes as long as the rest


def project_file() -> str | None:
    """Return the project's file: in the working directory, or the nearest one above it."""
    try:
        place = os.getcwd()  # noqa: PTH109
    except OSError:  # it was deleted
        return None
    while True:
        file = os.path.join(place, PROJECT_FILE)  # noqa: PTH118
        if os.path.isfile(file):  # noqa: PTH113
            return file
        above = os.path.dirname(place)  # noqa: PTH120
        if above == place:
            return None
        place = above


def read(file: str, *, is_project: bool) -> dict[str, str]:
    """Return the values of a file; nothing if there is none. Raises UsageError about what it cannot have."""
    try:
        with open(file, "rb") as opened:  # noqa: PTH123
            content = opened.read(LARGEST + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise click.UsageError(f"cannot read {file}: {error.strerror}\nnext  correct the file") from error
    values = parsed(content, file)
    for key, value in values.items():
        check(key, str(value), file)
        if is_project and not KEYS[key].in_project:
            why = "a project's file does not say to whom credentials are sent"
            raise click.UsageError(f"{file} has {key}: {why}\nnext  kubedl config set {key} VALUE")
    return {key: str(value) for key, value in values.items()}


def parsed(content: bytes, file: str) -> dict[str, Any]:
    """Return the values of a file's content."""
    import tomllib  # noqa: PLC0415 - most people have no file

    if len(content) > LARGEST:
        raise click.UsageError(f"{file} is larger than 64 KiB\nnext  correct the file")
    try:
        values = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{file} is no TOML: {error}\nnext  correct the file") from error
    for key, value in values.items():
        if not isinstance(value, (str, int, float)) or isinstance(value, bool):
            raise click.UsageError(f'{file}: {key} is neither text nor a number\nnext  {key} = "VALUE"')
    return values


def check_key(key: str, where: str = "") -> None:
    """Refuse what is no setting."""
    if key in SECRETS:
        raise click.UsageError(f"{where}{key} is a secret, and no setting\nnext  the kubeconfig, or --{key}")
    if key not in KEYS:
        import difflib  # noqa: PLC0415 - only after a mistake

        close = difflib.get_close_matches(key, KEYS, n=2)
        raise click.UsageError(f"{where}there is no setting {key[:100]}\nnext  {', '.join(close or KEYS)}")


def check(key: str, value: str, file: str = "") -> None:
    """Refuse what is no setting, and values that it cannot have."""
    where = f"{file}: " if file else ""
    check_key(key, where)
    if not value.isprintable() or not value:
        raise click.UsageError(f"{where}{key} has no value that can be printed\nnext  kubedl config unset {key}")
    if key == "color" and value not in ("auto", "always", "never"):
        raise click.UsageError(f"{where}color {value[:100]} is not understood\nnext  auto, always or never")
    if key == "request-timeout" and not _is_seconds(value):
        raise click.UsageError(f"{where}request-timeout {value[:100]} is not understood\nnext  seconds, such as 30")


def _is_seconds(value: str) -> bool:
    try:
        return 0 < float(value) < 86400
    except ValueError:
        return False
