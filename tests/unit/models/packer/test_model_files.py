"""What is read of a model on disk, and what is refused: each with the name of the file."""

import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kubedl.models.packer import model_files as source_module
from kubedl.models.packer.model_files import FileEntry, ModelFiles, fuse_devices
from kubedl.oci.errors import ImageError

AS_ROOT = os.geteuid() == 0


def read(source: ModelFiles) -> None:
    for entry in source.entries:
        with source.opened(entry):
            pass


@contextmanager
def nobody() -> Iterator[None]:
    """Without the right to read everything, if we have it."""
    if AS_ROOT:
        os.seteuid(65534)
    try:
        yield
    finally:
        if AS_ROOT:
            os.seteuid(0)


def found(path: Path) -> list[tuple[str, str]]:
    """Paths and kinds."""
    with ModelFiles(str(path)) as source:
        return [(entry.path, entry.kind) for entry in source.entries]


def refusal(path: Path | str) -> ImageError:
    """Why nothing is packed."""
    with pytest.raises(ImageError) as caught, ModelFiles(str(path)):
        pass
    return caught.value


def test_entries_come_in_the_order_of_their_bytes(tmp_path: Path) -> None:
    for name in ("b", "a/z", "a.b", "Ä", "a/b/c"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert found(tmp_path) == [(name, "file") for name in ("a.b", "a/b/c", "a/z", "b", "Ä")]


def test_empty_directories_stay_and_others_need_no_entry(tmp_path: Path) -> None:
    """A SavedModel has an empty `assets`."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "deep" / "empty").mkdir(parents=True)
    (tmp_path / "variables").mkdir()
    (tmp_path / "variables" / "index").touch()
    expected = [("assets", "directory"), ("deep/empty", "directory"), ("variables/index", "file")]
    assert found(tmp_path) == expected


def test_a_single_file_is_a_model_too(model: Path) -> None:
    (model.parent / "beside").touch()
    assert found(model / "saved_model.pb") == [("saved_model.pb", "file")]


def test_hard_links_and_sparse_files_are_files(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 30)
    os.link(tmp_path / "sparse", tmp_path / "twin")
    with ModelFiles(str(tmp_path)) as source:
        assert [(entry.path, entry.kind, entry.size) for entry in source.entries] == [
            ("sparse", "file", 1 << 30),
            ("twin", "file", 1 << 30),
        ]


def test_what_the_file_system_keeps_for_itself_is_left_out(tmp_path: Path) -> None:
    """At the top only: deeper it is a directory like any other."""
    (tmp_path / "lost+found").mkdir()
    (tmp_path / "deep" / "lost+found").mkdir(parents=True)
    (tmp_path / "weights").touch()
    assert found(tmp_path) == [("deep/lost+found", "directory"), ("weights", "file")]


def make_pipe(place: Path) -> None:
    os.mkfifo(place)


def make_socket(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place))


def make_device(place: Path) -> None:
    if not AS_ROOT:
        pytest.skip("only root makes devices")
    os.mknod(place, 0o600 | 0o020000, os.makedev(1, 3))


@pytest.mark.parametrize(
    ("make", "name", "words"),
    [
        (make_pipe, "p", "'p' is a named pipe"),
        (make_socket, "s", "'s' is a socket"),
        (make_device, "d", "'d' is a device"),
        (Path.touch, "a\nb", r"the name 'a\\nb' has characters that cannot be printed"),
        (Path.touch, os.fsdecode(b"a\xff"), r"the name 'a\\xff' is not UTF-8"),
        (Path.touch, ".wh.weights", "'.wh.weights' would delete a file"),
        (Path.touch, ".wh..wh..opq", "would delete a file"),
        (lambda place: place.symlink_to("/etc/passwd"), "l", "the link 'l' to '/etc/passwd' is absolute"),
        (lambda place: place.symlink_to("../../x"), "l", "the link 'l' to '../../x' leads out of the model"),
        (lambda place: place.symlink_to("nothing"), "l", "points to nothing"),
    ],
)
def test_what_is_no_part_of_a_model_is_refused_by_name(
    tmp_path: Path, make: Callable[[Path], None], name: str, words: str
) -> None:
    (tmp_path / "weights").touch()
    make(tmp_path / name)
    error = refusal(tmp_path)
    assert (error.reason, error.permanent) == ("BadModel", True)
    assert words.replace(r"\\", "\\") in error.message
    assert error.message.isprintable()


@pytest.mark.parametrize("make", [lambda root: None, lambda root: (root / "a" / "b").mkdir(parents=True)])
def test_a_directory_without_files_is_no_model(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path)
    message = refusal(tmp_path).message
    assert "no file in the model's directory; the job must write its model to $KUBEDL_MODEL_PATH" in message


def test_no_link_leads_to_the_model(tmp_path: Path, model: Path) -> None:
    """Neither the last step nor one before it: whoever trained decides what links there are."""
    (tmp_path / "latest").symlink_to(model)
    assert refusal(tmp_path / "latest").permanent
    assert "leads through a link" in refusal(tmp_path / "latest" / "variables").message
    assert refusal(tmp_path / "latest" / "saved_model.pb").reason == "BadModel"


@pytest.mark.parametrize("path", ["model", "/", "/models/../etc", ""])
def test_a_source_is_a_plain_absolute_path(path: str) -> None:
    assert refusal(path).reason == "BadOrder"


def test_a_source_that_is_missing_is_said_to_be(tmp_path: Path) -> None:
    assert f"'{tmp_path}/none' does not exist" in refusal(tmp_path / "none").message


@pytest.mark.parametrize("make", [lambda place: place.mkdir(mode=0), lambda place: place.touch(mode=0)])
def test_what_cannot_be_read_is_named(make: Callable[[Path], None]) -> None:
    with nobody(), tempfile.TemporaryDirectory() as name:
        root = Path(name) / "model"
        root.mkdir()
        make(root / "closed")
        (root / "open").touch()
        with (
            pytest.raises(ImageError, match="'closed' cannot be read by user") as caught,
            ModelFiles(str(root)) as source,
        ):
            read(source)
        (root / "closed").chmod(0o700)
    assert (caught.value.reason, caught.value.permanent) == ("SourceUnreadable", False)  # modes can be put right


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "MOST_ENTRIES", 3)
    for number in range(4):
        (tmp_path / str(number)).touch()
    assert "put them into an archive" in refusal(tmp_path).message


def replaced(root: Path) -> None:
    (root / "new").write_bytes((root / "saved_model.pb").read_bytes())
    (root / "new").rename(root / "saved_model.pb")


def linked(root: Path) -> None:
    (root / "saved_model.pb").rename(root / "old")
    (root / "saved_model.pb").symlink_to("old")


def piped(root: Path) -> None:
    (root / "saved_model.pb").unlink()
    os.mkfifo(root / "saved_model.pb")


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "saved_model.pb").unlink(),
        lambda root: (root / "saved_model.pb").write_bytes(b"shorter"),
        lambda root: os.utime(root / "saved_model.pb", ns=(0, 1)),
        replaced,
        linked,
        piped,
    ],
)
def test_a_file_that_is_another_one_by_now_is_noticed(model: Path, change: Callable[[Path], None]) -> None:
    """Before it is read, and nobody is made to wait by a pipe in its place."""
    with ModelFiles(str(model)) as source:
        entry = _entry(source)
        change(model)
        with pytest.raises(ImageError) as caught, source.opened(entry):
            pass
    assert (caught.value.reason, caught.value.permanent) == ("SourceChanged", False)
    assert "'saved_model.pb'" in caught.value.message


def test_a_file_that_changes_while_it_is_read_is_noticed(model: Path) -> None:
    with (
        ModelFiles(str(model)) as source,
        pytest.raises(ImageError) as caught,
        source.opened(_entry(source)),
        (model / "saved_model.pb").open("ab") as file,
    ):
        file.write(b"more")
    assert caught.value.reason == "SourceChanged"


def relinked(root: Path) -> None:
    (root / "latest").unlink()
    (root / "latest").symlink_to("variables")


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda root: (root / "shard-5").touch(), "shard-5"),
        (lambda root: (root / "assets" / "words").touch(), "assets"),
        (lambda root: (root / "empty").mkdir(), "empty"),
        (lambda root: (root / "lock").write_bytes(b"weights, flushed late"), "lock"),
        (lambda root: (root / "lock").unlink(), "lock"),
        (lambda root: (root / "lock").chmod(0o755), "lock"),
        (lambda root: os.mkfifo(root / "pipe"), "pipe"),
        (replaced, "saved_model.pb"),
        (relinked, "latest"),
    ],
    ids=["added", "added deeper", "empty directory", "filled", "gone", "executable", "pipe", "replaced", "relinked"],
)
def test_a_model_that_is_another_one_at_the_end_is_noticed(
    model: Path, change: Callable[[Path], None], name: str
) -> None:
    """Files that nobody reads count too: new ones, and empty ones."""
    (model / "assets").mkdir()
    (model / "lock").touch()
    (model / "latest").symlink_to("saved_model.pb")
    with ModelFiles(str(model)) as source:
        source.insist_unchanged()
        change(model)
        with pytest.raises(ImageError, match=f"'{name}") as caught:
            source.insist_unchanged()
    assert (caught.value.reason, caught.value.permanent) == ("SourceChanged", False)
    assert "do not write to the model" in caught.value.message


def test_a_single_file_counts_alone(model: Path) -> None:
    with ModelFiles(str(model / "saved_model.pb")) as source:
        (model / "beside").touch()
        source.insist_unchanged()
        (model / "saved_model.pb").write_bytes(b"other")
        with pytest.raises(ImageError, match=r"'saved_model\.pb' was added, removed or changed"):
            source.insist_unchanged()


def test_nothing_stays_open(model: Path) -> None:
    before = sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with ModelFiles(str(model)) as source, source.opened(_entry(source)):
        pass
    refusal(model / "none")
    assert sorted(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def _entry(source: ModelFiles) -> FileEntry:
    return next(entry for entry in source.entries if entry.path == "saved_model.pb")


@pytest.mark.parametrize("fuse", [True, False])
def test_on_fuse_an_inode_tells_nothing(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fuse: bool
) -> None:
    """Drivers of object storage give a file another number when it is looked up again."""
    devices = frozenset({model.stat().st_dev} if fuse else ())
    monkeypatch.setattr(source_module, "fuse_devices", lambda: devices)
    with ModelFiles(str(model)) as source:
        file = model / "saved_model.pb"
        times = file.stat().st_atime_ns, file.stat().st_mtime_ns
        copy = tmp_path / "copy"
        copy.write_bytes(file.read_bytes())
        os.utime(copy, ns=times)
        copy.rename(file)
        if fuse:
            read(source)
            source.insist_unchanged()
        else:
            with pytest.raises(ImageError, match="changed while it was read"):
                read(source)


def test_file_systems_in_user_space_are_known_by_the_table_of_mounts(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(
        "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        "90 22 0:61 / /models rw,nosuid - fuse.gcsfuse gcs rw,user_id=0\n"
        "91 22 0:62 / /s3 ro master:4 - fuse s3 ro\n"
    )
    assert fuse_devices(str(table)) == {os.makedev(0, 61), os.makedev(0, 62)}
    assert fuse_devices(str(tmp_path / "none")) == frozenset()
