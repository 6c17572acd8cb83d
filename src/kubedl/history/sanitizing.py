"""What a database cannot store, or must not, is removed from texts: NUL, half characters, credentials in URLs."""

import string
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

LONGEST_TEXT = 4096  # characters of one text in a body
MOST_ITEMS = 256  # of one list or object in a body
DEEPEST = 12
_OTHERS = f"{string.digits}+.-"  # characters of the scheme of a URL, after the first one
_SCHEME = f"{string.ascii_letters}{_OTHERS}"


def text(value: str, longest: int) -> str:
    """Return a text that every database accepts, cut to a length."""
    cut = value[:longest].replace("\0", "")
    return cut.encode("utf-8", "replace").decode()


def without_credentials(url: str) -> str:
    """Return a URL without user, password, query and fragment; empty if it cannot be parsed.

    What has no scheme (`git@host:path`) has no password either, and is kept.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    if not parts.scheme or not parts.netloc:
        return url if "@" not in url.partition("/")[0] or ":" not in url.partition("@")[0] else ""
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def message(value: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text without credentials in the URL that it is, or in those that it quotes, cut to a length."""
    if "://" in value:
        # What is cut off later need not be read, but for the end of a URL, which tells what its beginning is.
        whole = without_credentials(value[: 2 * LONGEST_TEXT])
        value = "".join(_without_credentials(whole))
    return text(value, longest)


def _without_credentials(value: str) -> Iterator[str]:
    """Yield a text in parts, with its URLs stripped of credentials. A URL ends with the word that it is in."""
    while "://" in value:
        before, _, after = value.partition("://")
        words = after.split(maxsplit=1) if after[:1].strip() else []
        rest = words[0] if words else ""
        scheme = before[len(before.rstrip(_SCHEME)) :].lstrip(_OTHERS)
        yield before.removesuffix(scheme)
        yield without_credentials(f"{scheme}://{rest}") if rest else f"{scheme}://"
        value = after.removeprefix(rest)
    yield value


def body(value: Any, depth: int = 0) -> Any:  # noqa: ANN401 - JSON
    """Return a JSON document with bounded texts, lists and depth, without credentials in URLs."""
    if isinstance(value, str):
        return message(value)
    if depth >= DEEPEST:
        return None
    if isinstance(value, dict):
        chosen = list(value.items())[:MOST_ITEMS]
        return {text(key, 256): body(item, depth + 1) for key, item in chosen}
    if isinstance(value, list):
        return [body(item, depth + 1) for item in value[:MOST_ITEMS]]
    return value
