"""Samples of crash points: the same for a seed, another for another, and never more than there are."""

from harness.experiments.crash_points import Sample, points


def test_a_sample_follows_from_its_seed() -> None:
    """So that a failed run can be repeated, and every commit tries other points."""
    found = points("some", 20)
    drawn = {seed: Sample(6, seed).of(found) for seed in ("a", "b", "c")}
    assert Sample(6, "a").of(found) == drawn["a"]
    assert len({tuple(map(str, one)) for one in drawn.values()}) == 3
    for one in drawn.values():
        assert len(one) == 6
        assert one == [point for point in found if point in one]


def test_scenarios_are_sampled_by_themselves() -> None:
    """One of them alone has the points that it had among all."""
    writes = {name: [point.write for point in Sample(4, "a").of(points(name, 30))] for name in ("one", "two")}
    assert writes["one"] != writes["two"]


def test_few_points_are_all_taken() -> None:
    """Before and after each write."""
    assert Sample(10, "a").of(points("some", 3)) == points("some", 3)
    assert len(points("some", 3)) == 6
