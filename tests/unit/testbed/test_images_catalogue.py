"""Definitions of images: what they may say, and when an image counts as another one."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.errors import TestbedError
from testbed.images import Images, lock
from testbed.images.definitions_loader import DEFINITIONS, REPOSITORY, Catalogue

BASE = 'suite = "trixie"\npython = "3.13"\npackages = ["python3"]\n'
CHILD = 'parent = "base"\npatches = ["fix.patch"]\n[env]\nA = "1"\n[user]\nname = "someone"\nid = 1000\n'

KNOWN = Catalogue()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "base.toml").write_text(BASE)
    (tmp_path / "child.toml").write_text(CHILD)
    (tmp_path / "child.requirements.txt").write_text("numpy==2 --hash=sha256:00\n")
    (tmp_path / "child.requirements.in").write_text("numpy\n")
    (tmp_path / "fix.patch").write_text("one\n")
    return tmp_path


def append(name: str) -> Callable[[Path], None]:
    def change(directory: Path) -> None:
        file = directory / name
        file.write_text(file.read_text() + "# changed\n")

    return change


def add_stranger(directory: Path) -> None:
    (directory / "other.toml").write_text(BASE)


def remove_requirements(directory: Path) -> None:
    (directory / "child.requirements.txt").unlink()


@pytest.mark.parametrize(
    "change",
    [
        append("child.toml"),
        append("child.requirements.txt"),
        append("fix.patch"),
        append("base.toml"),
        remove_requirements,
    ],
)
def test_key_changes_with_whatever_the_image_is_made_from(directory: Path, change: Callable[[Path], None]) -> None:
    before = Catalogue(directory).key("child")
    change(directory)
    assert Catalogue(directory).key("child") != before


@pytest.mark.parametrize("change", [append("child.requirements.in"), add_stranger])
def test_key_does_not_change_with_anything_else(directory: Path, change: Callable[[Path], None]) -> None:
    before = Catalogue(directory).key("child")
    change(directory)
    assert Catalogue(directory).key("child") == before


def test_key_of_the_parent_does_not_change_with_its_child(directory: Path) -> None:
    before = Catalogue(directory).key("base")
    append("child.toml")(directory)
    assert Catalogue(directory).key("base") == before


def test_key_changes_with_every_file_of_a_package_of_ours(
    tmp_path: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Python writes beside them does not count."""
    package = tmp_path / "repository" / "src" / "ours"
    (package / "__pycache__").mkdir(parents=True)
    (package / "one.py").write_text("")
    (directory / "child.toml").write_text('parent = "base"\nmodules = ["src/ours"]\n')
    monkeypatch.setattr("testbed.images.definitions_loader.REPOSITORY", tmp_path / "repository")
    keys = [Catalogue(directory).key("child")]
    (package / "__pycache__" / "one.pyc").write_text("")
    assert Catalogue(directory).key("child") == keys[0]
    (package / "one.py").rename(package / "two.py")
    keys.append(Catalogue(directory).key("child"))
    (package / "two.py").write_text("changed")
    keys.append(Catalogue(directory).key("child"))
    assert len(set(keys)) == 3


def test_key_changes_with_the_builder(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Catalogue(directory).key("base")
    monkeypatch.setattr("testbed.images.definitions_loader.BUILDER_VERSION", 0)
    assert Catalogue(directory).key("base") != before


def test_child_has_its_parents_suite_and_python(directory: Path) -> None:
    child = Catalogue(directory).definition("child")
    assert (child.suite, child.python) == ("trixie", "3.13")
    assert child.site == "usr/local/lib/python3.13/dist-packages"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('parent = "base"\npackage = ["x"]', "bad.toml has package; it may have: .*packages"),
        ('parent = "base"\nsuite = "sid"', "bad.toml has suite"),
        ('suite = "trixie"', "bad.toml needs python"),
        ('parent = "nowhere"', "'nowhere', which has no definition; there are: bad, base, child"),
        ('parent = "child"', "'child', which has a parent itself"),
        ("parent =", "bad.toml is not TOML"),
    ],
)
def test_wrong_definition_is_refused_with_a_reason(directory: Path, text: str, words: str) -> None:
    (directory / "bad.toml").write_text(text)
    with pytest.raises(TestbedError, match=words):
        Catalogue(directory)


def test_an_image_that_is_defined_twice_is_refused(tmp_path: Path, directory: Path) -> None:
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "base.toml").write_text(BASE)
    with pytest.raises(TestbedError, match="defined twice"):
        Catalogue(directory, tmp_path / "second")


def test_the_image_of_the_product_is_released_with_its_chart() -> None:
    assert KNOWN.definition("kubedl").file == REPOSITORY / "deploy" / "image" / "kubedl.toml"


def test_unknown_image_lists_the_known(tmp_path: Path, directory: Path) -> None:
    images = Images(cache=tmp_path, definitions=[directory])
    with pytest.raises(TestbedError, match="'touch'; there are: base, child"):
        images.ensure("touch")


def test_images_of_the_test_bed() -> None:
    assert KNOWN.names() == [
        "base",
        "hydra",
        "jax",
        "kubedl",
        "mlserver",
        "mpi",
        "openmpi4",
        "registry",
        "tensorboard",
        "tensorflow",
        "torch",
        "xgboost",
    ]


@pytest.mark.parametrize("name", KNOWN.names())
def test_every_definition_has_its_files(name: str) -> None:
    definition = KNOWN.definition(name)
    pinned, wanted = definition.requirements, definition.file.with_suffix(".requirements.in")
    assert bool(pinned) == (wanted.exists() or definition.shared_requirements is not None)
    assert [path for path in (pinned, *definition.modules) if path is not None and not path.exists()] == []
    assert [patch.name for patch in definition.patches if not patch.exists()] == []
    assert definition.packages or definition.requirements


def test_every_patch_is_used() -> None:
    used = {patch for name in KNOWN.names() for patch in KNOWN.definition(name).patches}
    assert used == {file for directory in DEFINITIONS for file in directory.glob("*.patch")}


@pytest.mark.parametrize("file", sorted(DEFINITIONS[0].glob("*.requirements.txt")), ids=lambda file: file.name)
def test_wheels_are_pinned_by_hash_and_from_nowhere_in_particular(file: Path) -> None:
    text = re.sub(r"^\s*#.*\n", "", file.read_text(), flags=re.MULTILINE)
    requirements = text.replace("\\\n", " ").splitlines()
    assert len(requirements) > 2
    assert [line for line in requirements if not re.match(r"[a-z0-9-]+==\S+( +--hash=sha256:\w{64})+$", line)] == []
    assert "://" not in file.read_text()
    unneeded = KNOWN.definition(file.name.split(".")[0]).unneeded_wheels
    assert [line for line in requirements if line.split("==")[0] in unneeded] == []


@pytest.mark.parametrize("name", Catalogue().names())
def test_pinned_wheels_are_those_of_the_wishes(name: str) -> None:
    """A changed `.requirements.in` without `python -m testbed.images.lock` would build yesterday's image."""
    assert lock.current(Catalogue().definition(name))


def test_changed_wishes_are_noticed(tmp_path: Path) -> None:
    shutil.copytree(DEFINITIONS[0], tmp_path, dirs_exist_ok=True)
    wishes = tmp_path / "jax.requirements.in"
    wishes.write_text(wishes.read_text() + "optax\n")
    assert not lock.current(Catalogue(tmp_path).definition("jax"))
