"""The archive of logs as a part of `kubedl recorder run`: its options, and how it is put together."""

import argparse
from collections.abc import Callable

from prometheus_client import CollectorRegistry
from sqlalchemy.ext.asyncio import AsyncEngine

from kubedl.history.logs.bucket import Bucket
from kubedl.history.logs.bucket_settings import BucketSettings, BucketSettingsError, credentials_from
from kubedl.history.logs.container_run import ended_runs
from kubedl.history.logs.log_archive import LogArchive
from kubedl.history.logs.log_metrics import LogMetrics
from kubedl.history.logs.log_reader import LogReader
from kubedl.history.logs.log_records import LogRecords
from kubedl.history.logs.log_storage import LogStorage
from kubedl.history.observed_pods import RecordedPod
from kubedl.kube.client import Client
from kubedl.training.kinds import all_kinds

MOST_BYTES = 4 << 20
LARGEST = 64 << 20  # of --logs-max-bytes: two logs are in memory at a time

MAIN_CONTAINERS = {kind.kind: kind.container for kind in all_kinds()}


def add_options(run: argparse.ArgumentParser) -> None:
    """Add the options to a parser."""
    run.add_argument(
        "--logs-endpoint",
        default="",
        help="archive logs of ended containers in S3-compatible storage with this URL (default: none); credentials are "
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment",
    )
    run.add_argument("--logs-bucket", default="", help="bucket of the logs")
    run.add_argument("--logs-prefix", default="", help="beginning of the keys of all logs")
    run.add_argument("--logs-region", default="us-east-1", help="region that requests are signed for")
    run.add_argument("--logs-ca-file", default="", help="CA certificates of the storage (default: those of the system)")
    run.add_argument(
        "--logs-max-bytes",
        type=int,
        default=MOST_BYTES,
        help="bytes of a log that are kept, uncompressed: the last ones",
    )


class LogArchiving:
    """The archive and its connections."""

    def __init__(self, archive: LogArchive, bucket: Bucket) -> None:
        self.run, self.close = archive.run, bucket.close
        self._archive = archive

    def observed(self, pod: RecordedPod, deleted: bool) -> None:
        """Note the state of a pod."""
        self._archive.observed(pod.metadata.uid, ended_runs(pod, MAIN_CONTAINERS), deleted=deleted)


def archiving(
    options: argparse.Namespace,
    client: Client,
    database: AsyncEngine,
    registry: CollectorRegistry,
    may_write: Callable[[], None],
) -> LogArchiving | None:
    """Return the archive, or None if it is off. Raises BucketSettingsError."""
    if not options.logs_endpoint:
        return None
    if not 1024 <= options.logs_max_bytes <= LARGEST:
        raise BucketSettingsError(f"--logs-max-bytes must be between 1024 and {LARGEST}")
    settings = BucketSettings(
        options.logs_endpoint, options.logs_bucket, options.logs_prefix, options.logs_region, options.logs_ca_file
    )
    bucket = Bucket(settings, credentials_from())
    archive = LogArchive(
        LogReader(client, options.logs_max_bytes, MAIN_CONTAINERS),
        LogStorage(bucket, options.cluster),
        LogRecords(database, options.cluster),
        LogMetrics(registry),
        may_write=may_write,
    )
    return LogArchiving(archive, bucket)
