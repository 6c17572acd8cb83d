"""Receipts in every database."""

import random
from collections.abc import Callable
from datetime import date, timedelta

import pytest
from sqlalchemy import delete
from sqlalchemy.ext.asyncio import AsyncEngine

from kubedl.history import rows
from kubedl.history.observed_pods import NODES
from kubedl.history.price_book import PriceBook, PriceEntry
from kubedl.history.queries.spend import get_receipt, receipt_parts, spend
from kubedl.history.queries.waits import Alike, waits
from kubedl.history.receipts import Receipts
from kubedl.history.sink import Epoch
from kubedl.history.sinks.database import DatabaseSink
from kubedl.history.tables import jobs
from kubedl.kube import codec
from tests.history.builders import NOW, job, job_row, moment, pod, pod_row, uid

GPUS = {"nvidia.com/gpu": 8}  # all of a node


async def test_a_receipt_keeps_its_prices_and_outlives_its_job(engine: AsyncEngine, cluster: str) -> None:
    """Written when the job has ended; a later change of prices or of pods changes no price."""
    books = [PriceBook("EUR", (PriceEntry(pool="gpu", gpu_hour=2.0),))]
    receipts = Receipts(engine, cluster, lambda: books[-1], lambda: NOW + timedelta(hours=1))
    sink = DatabaseSink(engine, cluster, written=receipts.written)
    await sink.claim(Epoch("lease", 0, "me"))
    labels = {"kubedl.io/node-pool": "gpu"}
    node = {"metadata": {"uid": uid(), "name": "node-1", "labels": labels, "creationTimestamp": moment(NOW)}}
    await sink.write([rows.node_row(NODES.decoder.decode(codec.encode(node)), deleted=False, now=NOW)])
    obj = job(user="ada", version=1)
    worker = pod(obj, phase="Succeeded", version=2)
    worker["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 4}}
    identity = obj["metadata"]["uid"]
    strange = pod(obj, index=1, phase="Succeeded", version=2)
    strange["metadata"]["namespace"] = "of-others"  # who may name any job as its owner
    strange["spec"] = worker["spec"]
    await sink.write([job_row(obj), pod_row(worker), pod_row(strange)])
    await receipts.compute(identity)
    async with engine.connect() as connection:
        assert await get_receipt(connection, cluster, identity) is None  # it still runs
    ended = job(identity=identity, user="ada", version=3, state="Succeeded", completionTime="2026-11-17T12:10:00Z")
    await sink.write([job_row(ended)])
    await receipts.compute(identity)
    async with engine.connect() as connection:
        found = await get_receipt(connection, cluster, identity)
    assert found is not None
    assert (found.gpu_seconds, found.cost_micros, found.currency) == (4 * 540, 1_200_000, "EUR")
    books.append(PriceBook("USD", (PriceEntry(gpu_hour=99.0),)))
    await sink.write([job_row(job(identity=identity, user="ada", version=9), deleted=True)])
    await receipts.compute(identity)
    async with engine.begin() as connection:
        await connection.execute(delete(jobs).where(jobs.c.cluster == cluster))
    async with engine.connect() as connection:
        later = await get_receipt(connection, cluster, identity)
        assert later is not None
        assert (later.cost_micros, later.currency, later.state) == (1_200_000, "EUR", "Deleted")
        [line] = await receipt_parts(connection, cluster, identity)
        assert (line.day, line.pool, line.gpu_seconds) == ("2026-11-17", "gpu", 4 * 540)


async def test_waits_of_a_queue(engine: AsyncEngine, cluster: str) -> None:
    """Of jobs that had a node, of about the size, of kinds that may be seen; shortest first."""
    receipts = Receipts(engine, cluster, PriceBook, lambda: NOW + timedelta(days=1))
    sink = DatabaseSink(engine, cluster, written=receipts.written)
    await sink.claim(Epoch("lease", 0, "me"))
    for minutes, gpus, queue in ((9, 4, "gpus"), (3, 8, "gpus"), (5, 4, ""), (6, 2, "gpus"), (None, 4, "gpus")):
        obj = job(gpus=gpus, workers=1, state="Succeeded", completionTime=moment(NOW + timedelta(hours=1)))
        obj["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
        worker = pod(obj, phase="Succeeded")
        bound = {"type": "PodScheduled", "status": "True"}
        bound["lastTransitionTime"] = moment(NOW + timedelta(minutes=minutes or 0))
        worker["status"]["conditions"] = [bound]
        await sink.write([job_row(obj), *([pod_row(worker)] if minutes is not None else [])])
        await receipts.compute(obj["metadata"]["uid"])
    async with engine.connect() as connection:

        async def found(kind: str, since: timedelta = timedelta(days=1)) -> tuple[int, ...]:
            kinds = {kind: frozenset({"team-a"})}
            return await waits(connection, cluster, Alike(kinds, "team-a", "gpus", 3, 8, NOW - since))

        assert await found("PyTorchJob") == (180, 540)
        assert await found("TFJob") == ()
        assert await found("PyTorchJob", -timedelta(days=1)) == ()


async def test_spend_by_team_and_day(engine: AsyncEngine, cluster: str) -> None:
    """Summed from the lines of receipts, in one currency each."""
    receipts = Receipts(engine, cluster, lambda: PriceBook("EUR", (PriceEntry(cpu_hour=1.0),)), lambda: NOW)
    sink = DatabaseSink(engine, cluster, written=receipts.written)
    await sink.claim(Epoch("lease", 0, "me"))
    for day in range(3):
        for team in ("team-a", "team-b"):
            made = NOW - timedelta(days=day)
            obj = job(created=made, namespace=team, state="Succeeded", completionTime=moment(made + timedelta(hours=1)))
            worker = pod(obj, phase="Succeeded")
            worker["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2"}}
            await sink.write([job_row(obj), pod_row(worker)])
            await receipts.compute(obj["metadata"]["uid"])
    async with engine.connect() as connection:
        found = await spend(connection, cluster, ["team", "day"], date(2026, 11, 16), date(2026, 11, 17))
        assert [(row.group, row.cost_micros) for row in found] == [
            (("team-a", "2026-11-16"), 300_000),
            (("team-a", "2026-11-17"), 300_000),
            (("team-b", "2026-11-16"), 300_000),
            (("team-b", "2026-11-17"), 300_000),
        ]
        only = await spend(connection, cluster, ["team"], date(2026, 11, 1), date(2026, 11, 30), ["team-b"])
        assert [(row.group, row.cpu_seconds) for row in only] == [(("team-b",), 3 * 1080)]
        with pytest.raises(ValueError, match="range"):
            await spend(connection, cluster, ["team"], date(2020, 1, 1), date(2026, 1, 1))


async def test_a_day_of_receipts_equals_the_time_of_its_nodes(
    engine: AsyncEngine, cluster: str, record_property: Callable[[str, object], None]
) -> None:
    """Nodes that are full from midnight to midnight: every node second is on one receipt.

    Each node of 8 GPUs runs one pod after the other, each pod takes the whole node, and ends when the next begins;
    pods end at any second, some fail and are replaced, and some run over midnight into the next day.
    """
    dice, nodes, day = random.Random(7), 5, 24 * 3600  # noqa: S311 - no secret
    midnight = NOW.replace(hour=0) - timedelta(days=1)
    receipts = Receipts(engine, cluster, clock=lambda: midnight + timedelta(days=3))
    sink = DatabaseSink(engine, cluster)
    await sink.claim(Epoch("lease", 0, "me"))
    for node in range(nodes):
        second, worker, obj = -dice.randrange(7200), None, job()
        while second < day:
            length = dice.randrange(1, 7200)
            began, ended = midnight + timedelta(seconds=second), midnight + timedelta(seconds=second + length)
            if worker is None or dice.random() < 0.7:  # another job, or another attempt of the same one
                obj = job(
                    f"node-{node}-{second}",
                    created=began,
                    workers=1,
                    state="Succeeded",
                    completionTime=moment(midnight + timedelta(days=2)),
                )
            worker = pod(obj, phase=dice.choice(["Succeeded", "Failed"]))
            worker["metadata"]["creationTimestamp"] = moment(began)
            worker["spec"] = {"nodeName": f"node-{node}", "containers": [{"resources": {"limits": GPUS}}]}
            bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": moment(began)}
            state = {"terminated": {"exitCode": 0, "startedAt": moment(began), "finishedAt": moment(ended)}}
            worker["status"] |= {"conditions": [bound], "containerStatuses": [{"name": "pytorch", "state": state}]}
            await sink.write([job_row(obj), pod_row(worker)])
            await receipts.compute(obj["metadata"]["uid"])
            second += length
    async with engine.connect() as connection:
        [spent] = await spend(connection, cluster, ["day"], midnight.date(), midnight.date())
    expected = nodes * day * 8
    record_property("difference", abs(spent.gpu_seconds - expected) / expected)
    assert spent.gpu_seconds == pytest.approx(expected, rel=0.005)
