"""What the proofs of the console judge by: the routes they know, the strings they send, the figures they read."""

from fractions import Fraction

import pytest

from proofs.console.figures import number
from proofs.console.hostile_strings import hostile_strings
from proofs.console.routes import PEOPLE, Route, routes
from proofs.console.size import foreign_sources
from proofs.console.viewers import Told


def test_every_route_has_a_case() -> None:
    """A new one falls short until somebody says who may ask it, and with what."""
    assert [f"{route.method} {route.path}" for route in routes() if not route.known] == []
    assert not Route("GET", "/api/v1/secrets/{vault}").known
    assert not Route("POST", "/api/v1/unheard-of").known


def test_only_the_page_and_the_sign_in_are_public() -> None:
    public = {route.path for route in routes() if route.public}
    assert public == {"/api/v1/session", "/assets/{name}", "/{path}"}


@pytest.mark.parametrize(
    ("method", "path", "due"),
    [
        ("GET", "/api/v1/jobs", [401, 401, 401, 401, 200, 200, 200]),
        ("GET", "/api/v1/nodes/{name}", [401, 401, 401, 401, 403, 200, 403]),
        ("GET", "/api/v1/crons/{namespace}/{name}", [401, 401, 401, 401, 403, 403, 200]),
        ("GET", "/api/v1/cost", [401, 401, 401, 401, 200, 200, 200]),
        ("GET", "/api/v1/history/jobs/{namespace}/{kind}/{name}/{uid}", [401, 401, 401, 401, 403, 403, 200]),
        ("POST", "/api/v1/jobs/{namespace}/{kind}/{name}/delete", [401, 401, 401, 401, 403, 403, 403]),
    ],
)
def test_what_is_due(method: str, path: str, due: list[int]) -> None:
    """To nobody, garbage, an expired token, a deleted account, two neighbours, and one who may only read."""
    assert [Route(method, path).due(person) for person in PEOPLE] == due


def test_the_corpus_is_large_and_without_repetition() -> None:
    strings = hostile_strings()
    assert len(set(strings)) == len(strings) >= 200
    assert max(map(len, strings)) <= 253  # longer ones are not taken as a user's name


def test_sources_of_a_policy() -> None:
    policy = "default-src 'none'; script-src 'self' 'unsafe-inline'; img-src data: https://cdn.example"
    assert foreign_sources(policy) == ["script-src 'unsafe-inline'", "img-src https://cdn.example"]


@pytest.mark.parametrize(
    ("text", "value"), [("250m", Fraction(1, 4)), ("32Gi", 2**35), ("500Mi", 500 * 2**20), ("8", 8), ("0", 0)]
)
def test_quantities(text: str, value: Fraction) -> None:
    assert number(text) == value


def test_quantiles_of_what_viewers_saw() -> None:
    assert Told({100: 98, 900: 1, 5000: 1}).quantile(0.99) == 0.9
    assert Told().quantile(0.99) == float("inf")
