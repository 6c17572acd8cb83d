"""A server's batching, written where the server looks for it: beside the model.

The model itself is never changed: a directory of links gets a file of its own in the place of one link, and what that
file said before is kept, but for the setting.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from kubedl.serving.loader.failure import LoadingError

TRITON, MLSERVER = "config.pbtxt", "model-settings.json"
_TOP = re.compile(r"\s*(max_batch_size|dynamic_batching)\s*(:\s*[^\s,;{]+|:?\s*\{)\s*[,;]?")


def triton(target: Path, size: int, micros: int | None) -> None:
    """Every model of the repository gets its `max_batch_size` and `dynamic_batching`."""
    models = [entry for entry in sorted(target.iterdir()) if entry.is_dir()]
    if not models:
        raise LoadingError("SettingRefused", "Triton's models lie in directories, and there is none")
    delay = f" max_queue_delay_microseconds: {micros} " if micros is not None else ""
    for model in models:
        before = (model / TRITON).read_text() if (model / TRITON).exists() else ""
        text = f"{without_batching(before).rstrip()}\nmax_batch_size: {size}\ndynamic_batching {{{delay}}}\n"
        _put(target, model / TRITON, text.lstrip())


def mlserver(target: Path, size: int, seconds: float) -> None:
    """Every model gets its `max_batch_size` and `max_batch_time`."""
    for path in list(_found(target, MLSERVER)):
        try:
            settings = json.loads(path.read_bytes())
            settings |= {"max_batch_size": size, "max_batch_time": seconds}
        except (ValueError, TypeError) as error:
            raise LoadingError("SettingRefused", f"{path.name} of the model cannot be read: {error}") from error
        _put(target, path, json.dumps(settings, indent=2) + "\n")


def without_batching(text: str) -> str:
    """A configuration of Triton (protobuf text) without the two settings at its top level."""
    kept, depth, at = [], 0, 0
    while at < len(text):
        found = _TOP.match(text, at) if depth == 0 and (at == 0 or text[at - 1] in "\n\t ,;}{") else None
        if found is not None:
            at = _closed(text, found.end()) if found[2].endswith("{") else found.end()
            continue
        if text[at] == "#":
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
        elif text[at] in "\"'":
            end = _unquoted(text, at)
        else:
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(text[at], 0)
            end = at + 1
        kept.append(text[at:end])
        at = end
    return "".join(kept)


def _closed(text: str, at: int) -> int:
    """The end of a message whose brace was just opened."""
    depth = 1
    while at < len(text) and depth:
        if text[at] in "\"'":
            at = _unquoted(text, at)
            continue
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return at


def _unquoted(text: str, at: int) -> int:
    """The end of a string that begins there."""
    quote, at = text[at], at + 1
    while at < len(text) and text[at] != quote:
        at += 2 if text[at] == "\\" else 1
    return at + 1


def _found(target: Path, name: str) -> Iterator[Path]:
    """Files of that name at the root, or one directory below."""
    for place in (target, *(entry for entry in sorted(target.iterdir()) if entry.is_dir())):
        if (place / name).is_file():
            yield place / name


def _put(target: Path, path: Path, text: str) -> None:
    """A file in the place of what is there; on the way a link to a directory becomes a directory of links."""
    place = path.parent
    if place != target and place.is_symlink():
        original = place.resolve()
        place.unlink()
        place.mkdir(mode=0o755)
        for entry in original.iterdir():
            (place / entry.name).symlink_to(entry)
    path.unlink(missing_ok=True)
    path.write_text(text)
    path.chmod(0o644)
