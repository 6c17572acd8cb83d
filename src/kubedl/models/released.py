"""Volumes that were made for a model in AWS EFS, and whose claim is gone: they go too, and the data stays.

Kubernetes itself says when: a volume whose claim no longer exists is Released. So it does not matter who made the
volume, who deleted the claim, or whether an operator ran meanwhile.
"""

from kubedl.api.model_volumes import CLAIM_NAMESPACE, PERSISTENT_VOLUMES, PersistentVolume
from kubedl.runtime.store import Store
from kubedl.runtime.writer import Writer
from kubedl.schema.rbac import EFS, Grant
from kubedl.wire.meta import Key

GRANTS = (
    Grant(
        "",
        ("persistentvolumes",),
        ("list", "watch", "delete"),
        "Remove volumes of models whose claim is gone.",
        cluster_scoped=True,
        feature=EFS,
    ),
)


class ReleasedVolumes:
    """Reconciles PersistentVolumes of ours."""

    def __init__(self, volumes: Store[PersistentVolume], writer: Writer) -> None:
        self._volumes = volumes
        self._writer = writer

    async def reconcile(self, key: Key) -> float | None:
        """Look at one volume."""
        volume = self._volumes.get(key)
        if volume is not None and is_over(volume):
            await self._writer.delete(volume, PERSISTENT_VOLUMES, volume)
        return None


def is_over(volume: PersistentVolume) -> bool:
    """Whether nobody can use it any more."""
    meta = volume.metadata
    return volume.status.phase == "Released" and CLAIM_NAMESPACE in meta.labels and meta.deletion_timestamp is None
