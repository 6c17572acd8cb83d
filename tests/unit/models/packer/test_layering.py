"""How files are put together into layers."""

from hypothesis import given
from hypothesis import strategies as st

from kubedl.models.packer.layering import MOST_LAYERS, SHARED, grouped
from kubedl.models.packer.model_files import FileEntry

SIZES = st.lists(st.one_of(st.integers(0, 2000), st.integers(0, 64 << 30)), min_size=1, max_size=400)


def entries(sizes: list[int]) -> list[FileEntry]:
    return [FileEntry(f"{number:04}", "file", size) for number, size in enumerate(sizes)]


@given(SIZES)
def test_every_file_is_in_one_layer_in_order_and_layers_are_not_too_many(sizes: list[int]) -> None:
    files = entries(sizes)
    groups = grouped(files)
    assert [entry for group in groups for entry in group] == files
    assert 1 <= len(groups) <= MOST_LAYERS


@given(SIZES)
def test_the_same_files_are_put_together_in_the_same_way(sizes: list[int]) -> None:
    assert grouped(entries(sizes)) == grouped(entries(sizes))


def test_large_files_are_alone_and_small_neighbours_share() -> None:
    sizes = [10, 20, SHARED, 30, SHARED - 1, 5]
    assert [len(group) for group in grouped(entries(sizes))] == [2, 1, 1, 1, 1]


def test_a_hundred_large_files_have_a_layer_each_and_one_more_makes_them_share() -> None:
    assert [len(group) for group in grouped(entries([SHARED] * MOST_LAYERS))] == [1] * MOST_LAYERS
    assert len(grouped(entries([SHARED] * (MOST_LAYERS + 1)))) <= MOST_LAYERS


def test_shards_of_a_huge_model_are_not_all_thrown_together() -> None:
    """150 of 5 GiB: three or so in a layer, not hundreds."""
    assert max(len(group) for group in grouped(entries([5 << 30] * 150))) <= 3


def test_a_changed_file_changes_its_own_layer_only() -> None:
    before, after = [SHARED * 2] * 16, [SHARED * 2] * 7 + [SHARED * 2 + 100] + [SHARED * 2] * 8
    groups = zip(grouped(entries(before)), grouped(entries(after)), strict=True)
    assert [number for number, (old, new) in enumerate(groups) if old != new] == [7]
