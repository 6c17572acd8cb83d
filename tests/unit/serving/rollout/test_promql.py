"""What a Prometheus is asked: whose words, about whom."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from kubedl.api.inference_rollout import Analysis
from kubedl.serving.rollout.promql import ISTIO, KNOWN, TRAEFIK, Queries, Target, chosen

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TARGET = Target("team", "hello-a-next", 8080)
GOOD = 'x{namespace="$namespace",service=~"$service$$"}[$since]'


def test_an_inference_has_no_words_of_its_own() -> None:
    """Its user would learn what others do."""
    assert set(Analysis.__struct_fields__) == {"error_rate", "p99", "min_requests", "deadline_seconds"}


@pytest.mark.parametrize("name", KNOWN)
def test_every_word_of_a_known_question_is_filled_in(name: str) -> None:
    assert not any("$" in query for query in chosen(name).about(TARGET, NOW, NOW))


def test_a_question_is_about_the_time_since_the_step_began() -> None:
    asked = Queries(GOOD, GOOD, GOOD).about(TARGET, NOW - timedelta(seconds=89.5), NOW)
    assert asked == ['x{namespace="team",service=~"hello-a-next$"}[90s]'] * 3


def test_the_order_is_that_of_the_answers() -> None:
    queries = Queries("requests", "errors", "p99")
    assert queries.about(TARGET, NOW, NOW) == ["requests", "errors", "p99"]


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        ("hello-a-next", "team-hello-a-next-http-8080@kubernetesgateway"),
        ("hello--a---b-next", "team-hello-a-b-next-http-8080@kubernetesgateway"),
    ],
)
def test_a_backend_is_called_as_traefik_calls_it(service: str, expected: str) -> None:
    """Its names have no two dashes in a row, whatever is in those of Services."""
    target = Target("team", service, 8080)
    assert target.backend == expected
    assert all(f'service="{expected}"' in query for query in TRAEFIK.about(target, NOW, NOW))


@pytest.mark.parametrize(
    "target",
    [
        Target("team", 'chat-x"}[5m])))) or sum(up) #', 8080),
        Target("team", "chat-a\n", 8080),
        Target("team", "", 8080),
        Target('team"', "chat", 8080),
    ],
)
@pytest.mark.parametrize("queries", [TRAEFIK, ISTIO, Queries(GOOD, GOOD, GOOD)])
def test_a_name_that_no_object_can_have_is_in_no_query(queries: Queries, target: Target) -> None:
    """It would end the selector, and the rest of it would be a query of its own."""
    with pytest.raises(ValueError, match="name of the Service"):
        queries.about(target, NOW, NOW)


def test_known_names_are_no_files() -> None:
    assert (chosen("traefik"), chosen("istio")) == (TRAEFIK, ISTIO)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "a map of errors, p99, requests"),
        ("- a", "a map of errors, p99, requests"),
        ("a: [", "not a YAML file"),
        (yaml.safe_dump({"requests": GOOD, "errors": GOOD}), "a map of errors, p99, requests"),
        (yaml.safe_dump({"requests": GOOD, "errors": GOOD, "p99": GOOD, "p50": GOOD}), "a map of"),
        (yaml.safe_dump({"requests": GOOD, "errors": 7, "p99": GOOD}), "errors: invalid PromQL"),
        (yaml.safe_dump({"requests": GOOD, "errors": 'x{a="$"}', "p99": GOOD}), r"write \$\$"),
        (yaml.safe_dump({"requests": GOOD, "errors": GOOD + "$interval", "p99": GOOD}), "unknown variable .interval"),
        (yaml.safe_dump({"requests": GOOD, "errors": GOOD, "p99": 'x{s="$service"}'}), "p99: needs"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, content: str, complaint: str) -> None:
    place = tmp_path / "queries.yaml"
    place.write_text(content)
    with pytest.raises(ValueError, match=complaint):
        chosen(str(place))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="FileNotFoundError"):
        chosen(str(tmp_path / "none"))
