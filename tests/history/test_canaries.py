"""Texts of users reach the history only where that is meant: every other field may have a secret in it."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from harness.drivers.databases import Database
from kubedl.entrypoints.manifests import custom_resources
from kubedl.history import kinds, tables
from kubedl.history.observation import Observation
from kubedl.history.receipts import Receipts
from kubedl.history.sink import Epoch
from kubedl.history.sinks.database import DatabaseSink
from kubedl.history.sinks.json_lines import JsonLines
from kubedl.kube import codec
from kubedl.training.kinds import all_kinds
from tests.history import canaries
from tests.history.builders import NOW, job, job_row, uid
from tests.history.test_faults import wait_for, writing

NAMES = {"metadata.name", "metadata.namespace"}
# What the history is for: what was run, with which code and data, where it waited, and how it ended.
OF_JOBS = NAMES | {
    "metadata.manager",
    "spec.cacheBackend.dataset.dataSources.location",
    "spec.cacheBackend.dataset.dataSources.subDirName",
    "spec.cacheBackend.name",
    "spec.codeSource.branch",
    "spec.codeSource.repository",
    "spec.codeSource.revision",
    "spec.modelVersion.imageRepo",
    "spec.modelVersion.imageTag",
    "spec.modelVersion.modelName",
    "spec.roles.KEY",
    "spec.schedulingPolicy.gangScheduler",
    "spec.schedulingPolicy.priorityClassName",
    "spec.schedulingPolicy.queue",
    "status.cacheBackendName",
    "status.codeRevision",
    "status.conditions.message",
    "status.conditions.reason",
    "status.conditions.type",
    "status.message",
    "status.modelVersionName",
    "status.ready",
    "status.reason",
    *(
        f"template.{container}.{field}"
        for container in ("container", "initContainer")
        for field in ("name", "image", "limits.KEY", "restartPolicy")
    ),
    "template.nodeSelector.KEY",
    "template.nodeSelector.VALUE",
    "template.priorityClassName",
    "template.serviceAccountName",
}
OF_PODS = NAMES | {"pod.nodeName", "status.reason"}
OF_OBJECTS = NAMES | {
    "metadata.manager",
    "spec.createdBy",
    "spec.imageRepo",
    "spec.imageTag",
    "spec.modelName",
    *(f"spec.origin.{field}" for field in ("codeRepository", "codeRevision", "jobKind", "jobName", "jobUid")),
    "spec.origin.trainerImages.KEY",
    "spec.origin.trainerImages.VALUE",
    "spec.parent",
    "spec.predictors.modelVersion",
    "spec.predictors.name",
    "spec.schedule",
    "status.artifact",
    "status.conditions.message",
    "status.conditions.reason",
    "status.conditions.type",
    "status.image",
    "status.message",
}


async def stored(engine: AsyncEngine, cluster: str, rows: list[Observation], directory: Path) -> set[str]:
    """The canaries in all tables, receipts included, and in the lines of JSON."""
    receipts = Receipts(engine, cluster, clock=lambda: NOW)
    sink = DatabaseSink(engine, cluster)
    await sink.claim(Epoch("lease", 0, "me"))
    await sink.write(rows)
    for row in rows:
        await receipts.compute(row.uid)
    lines = JsonLines(cluster, str(directory / "lines"))
    await lines.write(rows)
    await lines.close()
    texts = [(directory / "lines").read_text()]
    async with engine.connect() as connection:
        for table in tables.metadata.tables.values():
            query = select(table).where(table.c.cluster == cluster)
            texts += [str(tuple(row)) for row in await connection.execute(query)]
    return canaries.found_in("\n".join(texts))


def observed(kind: kinds.RecordedKind, obj: Any) -> Observation:  # noqa: ANN401 - of any kind
    """The row of an object."""
    return kind.row(kind.resource.decoder.decode(codec.encode(obj)), deleted=False, now=NOW)


async def test_jobs_store_what_is_listed(engine: AsyncEngine, cluster: str, tmp_path: Path) -> None:
    """Of all fields of all kinds' schemas, and of all that users write into pod templates."""
    rows = [observed(kinds.job_kind(kind.resource, kind.replicas_field), canaries.job(kind)) for kind in all_kinds()]
    assert await stored(engine, cluster, rows, tmp_path) == OF_JOBS


async def test_pods_store_what_is_listed(engine: AsyncEngine, cluster: str, tmp_path: Path) -> None:
    """Neither their spec, nor what their programs wrote at their end."""
    rows = [observed(kinds.POD_KIND, canaries.pod())]
    assert await stored(engine, cluster, rows, tmp_path) == OF_PODS


async def test_other_objects_store_what_is_listed(engine: AsyncEngine, cluster: str, tmp_path: Path) -> None:
    """ModelVersions, Inferences and Crons; a Cron has a whole job in it."""
    definitions = {custom.resource.kind: custom.definition() for custom in custom_resources()}
    rows = [observed(kind, canaries.of_kind(definitions[kind.resource.kind])) for kind in kinds.OBJECT_KINDS]
    assert await stored(engine, cluster, rows, tmp_path) == OF_OBJECTS


async def test_events_that_quote_a_container_have_no_message(engine: AsyncEngine, cluster: str, tmp_path: Path) -> None:
    """A probe's failure quotes what the program printed; other messages are what events are for."""
    about = {"kind": "Pod", "name": "p", "uid": uid(), "fieldPath": canaries.canary("about.fieldPath")}
    rows = []
    for reason in ("Unhealthy", "FailedScheduling"):
        event = {"message": canaries.canary(f"message.of.{reason}"), "reason": reason, "involvedObject": about}
        rows.append(observed(kinds.EVENT_KIND, {"metadata": canaries.metadata("metadata"), **event}))
    assert await stored(engine, cluster, rows, tmp_path) == {"metadata.namespace", "message.of.FailedScheduling"}


async def test_a_row_that_is_rejected_is_not_quoted_in_the_log(
    real_server: Database, engine: AsyncEngine, cluster: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Drivers put statements with their values into messages. SQLite stores texts of any length."""
    good, bad = job_row(job("good", version=1)), job_row(job("bad"))
    values = {**bad.values, "state": "canary:state" * 9, "reason": "canary:reason"}
    async with writing(engine, cluster) as pending:
        pending.add(Observation(bad.table, bad.uid, bad.created, bad.version, values, bad.body))
        pending.add(good)
        await wait_for(engine, cluster, [("good", 1)])
    printed = capsys.readouterr()
    assert "rejects a row" in printed.out + printed.err
    assert "canary" not in printed.out + printed.err
