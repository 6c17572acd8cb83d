"""A release in files, to publish or to mirror: `make release` writes them to build/release.

The chart, the image for amd64 and arm64 in one archive, install.yaml for users without Helm, a bill of materials for
each architecture, notes, checksums, and a script that pushes chart and image to a registry.
"""

import argparse
import hashlib
import shutil
import sys
import tomllib
from pathlib import Path

from testbed import tools
from testbed.cluster import Cluster
from testbed.errors import TestbedError
from testbed.images.archive import write_archive
from testbed.images.bom import PLACE
from testbed.shell import run

ROOT = Path(__file__).parents[1]
CHART = ROOT / "deploy" / "chart"
NAMESPACE = "kubedl-system"
ARCHITECTURES = ("amd64", "arm64")
INTERPRETER = Path("/proc/sys/fs/binfmt_misc/qemu-aarch64")

PUBLISH = """#!/bin/sh
# Push the image and the chart: ./publish.sh REGISTRY, for example registry.example/kubedl. Log in first, with
# `skopeo login` and `helm registry login`.
set -eu
cd "$(dirname "$0")"
sha256sum --check --quiet SHA256SUMS
skopeo copy --all oci-archive:{image} "docker://$1/kubedl:{version}"
helm push {chart} "oci://$1/charts"
echo "helm install kubedl oci://$1/charts/kubedl --version {version} --set image.repository=$1/kubedl"
"""


def version() -> str:
    """The version of the package, which the chart has too."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def write(directory: Path) -> None:
    """Write the files of a release."""
    number = version()
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    helm = str(tools.binary("helm", _say))
    run(helm, "package", str(CHART), f"--destination={directory}")
    (directory / "install.yaml").write_text(manifests(helm, number))
    image = directory / f"kubedl-{number}-image.tar"
    write_image(directory, image, number)
    notes = run(sys.executable, "-m", "towncrier", "build", "--draft", f"--version={number}", f"--dir={ROOT}")
    (directory / "RELEASE-NOTES.md").write_text(notes)
    publish = directory / "publish.sh"
    publish.write_text(PUBLISH.format(image=image.name, chart=f"kubedl-{number}.tgz", version=number))
    publish.chmod(0o755)
    (directory / "SHA256SUMS").write_text(checksums(directory))


def manifests(helm: str, number: str) -> str:
    """What `helm install` with the default values would apply, with its namespace."""
    namespace = f"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {NAMESPACE}\n"
    image = ("--set=image.repository=kubedl", f"--set-string=image.tag={number}")
    rendered = run(
        *(helm, "template", "kubedl", str(CHART), f"--namespace={NAMESPACE}", *image),
        *("--skip-tests", "--kube-version=1.36.0"),
    )
    return f"# kubectl apply --server-side -f install.yaml\n{namespace}{rendered}"


def write_image(directory: Path, archive: Path, number: str) -> None:
    """The image of each architecture in one OCI archive, and beside it what each is made of."""
    if not INTERPRETER.exists():
        raise TestbedError(
            f"{INTERPRETER} is missing: programs for arm64 run under qemu-user-static; "
            f"mount -t binfmt_misc binfmt_misc {INTERPRETER.parent} && update-binfmts --enable {INTERPRETER.name}"
        )
    images = Cluster(report=_say).images
    layouts = {architecture: images.ensure("kubedl", architecture) for architecture in ARCHITECTURES}
    for architecture, layout in layouts.items():
        shutil.copyfile(layout / Path(PLACE).name, directory / f"kubedl-{number}-{architecture}.cdx.json")
    write_archive(layouts, archive, f"kubedl:{number}")


def checksums(directory: Path) -> str:
    """As sha256sum prints them."""
    files = sorted(file for file in directory.iterdir() if file.name != "SHA256SUMS")
    return "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """Write the files and list them."""
    parser = argparse.ArgumentParser(prog="python -m devtools.release", description=__doc__)
    parser.add_argument("directory", nargs="?", type=Path, default=ROOT / "build" / "release")
    directory: Path = parser.parse_args().directory
    try:
        write(directory)
    except TestbedError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    for file in sorted(directory.iterdir()):
        print(f"{file.stat().st_size / 1e6:8.1f} MB  {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
