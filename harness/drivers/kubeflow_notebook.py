"""A notebook for Kubeflow's client, changed so that it runs with KubeDL's: the lines that differ, and nothing else."""

import difflib
from pathlib import Path

NOTEBOOK = Path(__file__).parents[2] / "examples" / "kubeflow" / "digits.py"
# Each line that must be another one here.
CHANGES = {
    "from kubeflow.training import TrainingClient": "from kubedl.client import TrainingClient",
    'print("jobs:", [job.metadata.name for job in client.list_jobs()])': (
        'print("jobs:", [job.name for job in client.list_jobs()])'
    ),
    'logs, events = client.get_job_logs("digits", is_master=True)': (
        'logs = client.get_job_logs("digits", replicas="master").by_pod()'
    ),
}


def changed() -> str:
    """Return the notebook for KubeDL."""
    lines = NOTEBOOK.read_text().splitlines()
    unknown = CHANGES.keys() - set(lines)
    if unknown:
        raise ValueError(f"the notebook has no such line: {unknown}")
    return "\n".join(CHANGES.get(line, line) for line in lines) + "\n"


def difference() -> list[str]:
    """Return the difference as a patch has it."""
    before, after = NOTEBOOK.read_text().splitlines(), changed().splitlines()
    return list(difflib.unified_diff(before, after, "kubeflow", "kubedl", lineterm="", n=0))


def lines_changed() -> int:
    """Return how many lines of the notebook are others."""
    return sum(line.startswith("-") and not line.startswith("---") for line in difference())
