"""How often a waiting gang is shown to its scheduler again."""

from datetime import timedelta
from typing import TYPE_CHECKING, cast

from kubedl.training.gang.pod_group import pod_groups
from kubedl.training.gang.retries import GangRetries
from kubedl.training.gang.scheduler import Gang
from tests.training_builders import NAMESPACE, NOW, tf_job
from tests.unit.training.gang.gang_builders import INSTALLED

if TYPE_CHECKING:
    from kubedl.kube.client import Client


class Patches:
    """Counts them."""

    def __init__(self) -> None:
        self.number = 0

    async def patch(self, *_: object) -> None:
        self.number += 1


async def test_a_gang_is_retried_every_few_seconds_also_after_the_clock_was_set_back() -> None:
    job = tf_job().workers(2)
    [group] = pod_groups(job.kind.job(job.build()))
    gang, retries, client = Gang(INSTALLED["coscheduling"], group), GangRetries(), Patches()
    for now, patches in ((NOW, 1), (NOW + timedelta(seconds=4), 1), (NOW - timedelta(hours=1), 2)):
        await retries.retry(cast("Client", client), NAMESPACE, gang, now)
        assert client.number == patches
