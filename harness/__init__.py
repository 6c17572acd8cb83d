"""The operator as a process that tests, proofs and benchmarks start, disturb and measure from outside.

What kinds there are is read from the product itself: from this repository, unless PYTHONPATH names another source.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "src"))
