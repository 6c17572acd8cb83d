"""Where queues are measured: a cluster with Kueue that nobody else disturbs."""

from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.environment import say
from harness.drivers.operator_process import install_custom_resources
from testbed import cluster_lock, namespaces
from testbed.cluster import Cluster
from testbed.instance import chosen_index


@contextmanager
def kueue_stage() -> Iterator[Cluster]:
    """The chosen instance's cluster. Kueue is added before the turn alone, for which it would wait."""
    with cluster_lock.borrowed(Cluster(chosen_index(), report=say), kwok=2) as cluster:
        namespaces.remove_abandoned(cluster.api)
        cluster.add_kueue()
        install_custom_resources(cluster)
        with cluster_lock.turn(cluster, alone=True):
            yield cluster
