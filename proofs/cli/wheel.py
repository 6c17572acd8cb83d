"""What `pip install kubedl` brings, and that it works on each Python: `python -m proofs.cli.wheel`.

The wheel is built from a copy of the checkout and installed into empty environments. The last line is JSON: sizes,
which packages came with it, which of them are compiled, and on which Pythons the help was printed. Packages are
downloaded, which takes minutes the first time.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from devtools.lint_repo import ROOT

PYTHONS = ("3.11", "3.13")
SOURCES = ("src", "pyproject.toml", "README.md", "LICENSE")
UV = (sys.executable, "-m", "uv")
EXTRAS = "operator,history,console,tuning"
PROCESSES = ("operator", "packer", "loader", "recorder", "smoke-test", "pipeline-step")
FIRST_LINE = "Usage: kubedl"
# Rich, which draws on a terminal, and what it brings are written in Python.
EXPECTED = frozenset(("click", "msgspec", "pyyaml", "rich", "markdown-it-py", "mdurl", "pygments"))
MEGABYTE = 10**6


def main() -> int:
    """Print the figures."""
    with TemporaryDirectory() as directory:
        place = Path(directory)
        wheel = _built(place)
        figures: dict[str, object] = {"wheel MB": round(wheel.stat().st_size / MEGABYTE, 2)}
        for version in PYTHONS:
            environment = _environment(place, version, str(wheel))
            figures[f"help {version}"] = "no such Python" if environment is None else _help(environment)
            if environment is not None:
                figures |= _contents(environment)
        full = _environment(place, PYTHONS[0], f"{wheel}[{EXTRAS}]", "full")
        if full is not None:
            figures["processes that start"] = sum(_starts(full, process) for process in PROCESSES)
    print(json.dumps(figures))
    return 0


def _built(place: Path) -> Path:
    """Build in a copy, so that the checkout gets no build directory."""
    copy = place / "checkout"
    copy.mkdir()
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(source, copy / name)
    subprocess.run([*UV, "build", "--quiet", "--wheel", "--out-dir", str(place / "dist"), str(copy)], check=True)
    (wheel,) = (place / "dist").glob("*.whl")
    return wheel


def _environment(place: Path, version: str, wanted: str, name: str = "base") -> Path | None:
    """Return an environment with the wheel, or nothing if this machine lacks the Python."""
    python = next(_interpreters(version), None)
    if python is None:
        return None
    environment = place / f"{name}-{version}"
    subprocess.run([*UV, "venv", "--quiet", "--python", python, str(environment)], check=True)
    binary = str(environment / "bin" / "python")
    subprocess.run([*UV, "pip", "install", "--quiet", "--python", binary, wanted], check=True)
    return environment


def _interpreters(version: str) -> Iterator[str]:
    """Yield programs that are this Python: on the search path, of pyenv, and of uv."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    candidates = [folder / f"python{version}" for folder in folders]
    candidates += sorted(pyenv.glob(f"{version}.*/bin/python{version}"))
    for candidate in candidates:
        if candidate.exists() and _output(str(candidate), "--version").startswith(f"Python {version}."):
            yield str(candidate)
    found = _output(*UV, "python", "find", "--managed-python", version).strip()
    if found:
        yield found


def _help(environment: Path) -> str:
    return "printed" if _output(str(environment / "bin" / "kubedl"), "--help").startswith(FIRST_LINE) else "not printed"


def _starts(environment: Path, process: str) -> bool:
    done = subprocess.run(
        [str(environment / "bin" / "kubedl"), process, "--help"], capture_output=True, text=True, check=False
    )
    return done.returncode == 0


def _contents(environment: Path) -> dict[str, object]:
    """Return what an environment holds beside Python itself."""
    (site,) = environment.glob("lib/python*/site-packages")
    listed = _output(*UV, "pip", "list", "--format", "json", "--python", str(environment / "bin" / "python"))
    packages = sorted(one["name"].lower() for one in json.loads(listed) if one["name"] != "kubedl")
    compiled = sorted({file.relative_to(site).parts[0].lstrip("_") for file in site.rglob("*.so")})
    size = sum(file.stat().st_size for file in site.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    return {
        "packages": " ".join(packages),
        "others": len(set(packages) - EXPECTED),
        "compiled": " ".join(compiled),
        "installed MB": round(size / MEGABYTE, 1),
    }


def _output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


if __name__ == "__main__":
    sys.exit(main())
