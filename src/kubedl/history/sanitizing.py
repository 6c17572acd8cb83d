"""What a database cannot store, or must not, is removed from texts: NUL, half characters, credentials in URLs."""

from typing import Any
from urllib.parse import urlsplit

LONGEST_TEXT = 4096  # characters of one text in a body
MOST_ITEMS = 256  # of one list or object in a body
DEEPEST = 12


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


def body(value: Any, depth: int = 0) -> Any:  # noqa: ANN401 - JSON
    """Return a JSON document with bounded texts, lists and depth, without credentials in URLs."""
    if isinstance(value, str):
        return text(without_credentials(value) if "://" in value else value, LONGEST_TEXT)
    if depth >= DEEPEST:
        return None
    if isinstance(value, dict):
        chosen = list(value.items())[:MOST_ITEMS]
        return {text(key, 256): body(item, depth + 1) for key, item in chosen}
    if isinstance(value, list):
        return [body(item, depth + 1) for item in value[:MOST_ITEMS]]
    return value
