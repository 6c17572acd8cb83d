"""The console below a path of its host: addresses, the page, and cookies that other programs there do not get."""

import argparse
from pathlib import Path

import pytest

from kubedl.console.access import SESSION_COOKIE_BELOW
from kubedl.console.assets import Assets
from kubedl.entrypoints.console import url_path
from tests.unit.console.test_server import MARKED, browsing
from tests.unit.console.world import World

PAGE = '<meta name="console-path" content="__CONSOLE_PATH__"><script src="__CONSOLE_PATH__/assets/a.js">'


@pytest.fixture
def built(tmp_path: Path) -> Assets:
    """Pages as the build leaves them."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text(PAGE)
    (tmp_path / "assets" / "a.js").write_text("1")
    return Assets(tmp_path)


@pytest.mark.parametrize("path", ["", "/kubedl", "/ml/kubedl"])
async def test_every_address_is_below_the_path(world: World, built: Assets, path: str) -> None:
    """The page names its files and itself with it; the API, and addresses that nobody has, are there too."""
    async with browsing(world.console(assets=built, path=path)) as browser:
        for address in (path or "/", f"{path}/", f"{path}/jobs/nlp/pytorchjob/bert"):
            page = await browser.get(address)
            assert (page.status, await page.text()) == (200, PAGE.replace("__CONSOLE_PATH__", path)), address
        assert await (await browser.get(f"{path}/assets/a.js")).text() == "1"
        assert (await (await browser.get(f"{path}/api/v1/session")).json())["mode"] == "token"
        for address, status in (("jobs", 401), ("stream", 401), ("nothing", 404)):
            assert (await browser.get(f"{path}/api/v1/{address}")).status == status


async def test_a_proxy_may_remove_the_path(world: World, built: Assets) -> None:
    """Then the same is at the root, and the page names its files as browsers must ask for them."""
    async with browsing(world.console(assets=built, path="/kubedl")) as browser:
        page = await browser.get("/jobs")
        assert 'src="/kubedl/assets/a.js"' in await page.text()
        assert (await browser.get("/assets/a.js")).status == 200
        assert (await browser.get("/api/v1/jobs")).status == 401


async def test_the_cookie_is_for_that_path_alone(world: World, built: Assets) -> None:
    """Also when it is taken back."""
    async with browsing(world.console(assets=built, path="/kubedl")) as browser:
        answer = await browser.post("/kubedl/api/v1/session", json={"token": "token-of-ada"}, headers=MARKED)
        cookie = answer.cookies[SESSION_COOKIE_BELOW]
        assert (cookie["path"], cookie["secure"], cookie["httponly"]) == ("/kubedl", True, True)
        browser.session.headers["Cookie"] = f"{SESSION_COOKIE_BELOW}={cookie.value}"
        assert (await (await browser.get("/kubedl/api/v1/session")).json())["user"] == "ada"
        gone = (await browser.delete("/kubedl/api/v1/session", headers=MARKED)).cookies[SESSION_COOKIE_BELOW]
        assert (gone["path"], gone.value) == ("/kubedl", "")


def test_what_is_no_path_is_refused() -> None:
    """It is written into pages."""
    assert [url_path(text) for text in ("", "/", "/kubedl", "/a/b.c/")] == ["", "", "/kubedl", "/a/b.c"]
    for text in ("kubedl", "//evil.example", '/"><script>', "/a b", "/a//b", "https://evil.example"):
        with pytest.raises(argparse.ArgumentTypeError):
            url_path(text)
