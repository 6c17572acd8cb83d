"""Jobs and services as people type them: YAML or JSON of bounded size, depth and form. Pure.

Aliases are refused: a short text of them stands for an object of any size.
"""

from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from kubedl.console.kinds import job_resources
from kubedl.console.object_kinds import INFERENCES
from kubedl.console.problems import RefusalError
from kubedl.console.rights import NAMESPACE
from kubedl.console.wire_base import FieldProblem
from kubedl.kube.bounded_regex import BoundedPattern

if TYPE_CHECKING:
    from kubedl.kube.types.meta import Resource

LARGEST = 64 * 1024  # bytes of a text
DEEPEST = 64  # levels; a pod template has about fifteen
MOST_PARTS = 10_000  # keys and values; a long job has two thousand
LONGEST_QUOTE = 300  # characters of the words of a parser
_NAME = BoundedPattern(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?", 253)
_OPEN, _CLOSE = (yaml.MappingStartEvent, yaml.SequenceStartEvent), (yaml.MappingEndEvent, yaml.SequenceEndEvent)

Object = dict[str, Any]


def read(text: str) -> Object:
    """Return the one object of a text; refuses everything else, with the line if there is one."""
    if len(text.encode(errors="replace")) > LARGEST:
        raise RefusalError(413, "too long", f"the text has more than {LARGEST // 1024} KiB", "Submit it with kubectl.")
    try:
        _check(text)
        found = yaml.load(text, yaml.CSafeLoader)
        value = msgspec.json.decode(msgspec.json.encode(found))  # dates, numbers as keys and so on as JSON has them
    except yaml.YAMLError as error:
        raise _wrong(_words(error), _line(error)) from None
    except (TypeError, ValueError, OverflowError) as error:
        raise _wrong(f"it has a value that JSON cannot have: {str(error)[:LONGEST_QUOTE]}") from None
    except (LookupError, AttributeError):  # PyYAML does not look at a value first that has a tag
        raise _wrong("it has a value that its tag, such as !!bool, does not fit") from None
    if not isinstance(value, dict):
        raise _wrong("it is no object; it begins with apiVersion, kind, metadata and spec")
    return value


def check_kind(manifest: Object) -> tuple[str, str, str]:
    """Return kind, namespace and name of a job or a service; refuses what is neither, or what has no place."""
    metadata = manifest.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    kind, namespace, name = manifest.get("kind"), metadata.get("namespace"), metadata.get("name")
    kinds: tuple[Resource[Any], ...] = (*job_resources().values(), INFERENCES)
    known = {one.kind: one for one in kinds}
    resource = known.get(kind) if isinstance(kind, str) else None
    wrong: list[FieldProblem] = []
    if resource is None:
        wrong.append(_field("kind", f"one of {', '.join(sorted(known))}"))
    elif manifest.get("apiVersion") != resource.api_version:
        wrong.append(_field("apiVersion", f"{resource.kind} is of {resource.api_version}"))
    if not _is(NAMESPACE, namespace):
        wrong.append(_field("metadata.namespace", "the name of a namespace is needed"))
    if not _is(_NAME, name):
        wrong.append(_field("metadata.name", "a name is needed, of small letters, digits, dots and dashes"))
    if not isinstance(manifest.get("spec"), dict):
        wrong.append(_field("spec", "it is needed"))
    if wrong:
        why = "; ".join(f"{one.field}: {one.message}" for one in wrong)
        raise RefusalError(422, "this is neither a job nor a service", why, "Correct it, and try again.", wrong)
    return str(kind), str(namespace), str(name)


def _check(text: str) -> None:
    """Refuse what is too deep, or not one document, or has aliases, before anything is built from it."""
    depth = documents = 0
    for number, event in enumerate(yaml.parse(text, yaml.CSafeLoader)):
        depth += isinstance(event, _OPEN) - isinstance(event, _CLOSE)
        documents += isinstance(event, yaml.DocumentStartEvent)
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            raise _wrong("aliases (*name) are not read", line)
        if depth > DEEPEST:
            raise _wrong(f"it is nested deeper than {DEEPEST} levels", line)
        if number > MOST_PARTS:
            raise _wrong(f"it has more than {MOST_PARTS:,} keys and values", line)
        if documents > 1:
            raise _wrong("it has more than one document", line)


def _is(pattern: BoundedPattern, value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _field(field: str, message: str) -> FieldProblem:
    return FieldProblem(field=field, message=message)


def _words(error: yaml.YAMLError) -> str:
    said = error.problem if isinstance(error, yaml.MarkedYAMLError) and error.problem else str(error)
    return " ".join(said.split())[:LONGEST_QUOTE]


def _line(error: yaml.YAMLError) -> int | None:
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    return mark.line + 1 if mark is not None else None


def _wrong(words: str, line: int | None = None) -> RefusalError:
    fields = [_field(f"line {line}", words)] if line is not None else []
    why = f"line {line}: {words}" if line is not None else words
    return RefusalError(422, "this is no YAML of an object", why, "Correct the text.", fields)
