"""Labels by which users give jobs and Inferences to queues of Kueue."""

from collections.abc import Mapping

GROUP = "kueue.x-k8s.io"
QUEUE_LABEL = f"{GROUP}/queue-name"  # the LocalQueue
PRIORITY_LABEL = f"{GROUP}/priority-class"  # the WorkloadPriorityClass


def queue_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of an object that Kueue reads from its pods; none if it names no queue."""
    if not labels.get(QUEUE_LABEL):
        return {}
    return {name: labels[name] for name in (QUEUE_LABEL, PRIORITY_LABEL) if labels.get(name)}
