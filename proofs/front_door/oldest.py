"""The quickstart on the oldest Kubernetes that the chart accepts: `python -m proofs.front_door.oldest`.

A copy of this repository whose test bed builds that version runs the page from `helm install` to the served answer:
install, train, pack, serve. The last line is JSON.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
MODULES = Path(__file__).parent / "kubernetes-1.31"
INSTANCE = "7"
BEFORE = 'make quickstart-cluster && eval "$(make cluster-env)" && kubectl version && kubectl get nodes'


def main() -> int:
    """Run the page, and compare versions."""
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory) / "kubedl"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(copy), "HEAD"], cwd=ROOT, check=True)
        try:
            figures = _run(copy)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(copy)], cwd=ROOT, check=True)
    print(json.dumps(figures))
    return 0


def _run(copy: Path) -> dict[str, object]:
    (copy / ".venv").symlink_to(ROOT / ".venv")
    for file in MODULES.iterdir():
        shutil.copyfile(file, copy / "testbed" / "tools" / "kubernetes" / file.name)
    _without_gates(copy / "testbed" / "controlplane.py")
    page = [sys.executable, "-m", "devtools.run_docs", "docs/quickstart.md", f"--instance={INSTANCE}"]
    page += [f"--before={BEFORE}", '--expect="digit": 3']
    environment = {**os.environ, "PYTHONPATH": f"{copy / 'src'}:{copy}", "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(page, cwd=copy, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    figures: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return {**figures, "versions apart": int(_built() != _accepted())}


def _without_gates(file: Path) -> None:
    """Switch on no feature that is younger than this Kubernetes."""
    text = re.sub(r"^(GANG|SCHEDULER_GATES) = .*$", r'\1 = ""', file.read_text(), flags=re.MULTILINE)
    file.write_text(text.replace("--runtime-config=scheduling.k8s.io/v1alpha2=true", "--runtime-config=api/ga=true"))


def _built() -> str:
    """The minor version that this proof builds."""
    found = re.search(r"k8s\.io/kubernetes v(1\.[0-9]+)\.", (MODULES / "go.mod").read_text())
    return found[1] if found else ""


def _accepted() -> str:
    """The oldest minor version that the chart accepts."""
    chart = yaml.safe_load((ROOT / "deploy" / "chart" / "Chart.yaml").read_text())
    return str(chart["kubeVersion"]).removeprefix(">=").removesuffix(".0-0")


if __name__ == "__main__":
    sys.exit(main())
