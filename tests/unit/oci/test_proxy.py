"""Which hosts are reached without the proxy."""

import pytest

from kubedl.oci.proxy import bypasses, proxy_for


@pytest.mark.parametrize(
    ("no_proxy", "host", "expected"),
    [
        ("10.0.0.0/8", "10.96.3.4:5000", True),
        ("10.0.0.0/8,.svc", "11.0.0.1", False),
        ("10.0.0.5/8", "10.96.3.4", True),
        ("fd00::/8", "[fd00::1]:5000", True),
        ("10.0.0.0/8", "registry.example.com", False),
        ("10.1.2.3", "10.1.2.3:5000", True),
        ("10.1.2.3:5000", "10.1.2.3:5000", True),
        ("10.1.2.3:5001", "10.1.2.3:5000", False),
        (" .svc , other", "registry.team.svc:5000", True),
        ("*.svc", "registry.team.svc", True),
        ("svc", "registry.team.svc", True),
        ("Example.com", "R.example.com", True),
        ("example.com", "badexample.com", False),
        ("example.com:5000", "r.example.com:5000", True),
        ("*", "anything", True),
        ("", "anything", False),
        (",,", "anything", False),
    ],
)
def test_hosts_that_no_proxy_names(no_proxy: str, host: str, expected: bool) -> None:
    assert bypasses(no_proxy, host) == expected


def test_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "10.0.0.0/8")
    found = proxy_for("https", "registry.example.com")
    assert found is not None
    assert found.netloc == "proxy.example:3128"
    assert proxy_for("https", "10.96.0.7:5000") is None
