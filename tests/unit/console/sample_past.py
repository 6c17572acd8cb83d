"""Three months of jobs that ended and were deleted, for tests that look at pages."""

from datetime import timedelta

from harness.drivers.recorded_past import PastJob
from tests.unit.console.sample_objects import HOSTILE
from tests.unit.console.world import NOW

BERT = PastJob(
    "nlp",
    "bert-large-v7",
    NOW - timedelta(hours=30),
    ran=timedelta(hours=9),
    user="mei.lin",
    queue="gpus",
    gpus=8,
    lost=timedelta(minutes=1),
    log="s3://kubedl-logs/prod-1/nlp/bert-large-v7-worker-0-0.gz",
    event="PyTorchJob nlp/bert-large-v7 has succeeded",
    message="all 1 replicas succeeded",
)
TRAINED = PastJob(  # the job of a version in sample_objects
    "nlp",
    "llama3-8b-sft-2",
    NOW - timedelta(days=9),
    ran=timedelta(hours=3, minutes=18),
    user="mei.lin",
    queue="gpus",
    gpus=16,
    data="s3://data/instruct-mix/v11",
    uid="uid-nlp-llama3-8b-sft-2",
)
_TEAMS = (
    ("nlp", "mei.lin", "gpus"),
    ("vision", "tomas.k", "gpus"),
    ("research", "lucia.m", ""),
    ("secret", "eve", "gpus"),
)


def sample_past() -> tuple[PastJob, ...]:
    """Return them; those of the namespace secret must not be seen, and node-2 has no price."""
    runs = [
        PastJob(
            namespace,
            f"{'of-others' if namespace == 'secret' else 'sweep'}-{number}",
            NOW - timedelta(days=number * 2, hours=7),
            ran=timedelta(hours=1 + number * 5 % 7),
            state="Failed" if number % 6 == 5 else "Succeeded",
            user=user,
            queue=queue,
            gpus=1 + number % 4,
            node="node-2" if namespace == "research" else "node-1",
        )
        for number in range(30)
        for namespace, user, queue in _TEAMS
    ]
    hostile = PastJob(
        "research", "hostile", NOW - timedelta(hours=3), state="Failed", user=HOSTILE, message=HOSTILE, node="node-2"
    )
    return (BERT, TRAINED, hostile, *runs)
