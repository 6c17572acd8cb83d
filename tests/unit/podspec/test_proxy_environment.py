"""What pods are told of the operator's proxies."""

import pytest

from kubedl.podspec.proxy_environment import proxy_variables


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, {}),
        ({"HTTP_PROXY": "http://p:1", "PATH": "/bin"}, {}),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "a,b"}, {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "a,b"}),
        ({"https_proxy": "http://p:1", "no_proxy": "a"}, {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "a"}),
        ({"HTTPS_PROXY": "http://me:secret@p:1", "NO_PROXY": "a"}, {}),
    ],
)
def test_proxies_are_passed_on_unless_they_have_a_password(
    environment: dict[str, str], expected: dict[str, str]
) -> None:
    """Pods can be read by many, the operator's by few."""
    assert proxy_variables(environment) == expected
