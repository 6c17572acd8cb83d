"""Symbolic links in a model: packed as they are if they are relative and point to something in the model.

A link that leads out of the model, or an absolute one, would point to other files wherever the image is mounted.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kubedl.oci.errors import bad_model, quote_for_display

MOST_STEPS = 40  # limit of links in a path, as in the kernel


@dataclass(frozen=True, slots=True)
class Link:
    """The path of a link, relative to the model's root, and its target."""

    path: str
    target: str


def check_links(links: Mapping[str, Link], directories: Collection[str], files: Collection[str]) -> None:
    """Reject the first link, by path, that does not point to a file or directory of the model."""
    for path in sorted(links):
        link = links[path]
        if link.target.startswith("/"):
            raise _refused(link, "is absolute; make it relative, or replace it by the file")
        try:
            printable = link.target.encode().decode().isprintable()
        except UnicodeEncodeError:
            printable = False
        if not printable:
            raise _refused(link, "has characters that cannot be printed")
        end = _end(link, links, directories)
        if end is None:
            raise _refused(link, "leads out of the model; replace it by the file (cp -L)")
        if end not in directories and end not in files:
            raise _refused(link, "points to nothing")


def _end(link: Link, links: Mapping[str, Link], directories: Collection[str]) -> str | None:
    """Resolve a path that may lead over other links; None if it leaves the model."""
    at = link.path.split("/")[:-1]
    ahead = link.target.split("/")[::-1]
    steps = 0
    while ahead:
        name = ahead.pop()
        if name in {"", "."}:
            continue
        if name == "..":
            if not at:
                return None
            at.pop()
            continue
        at.append(name)
        over = links.get("/".join(at))
        if over is not None:
            steps += 1
            if over.target.startswith("/") or steps > MOST_STEPS:
                return None
            at.pop()
            ahead += over.target.split("/")[::-1]
        elif ahead and "/".join(at) not in directories:
            return "/".join(at) + "/"  # continues below a file: no such path
    return "/".join(at)


def _refused(link: Link, why: str) -> Exception:
    return bad_model(f"the link {quote_for_display(link.path)} to {quote_for_display(link.target)} {why}")
