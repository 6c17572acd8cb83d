"""Build the product's image twice, each time from nothing, and look at it: `python -m proofs.install.image`.

The last line is JSON: whether both have one digest, how large it is, and what its bill of materials names.
"""

import json
import sys
import tempfile
from pathlib import Path

from testbed.images import Images, bom
from testbed.images.layout import container_config, manifest_digest, size

NAME = "kubedl"


def main() -> int:
    """In two directories that share nothing."""
    digests, facts = [], {}
    for _ in range(2):
        with tempfile.TemporaryDirectory(prefix="kubedl-image-") as directory:
            layout = Images(Path(directory), report=_say).ensure(NAME)
            digests.append(manifest_digest(layout))
            facts = _facts(layout)
            _say(f"{digests[-1]} {facts}")
    print(json.dumps({**facts, "digests": len(set(digests))}))
    return 0


def _facts(layout: Path) -> dict[str, float | str]:
    bill = json.loads((layout / Path(bom.PLACE).name).read_text())
    packages = [component.get("purl", "") for component in bill["components"]]
    return {
        "megabytes": round(size(layout) / 1e6, 1),
        "user": container_config(layout)["User"],
        "packages": sum(purl.startswith("pkg:deb/") for purl in packages),
        "wheels": sum(purl.startswith("pkg:pypi/") for purl in packages),
    }


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
