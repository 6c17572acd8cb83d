"""Whether the docs' search finds a page for the words that people look for: `python -m proofs.house.search`.

It reads the index that the site's search box uses. The last line is JSON.
"""

import json
import subprocess
import sys

from devtools.lint_repo import ROOT

INDEX = ROOT / "build" / "site" / "search" / "search_index.json"
WORDS = ("canary", "environment variable", "troubleshoot", "CRD", "p99", "distributed training", "dashboard")


def main() -> int:
    """Build the site, then print the words without a page."""
    subprocess.run(["make", "docs"], cwd=ROOT, stdout=sys.stderr, check=True)
    pages = json.loads(INDEX.read_text())["docs"]
    without = []
    for word in WORDS:
        found = [page["location"] for page in pages if word.lower() in f"{page['title']} {page['text']}".lower()]
        print(f"{word}: {len(found)} sections, {', '.join(found[:3])}", file=sys.stderr)
        without += [] if found else [word]
    print(json.dumps({"words": len(WORDS), "without a page": len(without)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
