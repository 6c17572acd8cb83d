"""Help, mistakes, and what a command may import."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from devtools.cli_help import static_help
from kubedl.cli.durations import age, parse, precise
from kubedl.cli.static_help import help_for
from kubedl.entrypoints import command
from tests.unit.cli.conftest import Run
from tests.unit.client.api_server import ApiServer

ROOT = Path(__file__).parents[3]
HEAVY = ("asyncio", "aiohttp", "cryptography", "structlog", "prometheus_client", "rich", "urllib.request", "email.mime")
NETWORK = ("http.client", "ssl", "socket")
# What a command has loaded when it has printed its answer: names, which are the same on every machine.
CONTRACT = {
    ("--help",): (*HEAVY, *NETWORK, "click", "msgspec", "yaml", "json", "pathlib", "kubedl.client", "kubedl.training"),
    ("submit", "pytorch", "--help"): (*HEAVY, *NETWORK, "msgspec", "yaml", "kubedl.client", "kubedl.training"),
    ("list",): (*HEAVY, "json", "kubedl.training", "kubedl.api", "importlib.metadata", "concurrent.futures"),
    ("get", "bert"): (*HEAVY, "kubedl.training", "kubedl.api", "importlib.metadata"),
    ("why", "bert"): (*HEAVY, "kubedl.api", "kubedl.runtime", "kubedl.training.waiting", "importlib.metadata"),
    ("submit", "pytorch", "--name", "x", "--image", "i"): (
        *HEAVY,
        "kubedl.training",
        "kubedl.api",
        "importlib.metadata",
    ),
    ("submit", "--help"): (*HEAVY, *NETWORK, "click", "msgspec", "yaml", "json", "pathlib"),
    ("cron", "--help"): (*HEAVY, *NETWORK, "click", "msgspec", "yaml", "json", "pathlib"),
    ("run", "--help"): (*HEAVY, *NETWORK, "msgspec", "yaml", "kubedl.client", "kubedl.training"),
    ("history", "list", "--help"): (*HEAVY, *NETWORK, "msgspec", "yaml", "sqlalchemy", "kubedl.client"),
    ("suspend", "bert"): (*HEAVY, "json", "kubedl.training", "kubedl.api", "importlib.metadata"),
    ("rerun", "bert"): (*HEAVY, "kubedl.training", "kubedl.api", "importlib.metadata", "kubedl.cli.submit.flags"),
    ("apply", "--help"): (*HEAVY, *NETWORK, "msgspec", "yaml", "kubedl.client", "kubedl.cli.submit.flags"),
    ("prune", "--help"): (*HEAVY, *NETWORK, "msgspec", "yaml", "kubedl.client"),
    ("config", "list"): (*HEAVY, *NETWORK, "msgspec", "yaml", "tomllib", "kubedl.client"),
    ("serve", "submit", "custom", "--name", "x", "--image", "i"): (*HEAVY, "kubedl.training", "kubedl.api"),
    ("history", "logs", "--help"): (*HEAVY, *NETWORK, "msgspec", "yaml", "sqlalchemy", "kubedl.client"),
    ("scale", "bert", "--workers", "2", "-y"): (*HEAVY, "kubedl.training", "kubedl.api", "importlib.metadata"),
}


@pytest.mark.parametrize("words", CONTRACT, ids=" ".join)
def test_a_command_imports_no_more_than_it_uses(api: ApiServer, words: tuple[str, ...]) -> None:
    """Imports are what makes commands slow."""
    roles = {"Master": {"replicas": 1}, "Worker": {"replicas": 1}}
    api.job("bert", status={"state": "Running", "ready": "1/1"}, spec={"suspend": True, "pytorchReplicaSpecs": roles})
    where = () if "--help" in words else ("-n", "team", "--server", api.url)
    code = f"""
import sys
from kubedl.entrypoints.command import main
try:
    code = main({[*words, *where]!r})
finally:
    print(*sorted(set({CONTRACT[words]!r}) & set(sys.modules)), file=sys.stderr)
