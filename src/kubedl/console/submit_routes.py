"""The addresses below /api/v1/submit: kinds to choose from, texts as objects, and jobs that are checked or created."""

from collections.abc import Mapping
from functools import partial

from aiohttp import web

from kubedl.console.pages import Pages
from kubedl.console.people import Caller
from kubedl.console.routes import Answer
from kubedl.console.submitting import Submitting
from kubedl.console.wire_actions import Done
from kubedl.console.wire_submit import Manifest, ManifestText
from kubedl.console.write_routes import body_of


async def _read(pages: Pages, _caller: Caller, request: web.Request) -> Manifest:
    return await Submitting(pages).read((await body_of(request, ManifestText)).text)


async def _submit(pages: Pages, caller: Caller, request: web.Request, *, dry_run: bool) -> Done:
    return await Submitting(pages).submit(caller, (await body_of(request, ManifestText)).text, dry_run=dry_run)


KINDS: Mapping[str, Answer] = {"submit/kinds": lambda pages, _caller, _request: Submitting(pages).kinds()}
SUBMISSIONS: Mapping[str, Answer] = {
    "submit/read": _read,
    "submit/check": partial(_submit, dry_run=True),
    "submit": partial(_submit, dry_run=False),
}
