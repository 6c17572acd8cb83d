"""The site as it was built: every link leads somewhere, and nothing is loaded from outside.

mkdocs checks the links of Markdown; here are those of HTML, of the theme and of generated pages too, as a browser would
follow them.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "source": "srcset", "iframe": "src", "link": "href", "object": "data"}
OUTSIDE = re.compile(r"^(https?:)?//")
IN_STYLES = re.compile(r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^'\")\s]+)")


@dataclass
class Seen(HTMLParser):
    """What one page has."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called by the parser."""
        found = {name: value for name, value in attrs if value}
        self.ids |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in LOADED and LOADED[tag] in found:
            self.loaded.append(found[LOADED[tag]])


def complaints(site: Path) -> Iterator[str]:
    """What is wrong with a site, a line each."""
    pages = {path.resolve(): seen(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        for address in page.loaded:
            if OUTSIDE.match(address):
                yield f"{name}: loads {address}"
        for link in [*page.links, *page.loaded]:
            if (why := broken(path, link, pages, site.resolve())) is not None:
                yield f"{name}: {link}: {why}"
    for path in sorted(site.rglob("*.css")):
        for address in IN_STYLES.findall(path.read_text()):
            yield f"{path.relative_to(site)}: loads {address}"


def seen(path: Path) -> Seen:
    """What a page has."""
    page = Seen()
    page.feed(path.read_text())
    return page


def broken(path: Path, link: str, pages: dict[Path, Seen], site: Path) -> str | None:
    """Why a link leads nowhere; None if it leads somewhere, or out of the site."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    if parts.path.startswith("/"):  # the theme's own page for what is not found
        target = site / unquote(parts.path).lstrip("/")
    else:
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return "no such file"
    anchor = unquote(parts.fragment)
    if anchor and not anchor.startswith("__") and target in pages and anchor not in pages[target].ids:
        return "no such place in that page"
    return None


def main() -> int:
    """Print every complaint about a site."""
    site = Path(sys.argv[1])
    if not (site / "index.html").exists():
        print(f"{site} has no index.html; build it with `make docs`", file=sys.stderr)
        return 1
    found = list(complaints(site))
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
