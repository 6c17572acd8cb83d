"""Each rule finds a page that breaks it, and is silent otherwise."""

import pytest

from devtools.doc_style import complaints_about
from devtools.lint_repo import ROOT, tracked

HOW_TO, TROUBLE = "docs/how-to/a.md", "docs/troubleshooting/a.md"


def found(name: str, text: str) -> list[str]:
    return list(complaints_about([(name, text)]))


def test_the_pages_keep_every_rule() -> None:
    assert list(complaints_about(tracked(ROOT))) == []


@pytest.mark.parametrize("name", ["README.md", "docs/limits.md", "docs/reference/kinds/tfjob.md"])
@pytest.mark.parametrize("text", ["Fine.\n\n```\na\n```\n", "1. One\n\n   ```\n   a\n   ```\n", "a\n\n~~~\na\n~~~\n"])
def test_a_fence_without_a_language(name: str, text: str) -> None:
    """With the line at which it begins."""
    [complaint] = found(name, text)
    assert complaint.startswith(f"{name}:3: a fence without a language")


@pytest.mark.parametrize(
    "text", ["```text\na\n```\n", '```yaml title="a.yaml"\na: 1\n```\n', "Not a fence: ```a```.\n"]
)
def test_a_fence_with_a_language(text: str) -> None:
    assert found("docs/limits.md", text) == []


def test_each_fence_counts() -> None:
    """The end of one is not taken for the beginning of the next."""
    text = "```sh\na\n```\n\nText.\n\n```\nb\n```\n"
    assert [complaint.partition(": ")[0] for complaint in found("docs/limits.md", text)] == ["docs/limits.md:7"]


@pytest.mark.parametrize("language", ["sh", "bash", "console", 'sh title="run"'])
def test_a_prompt_in_commands(language: str) -> None:
    [complaint] = found("docs/limits.md", f"```{language}\nmake\n$ kubectl get pods\n```\n")
    assert complaint.startswith("docs/limits.md:3: a prompt")


@pytest.mark.parametrize("text", ["```text\n$ ls\n```\n", "```sh\necho $HOME '$ 1'\n```\n", "A price of $ 5.\n"])
def test_what_is_no_prompt(text: str) -> None:
    assert found("docs/limits.md", text) == []


@pytest.mark.parametrize("title", ["Training jobs", "TensorBoard", "Restricted namespaces", ""])
def test_a_how_to_without_a_task(title: str) -> None:
    [complaint] = found(HOW_TO, f"# {title}\n\nText.\n")
    assert complaint.startswith(f"{HOW_TO}: the title {title!r} is no task")


@pytest.mark.parametrize("title", ["Run a training job", "Pre-warm model images", "Which kind fits?"])
def test_a_how_to_with_a_task(title: str) -> None:
    assert found(HOW_TO, f"# {title}\n") == []


@pytest.mark.parametrize("title", ["Blocked jobs", "Restarts", "Fix a job", "My job"])
def test_a_troubleshooting_page_without_a_symptom(title: str) -> None:
    [complaint] = found(TROUBLE, f"# {title}\n")
    assert "is no symptom" in complaint


@pytest.mark.parametrize("title", ["My job stays Created", "The operator does not start", "Is my job admitted?"])
def test_a_troubleshooting_page_with_a_symptom(title: str) -> None:
    assert found(TROUBLE, f"# {title}\n") == []


@pytest.mark.parametrize("name", ["docs/troubleshooting/README.md", "docs/operations/alerts.md", "docs/README.md"])
def test_other_pages_have_any_title(name: str) -> None:
    assert found(name, "# Names\n") == []


@pytest.mark.parametrize("name", ["examples/README.md", "src/kubedl/a.py", "changelog.d/a.fixed.md"])
def test_other_files_are_left_out(name: str) -> None:
    assert found(name, "```\na\n```\n") == []
