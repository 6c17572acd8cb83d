"""Settings of the bucket are checked before anything is recorded."""

import pytest
from aiohttp import web

from kubedl.history.logs.bucket import Bucket
from kubedl.history.logs.bucket_settings import (
    BucketError,
    BucketSettings,
    BucketSettingsError,
    ObjectRefusedError,
    credentials_from,
)
from kubedl.history.logs.signature import Credentials


@pytest.mark.parametrize(
    ("endpoint", "bucket", "complaint"),
    [
        ("s3.example", "logs", "is a URL"),
        ("https://user:hidden@s3.example", "logs", "is a URL"),
        ("https://s3.example/logs", "logs", "has no path"),
        ("https://s3.example", "", "not the name of a bucket"),
        ("https://s3.example", "a/../b", "not the name of a bucket"),
    ],
)
def test_what_cannot_work_is_refused(endpoint: str, bucket: str, complaint: str) -> None:
    """Without repeating what may be secret."""
    with pytest.raises(BucketSettingsError, match=complaint) as refusal:
        BucketSettings(endpoint, bucket)
    assert "hidden" not in str(refusal.value)


def test_credentials_come_from_the_environment() -> None:
    """All or nothing."""
    with pytest.raises(BucketSettingsError, match="AWS_SECRET_ACCESS_KEY"):
        credentials_from({"AWS_ACCESS_KEY_ID": "a"})
    found = credentials_from({"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b\n"})
    assert (found.access_key, found.secret_key, found.session_token) == ("a", "b", "")


@pytest.mark.parametrize(
    ("status", "answer", "failure"),
    [
        (413, "<html>nginx", ObjectRefusedError),
        (400, "<Error><Code>EntityTooLarge</Code><Message>no</Message></Error>", ObjectRefusedError),
        (400, "<Error><Code>ExpiredToken</Code></Error>", BucketError),
        (503, "", BucketError),
    ],
)
async def test_only_what_is_about_one_object_is_given_up(status: int, answer: str, failure: type[Exception]) -> None:
    """A wrong key is about all of them, and may be put right."""

    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=status, text=answer)

    application = web.Application()
    application.router.add_put("/logs/a", refuse)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    bucket = Bucket(BucketSettings(f"http://{host}:{port}", "logs"), Credentials("key", "secret"))
    with pytest.raises(failure) as raised:
        await bucket.put("a", b"log", {})
    await bucket.close()
    await runner.cleanup()
    assert type(raised.value) is failure
