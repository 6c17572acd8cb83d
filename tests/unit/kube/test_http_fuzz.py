"""The client reads answers as h11 does, and refuses what h11 refuses; `make prove-house` reads 100,000."""

import random

from harness.experiments.http_fuzz import SMALL, by_client, by_h11, compare, drawn, why_refused


async def test_the_client_and_h11_read_the_same() -> None:
    """Right answers and broken ones, cut anywhere."""
    disagreements: list[str] = []
    outcomes = await compare(SMALL, 1, disagreements.append)
    assert disagreements == []
    assert outcomes["accepted"] > SMALL / 3
    assert outcomes["refused"] > SMALL / 3
    assert outcomes["accepted"] + outcomes["refused"] > 0.9 * SMALL  # what is only tolerated is rare


async def test_a_disagreement_is_noticed() -> None:
    """Had one of them read something else, it would show."""
    parts = [b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", b"hello"]
    assert by_h11(parts) == await by_client(parts)
    assert by_h11(parts) != await by_client([parts[0], b"other"])
    assert by_h11(parts[:1]) is await by_client(parts[:1]) is None
    assert why_refused(b"".join(parts)) == ""


def test_the_dice_decide_everything() -> None:
    first, second = (random.Random(2), random.Random(2))  # noqa: S311 - no secret
    assert [drawn(first) for _ in range(50)] == [drawn(second) for _ in range(50)]
