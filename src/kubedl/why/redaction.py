"""Removes what must not leave the cluster from evidence: values of variables, arguments, credentials in texts.

It is applied when evidence is collected, so a diagnosis from a file reads exactly what a live one reads.
"""

from collections.abc import Mapping
from typing import Any

LONGEST_TEXT, MOST_ITEMS, DEEPEST = 4096, 1000, 40
DROPPED = frozenset({"args", "data", "stringData", "binaryData", "httpHeaders"})
OWN_ANNOTATIONS = ("kubedl.io/", "training.kubedl.io/", "serving.kubedl.io/", "model.kubedl.io/")
SECRET_WORDS = ("password", "passwd", "secret", "token", "apikey", "api_key", "api-key", "authorization", "credential")
HIDDEN = "***"


def clean(value: Any, depth: int = 0) -> Any:  # noqa: ANN401 - JSON
    """Return an object of the API server without secrets, bounded in size."""
    if isinstance(value, str):
        return masked(value)
    if depth >= DEEPEST:
        return None
    if isinstance(value, Mapping):
        return {
            str(name)[:256]: _field(str(name), inner, depth)
            for name, inner in list(value.items())[:MOST_ITEMS]
            if name not in DROPPED
        }
    if isinstance(value, list):
        return [clean(one, depth + 1) for one in value[:MOST_ITEMS]]
    return value


def _field(name: str, value: Any, depth: int) -> Any:  # noqa: ANN401 - JSON
    if name == "env" and isinstance(value, list):
        return [{"name": str(one.get("name"))[:256]} for one in value[:MOST_ITEMS] if isinstance(one, Mapping)]
    if name == "command" and isinstance(value, list):
        return [masked(str(one)) for one in value[:1]]
    if name == "annotations" and isinstance(value, Mapping):
        return {key: masked(str(text)) for key, text in value.items() if str(key).startswith(OWN_ANNOTATIONS)}
    if name == "managedFields" and isinstance(value, list):
        return [_manager(one) for one in value[:MOST_ITEMS] if isinstance(one, Mapping)]
    return clean(value, depth + 1)


def _manager(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return who wrote when, and whether `spec.suspend` was written."""
    fields = entry.get("fieldsV1")
    spec = fields.get("f:spec") if isinstance(fields, Mapping) else None
    kept = {name: entry[name] for name in ("manager", "operation", "time", "subresource") if name in entry}
    return kept | ({"writesSuspend": True} if isinstance(spec, Mapping) and "f:suspend" in spec else {})


def masked(text: str) -> str:
    """Return a text without credentials: of addresses, and after words such as token."""
    text = text[:LONGEST_TEXT]
    lower = text.lower()
    if "://" not in text and not any(word in lower for word in (*SECRET_WORDS, "bearer")):
        return text
    return "\n".join(" ".join(_masked_words(line.split(" "))) for line in text.split("\n"))


def _masked_words(given: list[str]) -> list[str]:
    found: list[str] = []
    hide_next = False
    for word in given:
        lower = word.lower()
        key, sign, value = _pair(word)
        if hide_next and word:
            found.append(HIDDEN)
            hide_next = lower.strip(":=\"'") in ("bearer", "basic")
        elif sign and value.strip("\"'"):
            found.append(f"{_address(key)}{sign}{HIDDEN}")
        else:
            found.append(_address(word))
            hide_next = lower.strip(":=\"'") == "bearer" or (
                lower.endswith((":", "=")) and any(one in lower for one in SECRET_WORDS) and "/" not in lower
            )
    return found


def _pair(word: str) -> tuple[str, str, str]:
    """Return a word in two parts, at the first sign behind a name such as token; there may be others before it."""
    lower = word.lower()
    start = min((lower.find(one) + len(one) for one in SECRET_WORDS if one in lower), default=len(word))
    scheme = word.find("://")  # behind it a colon precedes a port
    signs = "=" if 0 <= scheme < start else "=:"
    for place in range(start, len(word) - 1):
        if word[place] in signs and not word.startswith("//", place + 1):
            return word[:place], word[place], word[place + 1 :]
    return word, "", ""


def _address(word: str) -> str:
    """Return an address without user and password."""
    scheme, found, rest = word.partition("://")
    if not found:
        return word
    host, slash, path = rest.partition("/")
    return f"{scheme}://{f'{HIDDEN}@' if '@' in host else ''}{host.rpartition('@')[2]}{slash}{path}"
