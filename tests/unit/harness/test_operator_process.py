"""What the harness reads from the operator without one running."""

import socket

from harness.drivers.operator_process import PORTS, free_port, samples

PAGE = """# HELP kubedl_queue_depth Keys that wait.
# TYPE kubedl_queue_depth gauge
kubedl_queue_depth{controller="tfjob"} 3.0
kubedl_api_calls_total{code="201",path="a b"} 1.2e+01

up 1
"""


def test_samples_are_named_with_their_labels() -> None:
    assert samples(PAGE) == {
        'kubedl_queue_depth{controller="tfjob"}': 3.0,
        'kubedl_api_calls_total{code="201",path="a b"}': 12.0,
        "up": 1.0,
    }


def test_no_port_is_given_twice_and_none_that_is_taken() -> None:
    ports = [free_port() for _ in range(100)]
    assert len(set(ports)) == 100
    assert set(ports) <= set(PORTS)
    for port in ports[:10]:
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: closed connections linger
            taken.bind(("127.0.0.1", port))
