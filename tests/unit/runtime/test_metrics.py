"""What Prometheus is told."""

import asyncio
import contextlib
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kubedl.runtime.metrics import LAG_INTERVAL, LAG_WINDOW, Metrics


def samples(metrics: Metrics) -> dict[str, float]:
    """Every sample by its name with labels."""
    found = {}
    for family in text_string_to_metric_families(metrics.render().decode()):
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


def test_calls_are_counted_by_verb_resource_and_outcome() -> None:
    metrics = Metrics()
    for _ in range(3):
        metrics.observe_request("create", "pods", "201", 0.02)
    metrics.observe_request("create", "pods", "409", 0.02)
    found = samples(metrics)
    assert found["kubedl_api_calls_total{outcome=201,resource=pods,verb=create}"] == 3
    assert found["kubedl_api_calls_total{outcome=409,resource=pods,verb=create}"] == 1
    assert found["kubedl_api_call_seconds_count{verb=create}"] == 4
    assert found["kubedl_api_call_seconds_sum{verb=create}"] == pytest.approx(0.08)


def test_the_length_of_a_watch_is_no_answer_time() -> None:
    metrics = Metrics()
    metrics.observe_request("watch", "pods", "200", 290)
    found = samples(metrics)
    assert found["kubedl_api_calls_total{outcome=200,resource=pods,verb=watch}"] == 1
    assert not any(name.startswith("kubedl_api_call_seconds") for name in found)


def test_reconciles_are_timed_and_failures_counted() -> None:
    metrics = Metrics()
    metrics.reconciled("tfjob", 0.5, error=False)
    metrics.reconciled("tfjob", 0.5, error=True)
    found = samples(metrics)
    assert found["kubedl_reconcile_seconds_count{controller=tfjob}"] == 2
    assert found["kubedl_reconcile_errors_total{controller=tfjob}"] == 1


def test_queues_and_caches_are_asked_at_each_scrape() -> None:
    """They cost nothing between two scrapes and are never out of date."""
    metrics, queue = Metrics(), [1, 2]
    metrics.add_queue("tfjob", lambda: len(queue))
    metrics.add_cache("pods", age=lambda: 3.5, objects=lambda: 10 * len(queue))
    queue.append(3)
    found = samples(metrics)
    assert found["kubedl_queue_depth{controller=tfjob}"] == 3
    assert found["kubedl_cache_age_seconds{resource=pods}"] == 3.5
    assert found["kubedl_cache_objects{resource=pods}"] == 30


def test_several_caches_of_one_resource_are_told_together() -> None:
    """Pods of jobs, of builds and of servers: none of them hides another, and the one that hears nothing is seen."""
    metrics = Metrics()
    for age, objects in ((3.0, 10), (400.0, 2), (1.0, 0)):
        metrics.add_cache("pods", lambda age=age: age, lambda objects=objects: objects)  # type: ignore[misc]
    found = samples(metrics)
    assert found["kubedl_cache_objects{resource=pods}"] == 12
    assert found["kubedl_cache_age_seconds{resource=pods}"] == 400


def test_the_leader_says_so() -> None:
    metrics = Metrics()
    metrics.leading(True)
    assert samples(metrics)["kubedl_leader"] == 1
    metrics.leading(False)
    assert samples(metrics)["kubedl_leader"] == 0


def test_two_in_one_process_do_not_mix() -> None:
    """No global registry: a test, or a second operator, starts from nothing."""
    one, two = Metrics(), Metrics()
    one.event_dropped()
    assert (samples(one)["kubedl_events_dropped_total"], samples(two)["kubedl_events_dropped_total"]) == (1, 0)


def test_the_process_itself_is_described() -> None:
    assert samples(Metrics())["process_resident_memory_bytes"] > 1_000_000


@pytest.mark.looptime
async def test_the_worst_lag_is_shown_for_a_window_and_then_forgotten() -> None:
    metrics = Metrics()
    loop = asyncio.get_running_loop()
    watching = asyncio.ensure_future(metrics.watch_loop_lag())
    real, late = loop.time, 0.0
    await asyncio.sleep(LAG_INTERVAL * 1.5)
    loop.time = lambda: real() + late  # type: ignore[method-assign]
    late = 3.0
    await asyncio.sleep(LAG_INTERVAL)
    assert samples(metrics)["kubedl_loop_lag_max_seconds"] == pytest.approx(3, abs=0.3)
    await asyncio.sleep(LAG_WINDOW * 0.9)
    assert samples(metrics)["kubedl_loop_lag_max_seconds"] == pytest.approx(3, abs=0.3)
    await asyncio.sleep(LAG_WINDOW * 1.2)
    found = samples(metrics)
    assert found["kubedl_loop_lag_max_seconds"] < 0.01
    assert found["kubedl_loop_lag_seconds_count"] > 100
    assert found["kubedl_loop_lag_seconds_bucket{le=0.001}"] == found["kubedl_loop_lag_seconds_count"] - 1
    watching.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await watching


def test_counting_a_call_is_cheap() -> None:
    """It happens for every write; the bar is wide, because machines are busy."""
    metrics = Metrics()
    metrics.observe_request("create", "pods", "201", 0.02)
    began = time.process_time()
    for _ in range(10_000):
        metrics.observe_request("create", "pods", "201", 0.02)
    assert (time.process_time() - began) / 10_000 < 50e-6
