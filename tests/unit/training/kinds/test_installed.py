"""Which kinds there are."""

from kubedl.training.kinds import all_kinds


def test_every_declaration_is_found_in_alphabetical_order() -> None:
    """A file is all it takes."""
    names = [kind.kind for kind in all_kinds()]
    assert names == sorted(names)
    assert {"MPIJob", "PyTorchJob", "TFJob"} <= set(names)


def test_a_kind_names_its_resource() -> None:
    """As the API server knows it."""
    resources = {kind.kind: kind.resource.name for kind in all_kinds()}
    assert resources["TFJob"] == "tfjobs.training.kubedl.io"
    assert resources["MPIJob"] == "mpijobs.training.kubedl.io"
    assert resources["PyTorchJob"] == "pytorchjobs.training.kubedl.io"
