"""`kubedl config`: where a value comes from, and what a file may say."""

import json
from pathlib import Path

import pytest

from kubedl.cli import configuration
from tests.unit.cli.conftest import Run
from tests.unit.client.api_server import ApiServer


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a project, above the working directory."""
    place = tmp_path / "project" / "deep"
    place.mkdir(parents=True)
    monkeypatch.chdir(place)
    return place.parent / "kubedl.toml"


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """The user's own file."""
    return tmp_path / "config" / "kubedl" / "config.toml"


def test_the_strongest_counts(run: Run, project: Path, user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flag, environment, project, user."""
    submit = ("submit", "pytorch", "--name", "x", "--dry-run", "-o", "json")

    def image(*flags: str) -> str:
        job = json.loads(run(*submit, *flags).out)
        return str(job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]["image"])

    assert run(*submit).err.startswith("error: no --image\n")
    assert run("config", "set", "image", "of-user").out == f"image is of-user ({user})\n"
    assert image() == "of-user"
    project.write_text('image = "of-project"\n')
    assert image() == "of-project"
    monkeypatch.setenv("KUBEDL_IMAGE", "of-environment")
    assert image() == "of-environment"
    assert image("--image", "of-flag") == "of-flag"
    assert run("config", "get", "image", "--origin").out == "of-environment  $KUBEDL_IMAGE\n"
    monkeypatch.delenv("KUBEDL_IMAGE")
    assert run("config", "get", "image", "--origin").out == f"of-project  {project}\n"
    answer = run("config", "set", "image", "other")
    assert answer.err == f"hint: {project} says of-project, and counts more\n"


def test_a_connection_has_its_defaults(api: ApiServer, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from kubedl.entrypoints import command  # noqa: PLC0415

    api.job("here", namespace="mine")
    project.write_text('namespace = "mine"\nrequest-timeout = 5\n')
    assert command.main(["config", "set", "server", api.url]) == 0
    capsys.readouterr()
    assert command.main(["list", "-o", "name"]) == 0
    assert capsys.readouterr().out == "pytorchjob/here\n"


def test_other_lines_and_comments_stay(run: Run, project: Path) -> None:
    project.write_text('# ours\nnamespace = "a" \nimage = "b" # pinned\n')
    assert run("config", "set", "namespace", 'with "quotes" and ü', "--project").code == 0
    assert project.read_text() == '# ours\nnamespace = "with \\"quotes\\" and ü"\nimage = "b" # pinned\n'
    assert run("config", "unset", "image", "--project").out == f"image removed from {project}\n"
    assert project.read_text() == '# ours\nnamespace = "with \\"quotes\\" and ü"\n'
    assert run("config", "unset", "image", "--project").out == f"image is not in {project}\n"


def test_a_file_that_lines_cannot_tell_is_left_alone(run: Run, project: Path) -> None:
    text = 'image = """\nnamespace = "a"\n"""\n'
    project.write_text(text)
    answer = run("config", "set", "namespace", "b", "--project")
    assert (answer.code, project.read_text()) == (2, text)


def test_lists(run: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("config", "get").err == "nothing is set; kubedl config list names all settings\n"
    monkeypatch.setenv("KUBEDL_QUEUE", "q")
    project.write_text('image = "b"\n')
    assert [line.split() for line in run("config", "get", "--origin").out.splitlines()[1:]] == [
        ["image", "b", str(project)],
        ["queue", "q", "$KUBEDL_QUEUE"],
    ]
    assert len(run("config", "list").out.splitlines()) == 1 + len(configuration.KEYS)
    assert json.loads(run("config", "get", "-o", "json").out)["queue"] == {"value": "q", "origin": "$KUBEDL_QUEUE"}


@pytest.mark.parametrize(
    ("words", "code", "what", "step"),
    [
        (("get", "imge"), 2, "there is no setting imge", "image"),
        (("get", "image"), 1, "image is not set", "kubedl config set image VALUE"),
        (("set", "token", "x"), 2, "token is a secret, and no setting", "the kubeconfig"),
        (("set", "color", "pink"), 2, "color pink is not understood", "auto, always or never"),
        (("set", "request-timeout", "soon"), 2, "request-timeout soon is not understood", "seconds"),
        (("set", "server", "x", "--project"), 2, "server is not for projects", "leave out --project"),
        (("set", "image", "a\nb"), 2, "image has no value that can be printed", "kubedl config unset image"),
    ],
)
def test_mistakes(run: Run, project: Path, words: tuple[str, ...], code: int, what: str, step: str) -> None:
    answer = run("config", *words)
    assert (answer.code, answer.out) == (code, "")
    assert answer.err.startswith(f"error: {what}")
    assert f"  next  {step}" in answer.err
    assert not project.exists()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("image = ", "is no TOML"),
        ('imge = "x"', "there is no setting imge"),
        ("image = true", "image is neither text nor a number"),
        ('server = "https://elsewhere"', "does not say to whom credentials are sent"),
        ('kubeconfig = "evil"', "does not say to whom credentials are sent"),
        ('token = "x"', "token is a secret"),
    ],
)
def test_a_projects_file_is_checked(run: Run, project: Path, text: str, what: str) -> None:
    project.write_text(text)
    answer = run("list")
    assert (answer.code, answer.out) == (2, "")
    assert what in answer.err


def test_a_wrong_variable(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEDL_REQUEST_TIMEOUT", "soon")
    assert run("list").err.startswith("error: $KUBEDL_REQUEST_TIMEOUT: request-timeout soon is not understood\n")
