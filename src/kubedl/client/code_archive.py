"""Code as one zip that python3 runs: a function, or a directory and a command. It travels in an immutable ConfigMap."""

import base64
import io
import json
import subprocess
import zipfile
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatch
from hashlib import sha256
from pathlib import Path
from typing import Any

from kubedl.client.errors import CodeTooLarge, FunctionNotPortable, KubedlError
from kubedl.client.portable import MODULE, source_of
from kubedl.client.volume_names import FILES as VOLUME

PLACE = "/kubedl-files"
FILE = "code.pyz"
LABEL = "kubedl.io/files"  # marks ConfigMaps with code
MOST_BYTES = 900 * 1024
MOST_FILES = 5000
SECRET = ("*.pem", "*.key", "id_*", ".env", ".env.*", "*.p12", ".netrc", "credentials", "kubeconfig")
_DATE = (2020, 1, 1, 0, 0, 0)  # the same files make the same archive
# Variables with the number of a process: of torch.distributed, JAX, Open MPI, and MPICH or Intel MPI.
_RANKS = ("RANK", "JAX_PROCESS_ID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
_MAIN = """\
import json, os, sys, tempfile, zipfile
archive = zipfile.ZipFile(sys.argv[0])
order = json.loads(archive.read("order.json"))
members = [name for name in archive.namelist() if name.startswith("files/")]
if members:
    place = tempfile.mkdtemp(prefix="kubedl-")
    archive.extractall(place, members)
    os.chdir(os.path.join(place, "files"))
    sys.path.insert(0, os.getcwd())
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (os.getcwd(), os.environ.get("PYTHONPATH"))))
if order["command"]:
    os.execvp(order["command"][0], order["command"])
import MODULE as module
result = getattr(module, order["function"])(*order["positional"], **order["args"])
ranks = [os.environ[name] for name in RANKS if name in os.environ]
if ranks[:1] in ([], ["0"]) and result is not None:
    try:
        text = json.dumps(result)
    except (TypeError, ValueError):
        text = ""
    place = os.environ.get("KUBEDL_RESULT", "/dev/termination-log")
    if 0 < len(text) <= 3000 and os.path.exists(os.path.dirname(place)):
        try:
            with open(place, "w") as file:
                file.write(text)
        except OSError:
            pass
"""


def pack_function(
    func: Callable[..., object],
    args: Mapping[str, Any] | None = None,
    code: Path | None = None,
    positional: Mapping[str, Any] | None = None,
) -> bytes:
    """Return the archive of a function with its keyword arguments, or its one argument; and of a directory."""
    try:
        given = json.loads(json.dumps(dict(args or {})))
        single = json.loads(json.dumps([dict(positional)] if positional is not None else []))
    except (TypeError, ValueError) as error:
        raise FunctionNotPortable("args must be JSON", str(error), ("numbers, texts, lists, mappings",)) from error
    parts = {f"{MODULE}.py": source_of(func, with_code=code is not None).encode()}
    order = {"function": func.__name__, "args": given, "positional": single, "command": []}
    return _pack(order, parts, code)


def pack_directory(directory: Path, command: Sequence[str]) -> bytes:
    """Return the archive of a directory and the command that runs in it."""
    return _pack({"function": "", "args": {}, "positional": [], "command": list(command)}, {}, directory)


def files_of(directory: Path) -> tuple[list[str], list[str]]:
    """Return the files to ship, as git sees the directory, and those left out because they look like keys."""
    names = _known_to_git(directory)
    if names is None:
        found = (path.relative_to(directory) for path in directory.rglob("*") if path.is_file())
        names = [str(path) for path in found if not any(part.startswith(".") for part in path.parts[:-1])]
    names = sorted(name for name in names if (directory / name).is_file() and "__pycache__" not in name)
    secret = [name for name in names if looks_secret(name) or _leads_to_secret(directory, name)]
    if len(names) > MOST_FILES:
        raise _too_large(f"{directory} has {len(names)} files")
    return [name for name in names if name not in secret], secret


def looks_secret(path: str) -> bool:
    """Return whether a file is a key or a password by its name: what many may read does not get it."""
    return any(fnmatch(Path(path).name, pattern) for pattern in SECRET)


def _known_to_git(directory: Path) -> list[str] | None:
    """Return the files of a directory that git does not ignore; None without git, or outside of a repository."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard", "-z"],
            cwd=directory,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:  # images often have none
        return None
    if listed.returncode:
        return None
    return [name for name in listed.stdout.decode(errors="replace").split("\0") if name]


def _leads_to_secret(directory: Path, name: str) -> bool:
    """Return whether a link leads to a key, or to a hidden place elsewhere: a checkout may have links of others."""
    path = directory / name
    if not path.is_symlink():
        return False
    target, root = path.resolve(), directory.resolve()
    is_hidden = any(part.startswith(".") and part not in root.parts for part in target.parts)
    return looks_secret(str(target)) or (is_hidden and not target.is_relative_to(root))


def config_map(job: str, archive: bytes, namespace: str) -> dict[str, Any]:
    """Return the ConfigMap of an archive. Its name has the digest, so sending it again does no harm."""
    digest = sha256(archive).hexdigest()
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{job}-files-{digest[:10]}", "namespace": namespace, "labels": {LABEL: "code"}},
        "immutable": True,
        "binaryData": {FILE: base64.b64encode(archive).decode()},
    }


def mount(template: dict[str, Any], name: str) -> None:
    """Mount the ConfigMap in the first container of a pod template."""
    spec = template["spec"]
    spec.setdefault("volumes", []).append({"name": VOLUME, "configMap": {"name": name}})
    mounted = {"name": VOLUME, "mountPath": PLACE, "readOnly": True}
    spec["containers"][0].setdefault("volumeMounts", []).append(mounted)


def _pack(order: Mapping[str, Any], parts: Mapping[str, bytes], directory: Path | None) -> bytes:
    main = _MAIN.replace("MODULE", MODULE).replace("RANKS", repr(_RANKS))
    start = {"__main__.py": main.encode(), "order.json": json.dumps(order).encode()}
    content = start | dict(parts)
    if directory is not None:
        names, _ = files_of(directory)
        size = 0
        for name in names:
            size += (directory / name).stat().st_size
            if size > 20 * MOST_BYTES:
                raise _too_large(f"{directory} has more than {20 * MOST_BYTES // 2**20} MiB")
            content[f"files/{name}"] = _read(directory / name)
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(content.items()):
            archive.writestr(zipfile.ZipInfo(name, _DATE), data, zipfile.ZIP_DEFLATED)
    if written.tell() > MOST_BYTES:
        raise _too_large(f"the code has {written.tell() // 1024} KiB packed")
    return written.getvalue()


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        steps = ("let yourself read it", "name it in .gitignore")
        raise KubedlError(f"cannot read {file}, which would be sent", error.strerror or "", steps) from error


def _too_large(what: str) -> CodeTooLarge:
    steps = ("code from git: --sync-source URL", "a claim: --data CLAIM:/path", "an image with the code")
    return CodeTooLarge(what, f"a ConfigMap holds {MOST_BYTES // 1024} KiB", steps)
