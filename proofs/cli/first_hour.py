"""The page for newcomers, run as it stands on two nodes: `python -m proofs.cli.first_hour`.

A cluster with the chart, an image with PyTorch and a claim is made first, as an administrator would; that is not part
of the page. The last line is JSON: how it ended, and the seconds of each section. It ended well if the server of the
model answered with the point that the line has. The page waits without a bound, as its readers do; here an hour and
the time for the cluster is the most.
"""

import os
import signal
import subprocess
import sys

from devtools.lint_repo import ROOT
from testbed.instance import chosen_index

PAGE = "docs/tutorial-laptop-to-cluster.md"
LONGEST = 3600 + 1800  # seconds
ANSWER = '{"y": 7.0}'  # the line is 2x + 1
BEFORE = """make cluster NODES=2
eval "$(make cluster-env)"
examples=examples/quickstart-pytorch
kubectl apply -f $examples/testbed-volume.yaml -f $examples/claim.yaml
kubedl=$(.venv/bin/python -m testbed push kubedl)
export KUBEDL_IMAGE=$(.venv/bin/python -m testbed push torch)
helm install kubedl deploy/chart --namespace kubedl-system --create-namespace --wait --timeout=3m \\
  --set image.repository="${kubedl%:*}" --set-string image.tag="${kubedl##*:}"
export MODEL_FLAGS=--model-insecure  # the registry of the test bed has no TLS
unset PYTHONPATH
"""


def main() -> int:
    """Run the page; other arguments are those of run_docs."""
    words = ["--before", BEFORE, "--instance", str(chosen_index()), "--expect", ANSWER, *sys.argv[1:]]
    command = [sys.executable, "-m", "devtools.run_docs", PAGE, *words]
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True) as process:
        try:
            return process.wait(LONGEST)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            os.killpg(process.pid, signal.SIGINT)  # of the shell too; the test bed is ended by run_docs
            process.wait()
            print('{"ended": "broken off"}')
            return 1


if __name__ == "__main__":
    sys.exit(main())
