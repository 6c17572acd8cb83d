"""Symbolic links inside a model: packed as they are if they lead, in relative steps, to something inside it.

A link that leads out would show other files in every place where the image is mounted; an absolute one too.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kubedl.models.packer.failure import bad_model, shown

MOST_STEPS = 40  # links on one way, as the kernel has it


@dataclass(frozen=True, slots=True)
class Link:
    """Where it is, below the model's root, and what it says."""

    path: str
    target: str


def check_links(links: Mapping[str, Link], directories: Collection[str], files: Collection[str]) -> None:
    """Refuse the first link, by path, that does not lead to a file or a directory of the model."""
    for path in sorted(links):
        link = links[path]
        if link.target.startswith("/"):
            raise _refused(link, "is absolute; make it relative, or put the file itself there")
        try:
            printable = link.target.encode().decode().isprintable()
        except UnicodeEncodeError:
            printable = False
        if not printable:
            raise _refused(link, "has characters that cannot be printed")
        end = _end(link, links, directories)
        if end is None:
            raise _refused(link, "leads out of the model; put the file itself there (cp -L)")
        if end not in directories and end not in files:
            raise _refused(link, "leads nowhere")


def _end(link: Link, links: Mapping[str, Link], directories: Collection[str]) -> str | None:
    """Where a way ends that may lead over other links: a path, or None if it leaves the model."""
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
            return "/".join(at) + "/"  # goes on below something that is no directory: no such path
    return "/".join(at)


def _refused(link: Link, why: str) -> Exception:
    return bad_model(f"the link {shown(link.path)} to {shown(link.target)} {why}")
