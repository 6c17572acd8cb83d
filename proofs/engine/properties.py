"""Try a property often: `python -m proofs.engine.properties 10000 tests/unit/…::test_x`; a hundredth of that in CI."""

import json
import os
import subprocess
import sys


def main() -> int:
    """Print how often each was tried and whether it held."""
    examples, *tests = sys.argv[1:]
    wanted = int(examples) if os.environ.get("PROOF_SIZE", "full") == "full" else int(examples) // 100
    environment = {**os.environ, "PROPERTY_EXAMPLES": str(wanted)}
    command = [sys.executable, "-m", "pytest", "-q", *tests]
    held = subprocess.run(command, env=environment, stdout=sys.stderr, check=False).returncode == 0
    print(json.dumps({"examples": wanted, "outcome": "passed" if held else "not passed"}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
