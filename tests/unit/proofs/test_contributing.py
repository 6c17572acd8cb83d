"""The newcomer's commands are taken from CONTRIBUTING as they stand."""

from pathlib import Path

from proofs.testbed.contributing import instructions

ROOT = Path(__file__).parents[3]


def test_the_commands_are_those_of_the_page() -> None:
    """All but the cloning, which has happened."""
    commands = instructions((ROOT / "CONTRIBUTING.md").read_text()).splitlines()
    assert commands[:4] == ["make setup", "make cluster NODES=2", 'eval "$(make cluster-env)"', "kubectl get nodes"]
    assert commands[-1] == "make cluster-down"
    assert any(command.startswith("kubectl run hello") for command in commands)
