"""Passwords as `docker login` leaves them."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from kubedl.oci.credentials import RegistryCredentials, find_credentials, read_credentials
from kubedl.oci.errors import ImageError
from kubedl.oci.reference import parse_reference

ADDRESS = parse_reference("r.example.com/team/model", "v1")


def entry(name: str = "me", password: str = "secret") -> dict[str, str]:  # noqa: S107
    return {"auth": base64.b64encode(f"{name}:{password}".encode()).decode()}


@pytest.mark.parametrize(
    "content",
    [
        {"auths": {"r.example.com": entry()}},
        {"auths": {"https://r.example.com": entry()}},
        {"auths": {"https://r.example.com/v2/": entry()}},
        {"r.example.com": entry()},  # before there was `auths`
        {"auths": {"r.example.com": {"username": "me", "password": "secret"}}},
        {"auths": {"r.example.com": entry("other"), "r.example.com/team": entry()}},
        {"auths": {"r.example.com/team/other": entry("other"), "r.example.com": entry()}},
    ],
)
def test_the_most_specific_entry_counts(content: dict[str, Any]) -> None:
    assert find_credentials(content, ADDRESS) == RegistryCredentials("me", "secret")


@pytest.mark.parametrize("key", ["[fd00::5]:5000", "https://[fd00::5]:5000", "[fd00::5]:5000/team"])
def test_a_registry_may_have_an_ipv6_address(key: str) -> None:
    address = parse_reference("[fd00::5]:5000/team/model", "v1")
    assert find_credentials({"auths": {key: entry()}}, address) == RegistryCredentials("me", "secret")


def test_docker_hub_has_a_name_of_its_own() -> None:
    content = {"auths": {"https://index.docker.io/v1/": entry()}}
    assert find_credentials(content, parse_reference("team/model", "v1")) == RegistryCredentials("me", "secret")


def test_a_password_may_hold_a_colon() -> None:
    auths = {"r.example.com": entry(password="a:b")}  # noqa: S106 - no real one
    assert find_credentials({"auths": auths}, ADDRESS) == RegistryCredentials("me", "a:b")


@pytest.mark.parametrize("content", [{}, {"auths": {}}, {"auths": {"other": entry()}}, {"auths": None}, {"auths": []}])
def test_without_an_entry_nobody_is_meant(content: dict[str, Any]) -> None:
    assert find_credentials(content, ADDRESS) is None


@pytest.mark.parametrize(
    "content",
    [
        {"credsStore": "desktop"},
        {"credHelpers": {"r.example.com": "ecr-login"}},
        {"auths": {"r.example.com": {"auth": "not base64"}}},
        {"auths": {"r.example.com": {"auth": "päss"}}},
    ],
)
def test_what_cannot_be_used_is_refused(content: dict[str, Any]) -> None:
    with pytest.raises(ImageError) as caught:
        find_credentials(content, ADDRESS)
    assert (caught.value.reason, caught.value.permanent) == ("BadCredentials", True)


def test_a_file_that_cannot_be_read_is_refused_without_its_content(tmp_path: Path) -> None:
    (tmp_path / ".dockerconfigjson").write_text('{"auths": {"r": "hunter2"')
    for file in (tmp_path / ".dockerconfigjson", tmp_path):
        with pytest.raises(ImageError) as caught:
            read_credentials(str(file), ADDRESS)
        assert "hunter2" not in caught.value.message


def test_no_file_is_nobody(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"auths": {"r.example.com": entry()}}))
    assert read_credentials("", ADDRESS) is None
    assert read_credentials(str(tmp_path / "none"), ADDRESS) is None
    assert read_credentials(str(tmp_path / "config.json"), ADDRESS) == RegistryCredentials("me", "secret")


def test_a_password_is_never_shown() -> None:
    assert "secret" not in repr(RegistryCredentials("me", "secret", "secret token"))


@pytest.mark.parametrize(
    ("key", "repository", "found"),
    [
        ("*.azurecr.io", "models.azurecr.io/team/model", True),
        ("*.azurecr.io", "a.b.azurecr.io/team/model", False),
        ("*.azurecr.io", "azurecr.io/team/model", False),
        ("https://*.azurecr.io", "models.azurecr.io/team/model", True),
        ("*.azurecr.io/team", "models.azurecr.io/team/model", True),
        ("*.azurecr.io/other", "models.azurecr.io/team/model", False),
        ("*.example.com:5000", "r.example.com:5000/m/n", True),
        ("*.example.com", "r.example.com:5000/m/n", False),
        ("*" * 300, "r.example.com/m", False),
    ],
)
def test_an_entry_may_be_a_pattern(key: str, repository: str, found: bool) -> None:
    """As the kubelet takes them: part by part of the host's name."""
    login = find_credentials({"auths": {key: entry()}}, parse_reference(repository, "v1"))
    assert (login is not None) == found


def test_a_plain_name_counts_before_a_pattern() -> None:
    content = {"auths": {"*.example.com": entry("other"), "r.example.com": entry()}}
    assert find_credentials(content, ADDRESS) == RegistryCredentials("me", "secret")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (".dockerconfigjson", {"auths": {"r.example.com": entry()}}),
        (".dockercfg", {"r.example.com": entry()}),
    ],
)
def test_a_secret_of_either_type_is_read(tmp_path: Path, name: str, content: dict[str, Any]) -> None:
    (tmp_path / name).write_text(json.dumps(content))
    assert read_credentials(str(tmp_path), ADDRESS) == RegistryCredentials("me", "secret")


def test_a_secret_that_is_not_there_is_nobody(tmp_path: Path) -> None:
    assert read_credentials(str(tmp_path), ADDRESS) is None
