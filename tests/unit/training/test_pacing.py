"""Large jobs are planned in turn, and hold nobody up but themselves."""

from collections import Counter
from typing import Any

from kubedl.kube.types.meta import ObjectKey
from kubedl.runtime.store import Store
from kubedl.training.pacing import LARGE, Pacing
from tests.training_builders import torch_job


class Stage:
    """Jobs of a kind, and when each was planned."""

    def __init__(self, **sizes: int) -> None:
        self.now, self.planned = 0.0, Counter[str]()
        made = [torch_job(name).workers(size).build() for name, size in sizes.items()]
        self.jobs, self.keys = Store[Any](), {one.metadata.name: one.metadata.key for one in made}
        self.jobs.replace(made)
        self.look = Pacing(lambda: self.now).around(self.jobs, self._plan)

    async def _plan(self, key: ObjectKey) -> float | None:
        self.planned[key.name] += 1
        return None

    async def events(self, seconds: int, every: float = 0.1) -> None:
        """Something happens to every job all the time."""
        for _ in range(int(seconds / every)):
            for key in self.keys.values():
                await self.look(key)
            self.now += every


async def test_a_large_job_begins_at_once() -> None:
    """Nobody was before it."""
    stage = Stage(big=10_000)
    assert await stage.look(stage.keys["big"]) is None
    assert stage.planned["big"] == 1


async def test_large_jobs_have_a_twentieth_of_the_time_together_and_all_get_their_turn() -> None:
    """Each plan of 10,000 replicas takes a tenth of a second."""
    stage = Stage(**{f"big-{number}": 10_000 for number in range(20)})
    await stage.events(60)
    assert stage.planned.total() <= 31
    assert min(stage.planned.values()) >= 1
    assert len(stage.planned) == 20


async def test_jobs_of_usual_size_never_wait() -> None:
    """Not even beside large ones."""
    stage = Stage(usual=LARGE, big=10_000)
    await stage.events(10)
    assert stage.planned["usual"] == 100


async def test_it_says_when_its_turn_comes() -> None:
    """And is planned then."""
    stage = Stage(big=10_000)
    key = stage.keys["big"]
    await stage.look(key)
    pause = await stage.look(key)
    assert pause == 2.0
    stage.now += pause
    assert await stage.look(key) is None
    assert stage.planned["big"] == 2


async def test_a_job_that_is_gone_is_looked_at_at_once() -> None:
    """What is remembered of it must go."""
    stage = Stage(big=10_000)
    key = stage.keys["big"]
    await stage.look(key)
    await stage.look(key)
    stage.jobs.remove(key)
    assert await stage.look(key) is None
    assert stage.planned["big"] == 2
