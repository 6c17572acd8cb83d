"""What the site has beyond docs/: files of the repository that pages link to, and the pages of whole directories.

A page is read in the repository too, so its links lead to where a file lies there; on the site they lead to the copy. A
link to any other file outside docs/ is a warning of mkdocs, and warnings are errors.
"""

import functools
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
DOCS = "docs"
EXAMPLES = "examples"
# Files of the repository by what they are called on the site.
PAGES = {"contributing.md": "CONTRIBUTING.md"}

_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
_ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
_HEAD = re.compile(r"<th[^>]*>(.*?)</th>", re.DOTALL)
_MARK = re.compile(r"<[^>]*>")
_LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)]*)?\))")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of a directory where the navigation names the directory."""
    if config.nav is not None:
        named = set(_named(config.nav))
        pages = sorted(str(path.relative_to(config.docs_dir)) for path in Path(config.docs_dir).rglob("*.md"))
        config.nav = _expanded(config.nav, [page for page in pages if page not in named])
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add what lies outside docs/."""
    for page, name in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text()))
    for path in sorted((ROOT / EXAMPLES).rglob("*")):
        if path.is_file():
            files.append(File.generated(config, str(path.relative_to(ROOT)), content=path.read_bytes()))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: object) -> str:
    """Let links lead to where files are on the site."""
    uri = page.file.src_uri
    return moved(markdown, uri)


def moved(markdown: str, page: str) -> str:
    """The text of a page with its links as they must be on the site."""
    lies = PAGES.get(page, f"{DOCS}/{page}")

    def link(found: re.Match[str]) -> str:
        before, target, after = found.groups()
        if ":" in target or target.startswith("/"):
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(lies), target))
        place = place_of(path)
        return found[0] if place is None else f"{before}{_relative(place, page)}{after}"

    return _LINK.sub(link, markdown)


def on_page_content(html: str, **_: object) -> str:
    """Let cells of tables be told apart where a row is shown as a block."""
    return labelled(html)


def labelled(html: str) -> str:
    """The text of a page with the name of its column in each cell of a table."""

    def table(found: re.Match[str]) -> str:
        names = [_MARK.sub("", name).strip().replace('"', "&quot;") for name in _HEAD.findall(found[0])]
        return _ROW.sub(functools.partial(_named_cells, names), found[0])

    return _TABLE.sub(table, html)


def _named_cells(names: list[str], row: re.Match[str]) -> str:
    column = iter(names)
    return re.sub("<td", lambda _: f'<td data-column="{name}"' if (name := next(column, "")) else "<td", row[0])


def place_of(path: str) -> str | None:
    """Where a file of the repository is on the site; None if it is not there."""
    if path.startswith(f"{EXAMPLES}/"):
        return path
    names = {name: page for page, name in PAGES.items()}
    return names.get(path) or (path.removeprefix(f"{DOCS}/") if path.startswith(f"{DOCS}/") else None)


def _relative(place: str, page: str) -> str:
    return posixpath.relpath(place, posixpath.dirname(page) or ".")


def _named(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        else:
            for below in entry.values():
                yield from _named(below if isinstance(below, list) else [below])


def _expanded(entries: list[Any], others: list[str]) -> list[Any]:
    made: list[Any] = []
    for entry in entries:
        if isinstance(entry, str) and entry.endswith("/"):
            made += [page for page in others if posixpath.dirname(page) == entry.rstrip("/")]
        elif isinstance(entry, dict):
            made.append(
                {
                    title: _expanded(below, others) if isinstance(below, list) else below
                    for title, below in entry.items()
                }
            )
        else:
            made.append(entry)
    return made
