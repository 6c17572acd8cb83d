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
    (tmp_path / "config.json").write_text('{"auths": {"r": "hunter2"')
    for file in (tmp_path / "config.json", tmp_path):
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
