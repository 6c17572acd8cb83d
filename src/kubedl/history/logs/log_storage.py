"""Logs as objects of a bucket."""

from kubedl.history.logs.bucket import Bucket
from kubedl.history.logs.bucket_settings import STARTED, TIMED
from kubedl.history.logs.container_run import ContainerRun


class LogStorage:
    """The logs of one cluster in a bucket."""

    def __init__(self, bucket: Bucket, cluster: str) -> None:
        self._bucket, self._cluster = bucket, cluster

    async def store(self, run: ContainerRun, body: bytes, *, cut: bool) -> str:
        """Write a log, and return its location."""
        settings = self._bucket.settings
        key = run.key(settings.prefix, self._cluster)
        headers = {
            "content-type": "text/plain; charset=utf-8",
            "content-encoding": "gzip",
            "x-amz-meta-kubedl-cut": "true" if cut else "false",
            TIMED: "true",
        }
        if run.started is not None:
            headers[STARTED] = run.started.isoformat()
        await self._bucket.put(key, body, headers)
        return settings.location(key)
