"""The site as readers see it, for people to look at: `make screenshots`, with Chromium from Debian.

Each page is shown at the width of a desk and at that of a telephone, in light and dark. Chromium may resolve no name:
a page that wants something from outside is shown without it. A page that is wider than its window is an error, and so
is one that is not there, or that nobody could measure.
"""

import argparse
import functools
import itertools
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).parents[1]
SITE = ROOT / "build" / "site"
SHOTS = ROOT / "build" / "screenshots"
CHROMIUM = "chromium"  # the program, and its package in Debian
WIDTHS = (1280, 390)
HEIGHT = 2000
PAGES = (
    "index",
    "quickstart",
    "compare",
    "concepts/repair",
    "reference/kinds/pytorchjob",
    "proofs/models",
    "operations/failures",
    "troubleshooting/index",
    "troubleshooting/job-stays-created",
)
FRAME = """<!doctype html><body style="margin:0"><iframe src="{page}" style="border:0;width:{width}px;height:{height}px"
onload="document.title=JSON.stringify([this.contentDocument.documentElement.scrollWidth,{width}])"></iframe></body>"""
# As if nobody answered: neither fonts nor scripts nor anything else may come from outside.
ALONE = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"


def main() -> int:
    """Write a picture for each page, width and scheme."""
    parser = argparse.ArgumentParser(prog="python -m devtools.screenshots", description=__doc__)
    parser.add_argument("pages", nargs="*", default=PAGES)
    parser.add_argument("--height", type=int, default=HEIGHT)
    arguments = parser.parse_args()
    wide = take(arguments.pages, arguments.height, print)
    print("\n".join(wide), file=sys.stderr, end="\n" if wide else "")
    return 1 if wide else 0


def take(pages: Sequence[str], height: int, say: Callable[[str], None]) -> list[str]:
    """Write the pictures; returns a line for each page that is wider than its window."""
    missing = [page for page in pages if not (SITE / f"{page}.html").is_file()]
    if missing:
        raise SystemExit(f"the site has no page {', '.join(missing)}: build it with `make docs`")
    # Not part of `make setup`: three hundred megabytes that few need.
    install = [str(ROOT / "devtools" / "install-debian-packages"), CHROMIUM]
    if shutil.which(CHROMIUM) is None and subprocess.run(install, stdout=sys.stderr, check=False).returncode:
        raise SystemExit("without Chromium there is nothing to see")
    SHOTS.mkdir(parents=True, exist_ok=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    wide = []
    for page, width, scheme in itertools.product(pages, WIDTHS, ("light", "dark")):
        shot = SHOTS / f"{page.replace('/', '-')}-{width}-{scheme}.png"
        needed = _show(server.server_port, page, width, height, shot)
        wide += [f"{page} is {needed} pixels wide in a window of {width}"] if needed > width else []
        say(str(shot.relative_to(ROOT)))
    server.shutdown()
    server.server_close()
    return wide


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Nobody reads it."""


def _show(port: int, page: str, width: int, height: int, shot: Path) -> int:
    """Take the picture; returns how wide the page would like to be."""
    # A window is never narrower than some hundred pixels, a frame in it may be.
    frame = SITE / "frame.html"
    frame.write_text(FRAME.format(page=f"/{page}.html", width=width, height=height))
    with tempfile.TemporaryDirectory(prefix="kubedl-chromium-") as profile:
        common = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", ALONE]
        common += [f"--user-data-dir={profile}", f"--window-size={width},{height}", "--virtual-time-budget=5000"]
        common += ["--blink-settings=preferredColorScheme=0"] if shot.stem.endswith("dark") else []
        address = f"http://127.0.0.1:{port}/frame.html"
        subprocess.run([*common, f"--screenshot={shot}", address], check=True, capture_output=True, timeout=120)
        told = subprocess.run([*common, "--dump-dom", address], check=True, capture_output=True, text=True, timeout=120)
    frame.unlink()
    return measured(page, told.stdout)


def measured(page: str, told: str) -> int:
    """How wide the page would like to be, from what its frame has told."""
    found = re.search(r"<title>(\[.*?\])</title>", told)
    if found is None:
        raise SystemExit(f"{page} was not measured: its frame told no width in five seconds")
    return int(json.loads(found[1])[0])


if __name__ == "__main__":
    sys.exit(main())
