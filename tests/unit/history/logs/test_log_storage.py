"""What is said of a log beside its content."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from kubedl.history.logs.bucket import Bucket
from kubedl.history.logs.bucket_settings import STARTED, TIMED, BucketSettings
from kubedl.history.logs.container_run import ContainerRun
from kubedl.history.logs.log_storage import LogStorage
from kubedl.history.logs.signature import Credentials
from kubedl.kube.types.meta import ObjectKey

MOMENT = datetime(2026, 11, 18, tzinfo=UTC)
RUN = ContainerRun(ObjectKey("team", "bert-0"), "uid", MOMENT, "TFJob", "bert", "job-uid", "main", 0)


class Written(Bucket):
    """Keeps what was said of the last object."""

    headers: Mapping[str, str]

    async def put(self, key: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Write nothing."""
        self.headers = headers


async def test_an_object_says_that_it_has_times_and_when_its_container_started() -> None:
    """The latter if it is known."""
    bucket = Written(BucketSettings("https://s3.example", "logs"), Credentials("key", "secret"))
    storage = LogStorage(bucket, "prod")
    await storage.store(replace(RUN, started=MOMENT), b"", cut=False)
    assert bucket.headers[TIMED] == "true"
    assert datetime.fromisoformat(bucket.headers[STARTED]) == MOMENT
    await storage.store(RUN, b"", cut=False)
    assert STARTED not in bucket.headers
