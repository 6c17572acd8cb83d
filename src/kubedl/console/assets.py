"""The files of the page, from the package. They are built by `make console` and are not in git.

Names of files below `assets/` contain a hash of their content, so browsers may keep them for ever; the page itself is
never kept. Files that compression makes smaller are there compressed by gzip only, which every browser takes: a second
copy would make the package larger.
"""

import gzip
from mimetypes import guess_type
from pathlib import Path

from aiohttp import web

from kubedl.console.safety import content_policy, new_nonce
from kubedl.kube.bounded_regex import BoundedPattern

DIRECTORY = Path(__file__).parent / "static"
NONCE, PATH = "__CSP_NONCE__", "__CONSOLE_PATH__"  # what the build leaves in the page
MISSING = """<!doctype html><html lang="en"><meta charset="utf-8"><title>KubeDL console</title>
<body><h1>The console's pages are not built</h1>
<p>This installation of KubeDL has no files in kubedl/console/static.</p>
<p>Next: run <code>make console</code> in a checkout, or install a released package or image.</p></body></html>"""
_NAME = BoundedPattern(r"[A-Za-z0-9_.-]+", 200)


class Assets:
    """The built files in one directory."""

    def __init__(self, directory: Path = DIRECTORY) -> None:
        self._directory = directory
        page = directory / "index.html"
        self._page = page.read_text() if page.is_file() else None

    @property
    def built(self) -> bool:
        """Return whether there is a page to serve."""
        return self._page is not None

    def page(self, path: str = "") -> web.Response:
        """Return the page, with a nonce of its own; `path` is that under which browsers have the console."""
        nonce = new_nonce()
        headers = {"Content-Security-Policy": content_policy(nonce), "Cache-Control": "no-store"}
        status, text = 503, MISSING
        if self._page is not None:
            status, text = 200, self._page.replace(NONCE, nonce).replace(PATH, path)
        return web.Response(status=status, text=text, content_type="text/html", headers=headers)

    def file(self, name: str, accepted: str = "") -> web.StreamResponse:
        """Return one file, as it is in the package if the client accepts that: `accepted` is its Accept-Encoding."""
        directory = self._directory / "assets"
        path, packed = directory / name, directory / f"{name}.gz"
        if _NAME.fullmatch(name) is None or name.startswith(".") or not (path.is_file() or packed.is_file()):
            return web.Response(status=404, text="no such file")
        headers = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
        if path.is_file() or "gzip" in accepted.lower():
            return web.FileResponse(path, headers=headers)
        kind = guess_type(name)[0] or "application/octet-stream"
        return web.Response(body=gzip.decompress(packed.read_bytes()), content_type=kind, headers=headers)
