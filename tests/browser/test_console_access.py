"""Every page of the console in a real Chromium, held against axe-core: for people who hear it, or see it large."""

import json
from collections.abc import Callable
from typing import Any

from harness.drivers.environment import FULL
from proofs.seed import seed
from tests.browser.access_routes import unvisited, visits
from tests.browser.access_world import serving
from tests.browser.scripts import PICTURES, running

TOKENS = {"ada": "token-of-ada", "ben": "token-of-ben", "cara": "token-of-cara", "left": "token-of-ada"}
BARRED = frozenset({"serious", "critical"})


async def test_every_page_is_accessible(record_property: Callable[[str, object], None]) -> None:
    """Nothing serious or critical by axe; a title, a language, nothing that moves, and no scrolling sideways."""
    print(f"pages, widths and colours are drawn by SEED={seed()}")
    wanted = visits()
    async with serving() as console:
        pages = await _visit(console, wanted)
    broken = [f"{_which(page)}: {page['error']}" for page in pages if page["error"]]
    barred = [
        f"{_which(page)}: {one['impact']} {one['rule']} at {one['where']}: {one['html']}\n  {one['why']}"
        for page in pages
        for one in page["found"]
        if one["impact"] in BARRED
    ]
    wide = [f"{_which(page)} is {page['wider']} pixels too wide" for page in pages if page["wider"] > 0]
    titles = [
        f"{_which(page)} has the title {page['title']!r}, not {visit['title']!r}, in language {page['lang']!r}"
        for page, visit in zip(pages, wanted, strict=True)
        if (page["title"], page["lang"]) != (visit["title"], "en")
    ]
    moving = [f"{_which(page)}: {one} moves" for page in pages for one in page["moving"]]
    record_property("visits", len(pages))
    record_property("broken", len(broken))
    record_property("barred", len(barred))
    record_property("wide", len(wide))
    record_property("titles", len(titles))
    record_property("moving", len(moving))
    findings = [*broken, *barred, *wide, *titles, *moving]
    assert findings == [], "\n".join(findings)


def test_no_route_is_forgotten() -> None:
    """A new page of the console is among the visits."""
    assert unvisited() == []


async def _visit(console: str, wanted: list[dict[str, object]]) -> list[dict[str, Any]]:
    async with running("access", 900, CONSOLE=console, PICTURES=_pictures()) as process:
        printed, errors = await process.communicate(json.dumps({"tokens": TOKENS, "visits": wanted}).encode())
    assert process.returncode == 0, errors.decode()
    pages: list[dict[str, Any]] = json.loads(printed)
    return pages


def _pictures() -> str:
    """Where pictures go; they are taken in a proof alone, since CI has no time for them."""
    if FULL:
        PICTURES.mkdir(parents=True, exist_ok=True)
    return str(PICTURES) if FULL else ""


def _which(page: dict[str, Any]) -> str:
    return f"{page['name']} {page['width']} {page['scheme']}"
