"""Build the site of the docs and look at it with Chromium: `python -m proofs.install.site`.

The last line is JSON: how many pages and links there are, what is wrong with them, and how many are wider than their
window.
"""

import json
import subprocess
import sys

from devtools import link_check, screenshots
from devtools.lint_repo import ROOT


def main() -> int:
    """As `make docs` and `make screenshots` do."""
    built = subprocess.run(["make", "docs"], cwd=ROOT, stdout=sys.stderr, check=False)
    pages = [link_check.seen(path) for path in screenshots.SITE.rglob("*.html")]
    wide = screenshots.take(screenshots.PAGES, screenshots.HEIGHT, lambda line: print(line, file=sys.stderr))
    figures = {
        "built": "passed" if built.returncode == 0 else "not passed",
        "pages": len(pages),
        "links": sum(len(page.links) for page in pages),
        "complaints": len(list(link_check.complaints(screenshots.SITE))),
        "wide": len(wide),
    }
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
