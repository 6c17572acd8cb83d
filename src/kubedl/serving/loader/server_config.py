"""Writes the batching configuration of a server next to the model.

The model itself is not modified: in a directory of links, one link is replaced by a file with the previous content and
the new settings.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from kubedl.serving.loader.errors import LoadingError

TRITON, MLSERVER = "config.pbtxt", "model-settings.json"
_BATCHING = re.compile(r"\s*(max_batch_size|dynamic_batching)\s*(:\s*[^\s,;{]+|:?\s*\{)\s*[,;]?")
# Models that Triton cannot batch dynamically: those with another scheduler, and those without batches.
_UNBATCHED = re.compile(
    r"\s*(?:(ensemble_scheduling|sequence_batching)\s*(:?\s*\{)"
    r"|(platform|backend)\s*(:\s*[\"']ensemble[\"'])|(max_batch_size)\s*(:\s*0+)(?![0-9.xX]))"
)


def triton(target: Path, size: int, micros: int | None) -> None:
    """Set `max_batch_size` and `dynamic_batching` of every model that supports dynamic batching.

    Ensembles, models with `sequence_batching` and models with `max_batch_size: 0` are skipped: Triton does not load a
    model with two schedulers. If no model is left, batching is not supported.
    """
    models = [entry for entry in sorted(target.iterdir()) if entry.is_dir()]
    if not models:
        raise LoadingError("SettingRefused", "the model has no directory; Triton requires one per model")
    before = {model: (model / TRITON).read_text() if (model / TRITON).exists() else "" for model in models}
    batched = [model for model in models if can_batch(before[model])]
    if not batched:
        raise LoadingError(
            "SettingRefused",
            "no model supports dynamic batching: each is an ensemble, has sequence_batching or max_batch_size: 0; "
            "remove batching from the predictor",
        )
    delay = f" max_queue_delay_microseconds: {micros} " if micros is not None else ""
    for model in batched:
        text = f"{without_batching(before[model]).rstrip()}\nmax_batch_size: {size}\ndynamic_batching {{{delay}}}\n"
        _put(target, model / TRITON, text.lstrip())
    for model in models:
        if model not in batched:
            print(f"{model.name} is not batched: it has its own scheduler, or max_batch_size: 0", flush=True)


def mlserver(target: Path, size: int, seconds: float) -> None:
    """Set `max_batch_size` and `max_batch_time` of every model."""
    for path in list(_found(target, MLSERVER)):
        try:
            settings = json.loads(path.read_bytes())
            settings |= {"max_batch_size": size, "max_batch_time": seconds}
        except (ValueError, TypeError) as error:
            raise LoadingError("SettingRefused", f"{path.name} of the model cannot be read: {error}") from error
        _put(target, path, json.dumps(settings, indent=2) + "\n")


def can_batch(text: str) -> bool:
    """Return whether a Triton configuration (protobuf text) allows dynamic batching."""
    return _without(text, _UNBATCHED) == text


def without_batching(text: str) -> str:
    """Return a Triton configuration (protobuf text) without the two settings at its top level."""
    return _without(text, _BATCHING)


def _without(text: str, fields: re.Pattern[str]) -> str:
    """Remove top-level fields from protobuf text; the pattern matches up to the value or its opening brace."""
    kept, depth, at = [], 0, 0
    while at < len(text):
        match = fields.match(text, at) if depth == 0 and (at == 0 or text[at - 1] in "\n\t ,;}{") else None
        if match is not None:
            at = _closed(text, match.end()) if "{" in match[0] else match.end()
            continue
        end = _passed(text, at)
        if end == at + 1:
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(text[at], 0)
        kept.append(text[at:end])
        at = end
    return "".join(kept)


def _closed(text: str, at: int) -> int:
    """Return the end of a message whose opening brace precedes the position."""
    depth = 1
    while at < len(text) and depth:
        end = _passed(text, at)
        if end == at + 1:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
        at = end
    return at


def _passed(text: str, at: int) -> int:
    """Return the end of the comment or string at the position, else the next position."""
    if text[at] == "#":
        end = text.find("\n", at)
        return len(text) if end < 0 else max(end, at + 1)
    return _unquoted(text, at) if text[at] in "\"'" else at + 1


def _unquoted(text: str, at: int) -> int:
    """Return the end of the string at the position."""
    quote, at = text[at], at + 1
    while at < len(text) and text[at] != quote:
        at += 2 if text[at] == "\\" else 1
    return at + 1


def _found(target: Path, name: str) -> Iterator[Path]:
    """Return files with this name at the root, or one directory below."""
    for place in (target, *(entry for entry in sorted(target.iterdir()) if entry.is_dir())):
        if (place / name).is_file():
            yield place / name


def _put(target: Path, path: Path, text: str) -> None:
    """Replace an entry by a file; links to directories in its path become directories of links."""
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
