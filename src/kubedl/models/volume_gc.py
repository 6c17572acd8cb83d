"""Deletes PersistentVolumes created for models in AWS EFS whose claim is gone. The data is kept.

Kubernetes marks a volume whose claim no longer exists as Released. So it does not matter who created the volume, who
deleted the claim, or whether an operator was running.
"""

from kubedl.kube.types.meta import ObjectKey
from kubedl.podspec.model_volumes import CLAIM_NAMESPACE, PERSISTENT_VOLUMES, PersistentVolume
from kubedl.runtime.store import Store
from kubedl.runtime.writer import Writer


class VolumeGarbageCollector:
    """Reconciles KubeDL's PersistentVolumes."""

    def __init__(self, volumes: Store[PersistentVolume], writer: Writer) -> None:
        self._volumes = volumes
        self._writer = writer

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Reconcile one volume."""
        unneeded = plan(self._volumes.get(key))
        if unneeded is not None:
            await self._writer.delete(unneeded, PERSISTENT_VOLUMES, unneeded)
        return None


def plan(volume: PersistentVolume | None) -> PersistentVolume | None:
    """Return the volume if it is unused, KubeDL's, and not being deleted yet."""
    if volume is None or volume.status.phase != "Released" or volume.metadata.deletion_timestamp is not None:
        return None
    return volume if CLAIM_NAMESPACE in volume.metadata.labels else None
