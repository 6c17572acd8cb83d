"""A training in the least that one can be: it says each step, and writes its model when it is told to end.

The model says who made it, which tests/e2e/serving/workloads/fake_model_server.py answers with.
"""

import json
import os
import time
from pathlib import Path

PLACE = Path(os.environ["KUBEDL_MODEL_PATH"])
END = PLACE / "end"
PAUSE = 0.5  # seconds


def main() -> None:
    """Step by step, until somebody makes the file `end`."""
    step = 0
    while not END.exists():
        step += 1
        print(f"step {step} loss {1 / step:.4f}", flush=True)
        time.sleep(PAUSE)
    END.unlink()
    (PLACE / "weights.bin").write_bytes(os.urandom(1 << 20))
    known = {"by": os.environ["HOSTNAME"], "error_percent": 0, "seconds": 0.0}
    (PLACE / "behaviour.json").write_text(json.dumps(known))
    print(f"saved after {step} steps", flush=True)


if __name__ == "__main__":
    main()
