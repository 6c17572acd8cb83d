"""What is removed from evidence, and what is kept."""

import pytest

from kubedl.why.redaction import LONGEST_TEXT, clean, masked


def test_values_of_variables_and_arguments_are_removed() -> None:
    container = {
        "name": "pytorch",
        "command": ["python", "--token", "abc"],
        "args": ["--password=abc"],
        "env": [
            {"name": "TOKEN", "value": "abc"},
            {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        ],
    }
    assert clean({"containers": [container]}) == {
        "containers": [{"name": "pytorch", "command": ["python"], "env": [{"name": "TOKEN"}, {"name": "B"}]}]
    }


def test_annotations_of_other_tools_are_removed() -> None:
    given = {
        "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "abc", "kubedl.io/user": "a"}}
    }
    assert clean(given) == {"metadata": {"annotations": {"kubedl.io/user": "a"}}}


def test_who_wrote_suspend_is_kept() -> None:
    entry = {"manager": "kubectl", "operation": "Update", "time": "t", "fieldsV1": {"f:spec": {"f:suspend": {}}}}
    assert clean({"managedFields": [entry]}) == {
        "managedFields": [{"manager": "kubectl", "operation": "Update", "time": "t", "writesSuspend": True}]
    }


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("step 10 loss 0.1", "step 10 loss 0.1"),
        ("password=abc next", "password=*** next"),
        ("HF_TOKEN=abc", "HF_TOKEN=***"),
        ("Authorization: Bearer abc", "Authorization: *** ***"),
        ("token: abc", "token: ***"),
        ('"api_key":"abc"', '"api_key":***'),
        ("clone https://user:abc@git.example/x failed", "clone https://***@git.example/x failed"),
        ("get https://git.example/x", "get https://git.example/x"),
        ("https://x.example/a?part=1&token=abc failed", "https://x.example/a?part=1&token=*** failed"),
        ("https://user:abc@x.example/?token=abc", "https://***@x.example/?token=***"),
        ("https://token.example:8443/x", "https://token.example:8443/x"),
        ('{"step":1,"token":"abc"}', '{"step":1,"token":***'),
        ('secret "keys" not found', 'secret "keys" not found'),
    ],
)
def test_credentials_in_texts(given: str, kept: str) -> None:
    assert masked(given) == kept


def test_texts_lists_and_depth_are_bounded() -> None:
    assert len(masked("x" * 10_000)) == LONGEST_TEXT
    assert len(clean({"a": [1] * 5000})["a"]) == 1000
    deep: dict[str, object] = {}
    for _ in range(100):
        deep = {"a": deep}
    assert "a" in clean(deep)
