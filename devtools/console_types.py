"""The types of the console's answers for TypeScript, from the structs of the server; `--check` finds drift."""

import argparse
import sys
import types
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from kubedl.console.wire import ANSWERS, ENCODED

ROOT = Path(__file__).parents[1]
FILE = ROOT / "console" / "src" / "api" / "wire.ts"
HEAD = "// Generated from src/kubedl/console/wire.py by `make generate`; do not edit.\n"
_PLAIN: dict[Any, str] = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}


def main() -> int:
    """Write the file, or say that it no longer fits the code."""
    parser = argparse.ArgumentParser(prog="python -m devtools.console_types", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 on drift")
    checking, text = parser.parse_args().check, rendered()
    if FILE.exists() and FILE.read_text() == text:
        return 0
    if checking:
        print(f"out of date: {FILE.relative_to(ROOT)}; run `make generate`", file=sys.stderr)
        return 1
    FILE.write_text(text)
    return 0


def rendered() -> str:
    """Return the whole file."""
    return HEAD + "".join(f"\n{interface(answer)}" for answer in ANSWERS)


def interface(struct: type[msgspec.Struct]) -> str:
    """Return one struct as an interface."""
    hints = get_type_hints(struct)
    lines = []
    for field in msgspec.structs.fields(struct):
        held = ENCODED.get((struct, field.name))
        kind = f"readonly {held.__name__}[]" if held is not None else _type(hints[field.name])
        lines.append(f"  readonly {field.encode_name}: {kind};\n")
    summary = (struct.__doc__ or "").splitlines()[0]
    return f"/** {summary} */\nexport interface {struct.__name__} {{\n{''.join(lines)}}}\n"


def _type(kind: Any) -> str:  # noqa: ANN401 - a type, of any form
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind is datetime:
        return "string"  # RFC 3339
    if isinstance(kind, types.UnionType):
        return " | ".join(_type(part) for part in get_args(kind))
    if get_origin(kind) is Sequence:
        return f"readonly {_type(get_args(kind)[0])}[]"
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind.__name__
    raise TypeError(f"{kind} has no type in TypeScript here; add it")


if __name__ == "__main__":
    sys.exit(main())
