"""The Go programs of the test bed, built from the module proxy and cached by content.

A tool is a directory `tools/<name>` with a go.mod that pins it by go.sum. The binaries are the
packages of its `tool` lines, or its own main package; comments in the go.mod that begin with
`//testbed:` carry what Go has no word for (build tags, linker flags, where the CRDs lie).
A binary is built when first asked for, into a directory named by the hash of the tool's files.
"""

import hashlib
import json
import re
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from testbed import locks, replaced_packages
from testbed.errors import TestbedError
from testbed.paths import home
from testbed.shell import run

SOURCES = Path(__file__).parent / "tools"

Report = Callable[[str], None]


@dataclass(frozen=True)
class Tool:
    """One directory of tools/: what it builds and with which flags."""

    name: str
    packages: dict[str, str]  # binary → Go package
    directives: dict[str, str]
    key: str

    @property
    def directory(self) -> Path:
        return home() / "tools" / f"{self.name}-{self.key[:16]}"


def load(directory: Path) -> Tool:
    """Read a tool's definition from its go.mod."""
    text = (directory / "go.mod").read_text()
    digest = hashlib.sha256()
    own = [file for file in directory.iterdir() if file.name in {"go.mod", "go.sum"} or file.suffix == ".go"]
    for file in (*sorted(own), *replaced_packages.sources(directory)):
        digest.update(f"{file.name}\0".encode() + file.read_bytes())
    packages = _tool_lines(text)
    # A single program bears its tool's name, whatever its package is called (etcd's is `server/v3`).
    named = {package.rsplit("/", 1)[-1]: package for package in packages}
    if len(packages) < 2:
        named = {directory.name: packages[0] if packages else "."}
    directives = dict(re.findall(r"^//testbed:(\w+) (.+)$", text, re.MULTILINE))
    return Tool(directory.name, named, directives, digest.hexdigest())


def catalogue() -> dict[str, Tool]:
    """All tools by name."""
    return {path.parent.name: load(path.parent) for path in sorted(SOURCES.glob("*/go.mod"))}


def binary(name: str, report: Report = print) -> Path:
    """The path of one program, built if it isn't there yet."""
    return binaries([name], report)[name]


def binaries(names: Iterable[str], report: Report = print) -> dict[str, Path]:
    """The paths of several programs; what is missing is built, those of one tool together."""
    wanted = list(names)
    tools = list(catalogue().values())
    unknown = set(wanted) - {program for tool in tools for program in tool.packages}
    if unknown:
        known = sorted(program for tool in tools for program in tool.packages)
        raise TestbedError(f"no tool builds {', '.join(sorted(unknown))}; there are: {', '.join(known)}")
    found: dict[str, Path] = {}
    for tool in tools:
        mine = [name for name in wanted if name in tool.packages]
        if mine:
            found |= _ensure(tool, mine, report)
    return found


def module_files(name: str, directive: str) -> Path:
    """Files that a project ships in its module (`crds`, `stages`), as the module proxy serves it."""
    module, _, path = catalogue()[name].directives[directive].partition(" ")
    answer = run("go", "-C", str(SOURCES / name), "mod", "download", "-json", module, timeout=600)
    return Path(json.loads(answer)["Dir"]) / path


def _ensure(tool: Tool, names: list[str], report: Report) -> dict[str, Path]:
    paths = {name: tool.directory / name for name in names}
    if not all(path.exists() for path in paths.values()):
        tool.directory.parent.mkdir(parents=True, exist_ok=True)
        with locks.held(tool.directory.with_suffix(".lock")):
            missing = [name for name, path in paths.items() if not path.exists()]
            if missing:  # another process may have built them while this one waited
                _build(tool, missing, report)
    return paths


def _build(tool: Tool, names: list[str], report: Report) -> None:
    """Build beside the final place and rename: a killed build leaves no half-written program."""
    began = time.monotonic()
    report(f"building {tool.name}: {', '.join(names)} …")
    scratch = tool.directory.with_suffix(".partial")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    _compile(tool, names, scratch)
    tool.directory.mkdir(exist_ok=True)
    for name in names:
        (scratch / name).rename(tool.directory / name)
    scratch.rmdir()
    report(f"built {tool.name} in {time.monotonic() - began:.0f} s")


def _compile(tool: Tool, names: list[str], target: Path) -> None:
    if not shutil.which("go"):
        raise TestbedError("go is not installed; CONTRIBUTING says which version the test bed needs")
    # Several packages in one call share the compiler's work; only a single one may be given a name.
    output = f"{target}/{names[0]}" if len(names) == 1 else f"{target}/"
    # Without -buildvcs=false Go asks git about the checkout, which refuses root in somebody else's clone.
    # A build must end with its starter, else it would write into the next one's files.
    command = ["setpriv", "--pdeathsig=KILL", "go", "-C", str(SOURCES / tool.name), "build"]
    command += ["-mod=readonly", "-trimpath", "-buildvcs=false"]
    modules = target / "modules"
    if module_file := replaced_packages.module_file(SOURCES / tool.name, modules):
        command.append(f"-modfile={module_file}")
    command += ["-o", output]
    command += ["-tags", tool.directives.get("tags", "")]
    command += ["-ldflags", f"-s -w {tool.directives.get('ldflags', '')}".strip()]
    command += [tool.packages[name] for name in names]
    run(*command, timeout=3600, environment={"CGO_ENABLED": "0"})
    shutil.rmtree(modules, ignore_errors=True)


def _tool_lines(go_mod: str) -> list[str]:
    text = re.sub(r"//.*", "", go_mod)
    blocks = re.findall(r"^tool \((.*?)^\)", text, re.MULTILINE | re.DOTALL)
    singles = re.findall(r"^tool ([^\s(]+)", text, re.MULTILINE)
    return [package for block in blocks for package in block.split()] + singles
