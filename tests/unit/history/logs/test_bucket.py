"""Settings of the bucket are checked before anything is recorded."""

import pytest

from kubedl.history.logs.bucket_settings import BucketSettings, BucketSettingsError, credentials_from


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
