"""Passwords as `docker login` leaves them."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from kubedl.models.packer.address import parse
from kubedl.models.packer.failure import PackingError
from kubedl.models.packer.login import Login, find_login, read_login

ADDRESS = parse("r.example.com/team/model", "v1")


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
    assert find_login(content, ADDRESS) == Login("me", "secret")


def test_docker_hub_has_a_name_of_its_own() -> None:
    content = {"auths": {"https://index.docker.io/v1/": entry()}}
    assert find_login(content, parse("team/model", "v1")) == Login("me", "secret")


def test_a_password_may_hold_a_colon() -> None:
    assert find_login({"auths": {"r.example.com": entry(password="a:b")}}, ADDRESS) == Login("me", "a:b")  # noqa: S106


@pytest.mark.parametrize("content", [{}, {"auths": {}}, {"auths": {"other": entry()}}, {"auths": None}, {"auths": []}])
def test_without_an_entry_nobody_is_meant(content: dict[str, Any]) -> None:
    assert find_login(content, ADDRESS) is None


@pytest.mark.parametrize(
    "content",
    [
        {"credsStore": "desktop"},
        {"credHelpers": {"r.example.com": "ecr-login"}},
        {"auths": {"r.example.com": {"auth": "not base64"}}},
    ],
)
def test_what_cannot_be_used_is_refused(content: dict[str, Any]) -> None:
    with pytest.raises(PackingError) as caught:
        find_login(content, ADDRESS)
    assert (caught.value.reason, caught.value.permanent) == ("BadCredentials", True)


def test_a_file_that_cannot_be_read_is_refused_without_its_content(tmp_path: Path) -> None:
    (tmp_path / ".dockerconfigjson").write_text('{"auths": {"r": "hunter2"')
    for file in (tmp_path / ".dockerconfigjson", tmp_path):
        with pytest.raises(PackingError) as caught:
            read_login(str(file), ADDRESS)
        assert "hunter2" not in caught.value.message


def test_no_file_is_nobody(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"auths": {"r.example.com": entry()}}))
    assert read_login("", ADDRESS) is None
    assert read_login(str(tmp_path / "none"), ADDRESS) is None
    assert read_login(str(tmp_path / "config.json"), ADDRESS) == Login("me", "secret")


def test_a_password_is_never_shown() -> None:
    assert "secret" not in repr(Login("me", "secret", "secret token"))


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
    login = find_login({"auths": {key: entry()}}, parse(repository, "v1"))
    assert (login is not None) == found


def test_a_plain_name_counts_before_a_pattern() -> None:
    content = {"auths": {"*.example.com": entry("other"), "r.example.com": entry()}}
    assert find_login(content, ADDRESS) == Login("me", "secret")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (".dockerconfigjson", {"auths": {"r.example.com": entry()}}),
        (".dockercfg", {"r.example.com": entry()}),
    ],
)
def test_a_secret_of_either_type_is_read(tmp_path: Path, name: str, content: dict[str, Any]) -> None:
    (tmp_path / name).write_text(json.dumps(content))
    assert read_login(str(tmp_path), ADDRESS) == Login("me", "secret")


def test_a_secret_that_is_not_there_is_nobody(tmp_path: Path) -> None:
    assert read_login(str(tmp_path), ADDRESS) is None
