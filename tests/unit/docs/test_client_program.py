"""The program that the page about the Python client begins with."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_program_of_the_page_is_the_one_whose_types_are_checked() -> None:
    """mypy reads proofs/cli/client_program.py with `make check`."""
    page = (ROOT / "docs/how-to/train-from-python.md").read_text()
    block = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert block is not None
    program = (ROOT / "proofs/cli/client_program.py").read_text().partition('"""\n\n')[2]
    assert block[1] == program.replace("  # type: ignore[import-not-found]", "")  # PyTorch is in the image alone
