"""Types for TypeScript from the structs of the console."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
import pytest

from devtools.console_types import FILE, interface, rendered


class Part(msgspec.Struct, frozen=True, rename="camel"):
    """A part."""

    first_name: str
    at: datetime | None
    sizes: Sequence[int]


class Odd(msgspec.Struct, frozen=True):
    """Has a field that TypeScript would not know."""

    field: complex


def test_a_struct_becomes_an_interface() -> None:
    """With the names and types of its JSON."""
    assert interface(Part) == (
        "/** A part. */\nexport interface Part {\n  readonly firstName: string;\n  readonly at: string | null;\n"
        "  readonly sizes: readonly number[];\n}\n"
    )


def test_a_type_that_is_not_known_is_an_error() -> None:
    """Instead of a wrong type in the browser."""
    with pytest.raises(TypeError):
        interface(Odd)


def test_the_file_is_up_to_date() -> None:
    """As `make check` compares it."""
    assert FILE.read_text() == rendered()
