"""The page about the chart's values, from the chart's own file of values and its comments."""

import re
from collections.abc import Iterator
from pathlib import Path

from devtools.tables import table

VALUES = Path(__file__).parents[1] / "deploy" / "chart" / "values.yaml"
LINE = re.compile(r"^(?P<indent> *)(?P<key>[A-Za-z]\w*):(?: (?P<default>.*))?$")


def describe_values(text: str | None = None) -> str:
    """The reference page. Flags of the operator have a page of their own."""
    rows = [
        (f"`{key}`", f"`{default}`", comment)
        for key, default, comment in entries(text if text is not None else VALUES.read_text())
        if not key.startswith("operator.")
    ]
    return (
        "# Values of the chart\n\n"
        "What is not here is refused (`values.schema.json`). `operator.*` are the "
        "[flags of the operator](flags.md).\n\n"
        f"{table(('value', 'default', 'what it is'), rows)}"
    )


def entries(text: str) -> Iterator[tuple[str, str, str]]:
    """Path, default and comment of every value that stands on one line; a comment on a group is told of its first."""
    path: list[str] = []
    comment: list[str] = []
    for line in text.splitlines():
        if not line.strip():
            comment = []
        elif line.lstrip().startswith("#"):
            comment.append(line.strip().removeprefix("#").strip())
        elif match := LINE.match(line):
            path = [*path[: len(match["indent"]) // 2], match["key"]]
            if match["default"] is not None:
                yield ".".join(path), match["default"], " ".join(comment)
                comment = []
