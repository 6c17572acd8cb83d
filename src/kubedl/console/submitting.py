"""Jobs and services that people submit: checked by the API server and created with the person's own token."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import structlog

from kubedl.client.rerunning import MOST_NAMES, copy_of, names_after, renamed
from kubedl.console import manifests
from kubedl.console.acting import acting
from kubedl.console.object_kinds import INFERENCES
from kubedl.console.pages import Pages
from kubedl.console.people import Caller
from kubedl.console.wire_actions import Done
from kubedl.console.wire_submit import KindList, KindRow, Manifest, RoleRow
from kubedl.kube.types.meta import ObjectKey
from kubedl.training.kinds import all_kinds

log = structlog.get_logger()


@dataclass(frozen=True)
class Submitting:
    """Submissions of one caller at a time."""

    pages: Pages

    async def kinds(self) -> KindList:
        """Return the kinds of jobs, with what a form has fields for."""
        rows = [
            KindRow(
                kind=one.kind,
                api_version=one.resource.api_version,
                replicas_field=one.replicas_field,
                container=one.container,
                roles=[RoleRow(name=role.name, required=role.required, at_most=role.at_most) for role in one.roles],
            )
            for one in all_kinds()
        ]
        return KindList(rows=sorted(rows, key=lambda row: row.kind))

    async def read(self, text: str) -> Manifest:
        """Return a text as an object, for the form beside it. Nothing is asked of the API server."""
        return _manifest(await _read(text))

    async def submit(self, caller: Caller, text: str, *, dry_run: bool) -> Done:
        """Create a job or a service; with `dry_run`, only let the API server judge it."""
        manifest = await _read(text)
        kind, namespace, name = manifests.check_kind(manifest)
        async with acting(caller, namespace) as operations:
            if kind == INFERENCES.kind:
                await operations.services.create(manifest, dry_run=dry_run, strict=True)
            else:
                await operations.create_free_job([manifest], dry_run=dry_run, strict=True)
        if not dry_run:
            log.info("created", user=caller.person.name, namespace=namespace, kind=kind, name=name)
        return Done(namespace=namespace, kind=kind, name=name)

    async def copy(self, caller: Caller, kind: str, key: ObjectKey) -> Manifest:
        """Return a job as it can be created again, under the next name that no job has.

        It is read with the person's own token: the cache has no commands and variables of pods.
        """
        await self.pages.visible_job(caller, kind, key)
        async with acting(caller, key.namespace) as operations:
            job = await operations.get_job(f"{kind}/{key.name}")
        return _manifest(renamed(copy_of(job), next(self._free(kind, key))))

    def _free(self, kind: str, key: ObjectKey) -> Iterator[str]:
        for number, name in enumerate(names_after(key.name)):
            if number >= MOST_NAMES or self.pages.stores.job(kind, ObjectKey(key.namespace, name)) is None:
                yield name


async def _read(text: str) -> manifests.Object:
    """Read a text in a thread: the longest take a tenth of a second, in which all streams would wait."""
    return await asyncio.to_thread(manifests.read, text)


def _manifest(value: manifests.Object) -> Manifest:
    return Manifest(json=msgspec.json.encode(value).decode())
