"""Classes of other packages, found where Python would find them."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

FIND = """
import sys
from kubedl.runtime.plugins import declared
found = declared("json", [], Exception, "kubedl.things")
print(sorted(one.__name__ for one in found), "importlib.metadata" in sys.modules)
"""
FILES = {
    "things.py": "class Thing(Exception): pass\n",
    "things-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: things\nVersion: 1.0\n",
    "things-1.0.dist-info/entry_points.txt": "[kubedl.things]\nthing = things:Thing\n",
}


def found(*places: Path) -> str:
    """With these in the path, in a process of its own."""
    path = [str(Path(__file__).parents[3] / "src"), *map(str, places)]
    environment = {"PYTHONPATH": ":".join(path)}
    ran = subprocess.run([sys.executable, "-c", FIND], env=environment, capture_output=True, text=True, check=True)
    return ran.stdout.strip()


def test_nothing_is_imported_where_nobody_registers() -> None:
    """importlib.metadata takes longer than all of our kinds."""
    assert found() == "[] False"


@pytest.mark.parametrize("packed", [False, True])
def test_what_a_package_registers_is_found(tmp_path: Path, packed: bool) -> None:
    """In a directory and in a zip."""
    place = tmp_path / ("things.zip" if packed else "things")
    if packed:
        with zipfile.ZipFile(place, "w") as archive:
            for name, text in FILES.items():
                archive.writestr(name, text)
    else:
        for name, text in FILES.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
    assert found(place) == "['Thing'] True"


def test_a_directory_that_is_not_there_is_no_error(tmp_path: Path) -> None:
    assert found(tmp_path / "none") == "[] False"
