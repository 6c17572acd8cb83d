"""What commands printed, kept for the code that they measured: any change of code makes it worthless, of pages not."""

import hashlib
import subprocess
from pathlib import Path

MEASURED = ("src", "deploy", "harness", "benchmarks", "testbed", "tests", "proofs")


class Kept:
    """Results of one state of the code at one size. Code that is not committed has no name: nothing of it is kept."""

    def __init__(self, root: Path, size: str, home: Path | None = None, commit: str = "") -> None:
        """`commit` is an earlier one, whose results are looked up; by default the code is that of the checkout."""
        self._directory: Path | None = None
        trees = _git(root, "rev-parse", *(f"{commit or 'HEAD'}:{part}" for part in MEASURED))
        if trees and (commit or not _git(root, "status", "--porcelain", "--", *MEASURED)):
            name = hashlib.sha256(f"{trees} {size}".encode()).hexdigest()[:16]
            self._directory = (home or Path.home() / ".cache" / "kubedl-proofs") / name

    def get(self, command: str) -> str | None:
        """What the command printed, if it was run before."""
        file = self._file(command)
        return file.read_text() if file is not None and file.exists() else None

    def put(self, command: str, output: str) -> None:
        """Keep it for a later run."""
        file = self._file(command)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(output)

    def _file(self, command: str) -> Path | None:
        name = hashlib.sha256(command.encode()).hexdigest()[:16]
        return self._directory / name if self._directory is not None else None


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