sys.exit(code)
"""
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert done.stderr.splitlines()[-1] == ""


def test_static_help_is_that_of_the_commands() -> None:
    """`make check` finds drift too; here it is named."""
    texts = static_help()
    assert help_for(["--help"]) == help_for([]) == help_for(["help"]) == texts["kubedl.txt"]
    assert help_for(["submit", "--help"]) == help_for(["submit"]) == texts["submit.txt"]
    assert help_for(["list", "--help"]) is None
    assert help_for(["list"]) is None
    assert help_for(["-n", "team", "--help"]) is None


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert command.main(["version", "--client"]) == 0
    assert capsys.readouterr().out == f"kubedl {project['version']}\n"


def test_processes_are_listed_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["help", "processes"]) == 0
    assert capsys.readouterr().out.split("\n  ")[1:] == [*sorted(command.PROCESSES)[:-1], f"{max(command.PROCESSES)}\n"]


@pytest.mark.parametrize(
    ("words", "what", "step"),
    [
        (["train"], "no such command: train", "kubedl --help"),
        (["lits"], "no such command: lits", "kubedl list"),
        (["cron", "stop"], "no such command: stop", "kubedl cron list, get, create"),
        (["submit", "caffe"], "no such command: caffe", "kubedl submit elasticdl, jax, mpi"),
        (["submit", "rayjob"], "submit rayjob has no kind here", "there is no Ray kind here"),
        (["submit", "-n", "x"], "submit needs a kind or a file", "kubedl submit pytorch --help, or -f FILE"),
        (["list", "--sate", "x"], "no such option: --sate", "--state   (Jobs in these states"),
        (["get"], "missing argument 'JOB'", "kubedl get --help"),
        (["submit", "pytorch"], "no --name", "--name NAME   (Name of the job)"),
        (["submit", "pytorch", "--name", "x"], "no --image", "--image IMAGE   (Image of all replicas)"),
    ],
)
def test_mistakes(words: list[str], what: str, step: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(words) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"error: {what}\n  next  {step}")


def test_no_kubeconfig(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert command.main(["list"]) == 1
    assert capsys.readouterr().err == (
        f"error: no cluster to talk to\n  why   there is no kubeconfig ({tmp_path}/none)\n"
        "  next  --kubeconfig FILE, or KUBECONFIG      or  kubectl config get-contexts\n"
    )


def test_global_flags_may_stand_before_the_command(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    api.job("there", namespace="one")
    api.job("here", namespace="two")
    assert command.main(["--server", api.url, "-n", "one", "list", "-o", "name"]) == 0
    assert command.main(["--server", api.url, "-n", "one", "list", "-o", "name", "-n", "two"]) == 0
    assert capsys.readouterr().out == "pytorchjob/there\npytorchjob/here\n"


def test_another_identity_is_asked_for(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--token", "t", "--as", "alice", "--as-group", "a", "--as-group", "b"]
    assert command.main(["list", "--server", api.url, *words]) == 0
    sent = api.calls[-1].headers
    assert (sent["Authorization"], sent["Impersonate-User"]) == ("Bearer t", "alice")
    assert sent.get_all("Impersonate-Group") == ["a", "b"]
    assert capsys.readouterr().out == ""


def test_debug_shows_requests_and_where_an_error_arose(run: Run) -> None:
    answer = run("get", "nothing", "--debug")
    assert "ms  GET /apis/training.kubedl.io/v1alpha1  ok" in answer.err
    assert "Traceback" in answer.err


@pytest.mark.parametrize(("seconds", "short", "long"), [(5, "5s", "5s"), (100, "1m", "1m40s"), (7860, "2h", "2h11m")])
def test_durations(seconds: int, short: str, long: str) -> None:
    assert (age(seconds), precise(seconds)) == (short, long)
    assert age(3 * 86400) == precise(3 * 86400) == "3d"


def test_durations_that_people_write() -> None:
    assert [parse(text) for text in ("90", "90s", "30m", "1h30m", "2d")] == [90, 90, 1800, 5400, 172800]
    for text in ("", "m", "1h30", "-1s", "1y", "9" * 30):
        with pytest.raises(ValueError, match=r"is no duration|longer than"):
            parse(text)
