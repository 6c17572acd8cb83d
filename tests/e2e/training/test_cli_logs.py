"""Logs of real containers, followed by the command line to the end of the job."""

from pathlib import Path

from harness.drivers import command_line
from harness.drivers.operator_process import Operator
from tests.e2e.workspace import Workspace

LINES = 2000
# Each replica numbers its lines; the worker fails when it has written them all.
SCRIPT = (
    f'i=0; while [ $i -lt {LINES} ]; do i=$((i+1)); echo "line $i"; done; [ "$RANK" = 0 ] && exec sleep 600; exit 7'
)


def test_followed_logs_have_every_line_and_end_with_the_exit_code(
    baseline_workspace: Workspace, operator: Operator, base_image: str, tmp_path: Path
) -> None:
    """From before the first pod exists until the job has failed: each line of both replicas once and in order."""
    operator.insist()
    flags = ("--name", "talk", "--image", base_image, "--workers", "2", "--retry", "0")
    assert _kubedl(baseline_workspace, tmp_path, "submit", "pytorch", *flags, SCRIPT).returncode == 0
    followed = _kubedl(baseline_workspace, tmp_path, "logs", "-f", "talk")
    assert followed.returncode == 7, followed.stderr
    lines = followed.stdout.splitlines()
    for replica in ("master-0", "worker-0"):
        written = [line.removeprefix(f"[{replica}] ") for line in lines if line.startswith(f"[{replica}]")]
        assert written == [f"line {number}" for number in range(1, LINES + 1)]
    assert followed.stderr.splitlines()[-2].startswith("error: talk failed: ")


def _kubedl(workspace: Workspace, cache: Path, *words: str) -> command_line.Done:
    return command_line.kubedl(workspace.cluster, workspace.namespace, cache, *words, timeout=120)
