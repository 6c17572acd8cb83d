"""Install from the files of a release alone, in empty clusters of one node: `python -m proofs.front_door.release`.

Three ways: the chart and image that publish.sh pushed to a mirror; install.yaml with the image loaded into the node;
and the arm64 image as far as this machine can run it, which is a Python under emulation that starts the operator's
program. The last line is JSON.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from devtools import release
from devtools.lint_repo import ROOT
from testbed import tools
from testbed.cluster import Cluster
from testbed.shell import attempt, run

INSTANCE = 7
FOREIGN = ("arch-test", "binfmt-support", "qemu-user-static")  # as `make release` installs them
NAMESPACE = release.NAMESPACE
READY = ("rollout", "status", "deployment/kubedl-operator", f"--namespace={NAMESPACE}", "--timeout=120s")


def main() -> int:
    """Write a release, and use it."""
    figures: dict[str, object] = {}
    cluster = Cluster(INSTANCE, report=_say)
    with tempfile.TemporaryDirectory() as directory:
        files = Path(directory) / "release"
        run(str(ROOT / "devtools/install-debian-packages"), *FOREIGN)
        began = time.monotonic()
        release.write(files)
        figures["seconds to write"] = round(time.monotonic() - began)
        figures["files"] = len(list(files.iterdir()))
        checked = attempt("env", f"--chdir={files}", "sha256sum", "--check", "--quiet", "SHA256SUMS")
        figures["checksums"] = "passed" if checked.returncode == 0 else checked.stderr
        figures["arm64"] = _on_arm64(files)
        # A cluster each: a kubelet that has pulled an image under one name does not take it as loaded under another.
        for name, way in (("from a mirror", _from_mirror), ("from install.yaml", _from_manifests)):
            cluster.up(nodes=1)
            try:
                figures[name] = way(cluster, files)
            finally:
                cluster.down()
    print(json.dumps(figures))
    return 0


def _from_mirror(cluster: Cluster, files: Path) -> str:
    """Push with the script of the release, then name nothing but the mirror."""
    mirror = f"{cluster.instance.registry}/kubedl"
    helm = tools.binary("helm", _say)
    script = (files / "publish.sh").read_text()
    # The mirror of the test bed has no TLS; a real one needs neither option.
    script = script.replace("skopeo copy", "skopeo --insecure-policy copy --dest-tls-verify=false")
    script = script.replace("helm push", f"{helm} push --plain-http")
    (files / "publish.sh").write_text(script)
    (files / "SHA256SUMS").write_text(release.checksums(files))
    run("env", "NO_PROXY=*", "sh", str(files / "publish.sh"), mirror, timeout=300)
    _helm(
        *(cluster, "install", "kubedl", f"oci://{mirror}/charts/kubedl", f"--version={release.version()}"),
        *("--plain-http", f"--set=image.repository={mirror}/kubedl", "--create-namespace", "--wait", "--timeout=2m"),
    )
    _helm(cluster, "test", "kubedl", "--timeout=2m")
    return "passed"


def _from_manifests(cluster: Cluster, files: Path) -> str:
    """Load the image as `kind load image-archive` does, and apply one file."""
    [archive] = files.glob("*-image.tar")
    cluster.parts.node(1).load_image(archive)
    cluster.kubectl("apply", "--server-side", "--force-conflicts", f"--filename={files / 'install.yaml'}")
    cluster.kubectl(*READY)
    return "passed"


def _on_arm64(files: Path) -> str:
    """Unpack the image for arm64 and let its Python, emulated, import the product and print its help."""
    [archive] = files.glob("*-image.tar")
    with tempfile.TemporaryDirectory() as directory:
        layout, tree = Path(directory) / "layout", Path(directory) / "tree"
        tree.mkdir()
        copy = ("skopeo", "--insecure-policy", "--override-arch=arm64", "copy", "--quiet")
        run(*copy, f"oci-archive:{archive}", f"dir:{layout}", timeout=300)
        for layer in json.loads((layout / "manifest.json").read_text())["layers"]:
            run("tar", "--zstd", "-xpf", str(layout / layer["digest"].removeprefix("sha256:")), "-C", str(tree))
        program = ("/usr/bin/python3", "-m", "kubedl.entrypoints.command", "operator", "--help")
        done = attempt("chroot", "--userspec=65532:65532", str(tree), *program, timeout=300)
    _say(done.stdout[:200] or done.stderr[-2000:])
    return "passed" if done.returncode == 0 and "--namespace" in done.stdout else f"ended with {done.returncode}"


def _helm(cluster: Cluster, *arguments: str) -> None:
    options = (f"--namespace={NAMESPACE}", f"--kubeconfig={cluster.kubeconfig}")
    _say(run("env", "NO_PROXY=*", str(tools.binary("helm", _say)), *arguments, *options, timeout=300))


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
