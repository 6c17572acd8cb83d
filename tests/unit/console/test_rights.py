"""Who may see what: asked of the API server, remembered for less than a minute, never shared between people."""

import asyncio

import pytest

from kubedl.console.journal import Place
from kubedl.console.people import Caller
from kubedl.console.problems import forbidden
from kubedl.console.rights import Question, Rights, View
from kubedl.kube.errors import UnknownOutcomeError
from tests.unit.console.world import JOBS, Clock, World, caller

PLACES = {JOBS: ["nlp", "vision"]}


async def test_a_person_sees_the_namespaces_they_may_list(world: World) -> None:
    """And how many are hidden, not which."""
    view = await world.rights.view(caller("ada"), PLACES)
    assert {place.namespace for place in view.places} == {"nlp"}
    assert view.hidden_namespaces([JOBS]) == 1


async def test_one_right_to_everything_replaces_all_other_questions(world: World) -> None:
    """An administrator costs one question a kind."""
    world.reviewer.allow("root", "", JOBS)
    view = await world.rights.view(caller("root"), PLACES)
    assert view.everywhere == {JOBS}
    assert len(world.reviewer.asked) == 1


async def test_answers_are_remembered_for_less_than_a_minute(world: World) -> None:
    """A right that is taken away ends within it."""
    await world.rights.view(caller("ada"), PLACES)
    asked = len(world.reviewer.asked)
    world.reviewer.allowed.clear()
    assert (await world.rights.view(caller("ada"), PLACES)).places
    assert len(world.reviewer.asked) == asked
    world.clock.now += 56
    assert not (await world.rights.view(caller("ada"), PLACES)).places


async def test_a_no_is_forgotten_sooner_than_a_yes(world: World) -> None:
    """Somebody who was just given a right waits ten seconds, not a minute."""
    assert not await world.rights.list_in(caller("ada"), JOBS, "vision")
    world.reviewer.allow("ada", "vision")
    assert not await world.rights.list_in(caller("ada"), JOBS, "vision")
    world.clock.now += 10
    assert await world.rights.list_in(caller("ada"), JOBS, "vision")


async def test_answers_are_not_shared_between_people(world: World) -> None:
    """A RoleBinding may name one of two people with the same groups."""
    assert await world.rights.list_in(caller("ada"), JOBS, "nlp")
    assert not await world.rights.list_in(caller("ben"), JOBS, "nlp")


async def test_the_same_question_at_the_same_time_is_asked_once() -> None:
    """Twenty tabs that wake up together ask once."""
    asked, answer = 0, asyncio.Event()

    async def review(_: Caller, __: Question) -> bool:
        nonlocal asked
        asked += 1
        await answer.wait()
        return True

    rights = Rights(review, Clock())
    waiting = [asyncio.ensure_future(rights.list_in(caller("ada"), JOBS, "nlp")) for _ in range(20)]
    await asyncio.sleep(0)
    answer.set()
    assert all(await asyncio.gather(*waiting))
    assert asked == 1


@pytest.mark.parametrize("namespace", ["x" * 64, "x; id", "nlp/../vision", "Nlp", "-nlp"])
async def test_a_name_that_no_namespace_has_is_not_asked_about(world: World, namespace: str) -> None:
    """Addresses have texts of any length: remembered by thousands, they would take all memory."""
    world.reviewer.allow("ada", namespace)
    assert not await world.rights.list_in(caller("ada"), JOBS, namespace)
    assert [question.namespace for _, question in world.reviewer.asked] == [""]


def test_the_command_for_a_right_is_one_command() -> None:
    """Whatever an address has as its namespace: an administrator is asked to run it."""
    assert "--namespace='x; id'" in forbidden("ada", "list", JOBS, "x; id").next_step


async def test_no_answer_is_not_a_yes() -> None:
    """If the API server fails, the caller gets an error, and the next question is asked anew."""

    async def review(_: Caller, __: Question) -> bool:
        raise UnknownOutcomeError(0, "", "down")

    rights = Rights(review, Clock())
    for _ in range(2):
        with pytest.raises(UnknownOutcomeError):
            await rights.view(caller("ada"), PLACES)


def test_a_new_place_does_not_change_a_view() -> None:
    """But one that was hidden or revealed does."""
    nlp, vision, new = (Place(JOBS, name) for name in ("nlp", "vision", "new"))
    before = View(places=frozenset({nlp}), hidden=frozenset({vision}))
    assert not View(places=frozenset({nlp, new}), hidden=frozenset({vision})).differs(before)
    assert View(places=frozenset({nlp, vision})).differs(before)
    assert View(hidden=frozenset({nlp, vision})).differs(before)
