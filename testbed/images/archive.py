"""An image in one file, for one or several architectures: what `kind load`, `ctr images import` and skopeo read."""

import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

from testbed.images.layout import combine


def write_archive(layouts: Mapping[str, Path], archive: Path, name: str) -> None:
    """Write the layouts, one for each architecture, as an OCI archive that loads under this name."""
    with tempfile.TemporaryDirectory() as directory:
        combine(layouts, Path(directory), name)
        with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as bundle:
            for file in sorted(path for path in Path(directory).rglob("*") if path.is_file()):
                bundle.add(file, str(file.relative_to(directory)), filter=_without_origin)


def _without_origin(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """The same image has the same archive, on every machine."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o644
    return entry
