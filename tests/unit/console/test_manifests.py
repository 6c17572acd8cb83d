"""Texts that people type: what is read, and what is refused before anything is made of it."""

import pytest

from kubedl.console import manifests
from kubedl.console.problems import RefusalError

JOB = """
apiVersion: training.kubedl.io/v1alpha1
kind: PyTorchJob
metadata: {name: bert, namespace: nlp}
spec: {}
"""


def test_yaml_and_json_are_the_same_object() -> None:
    """With dates and numbers as JSON has them."""
    wanted = {"a": [1, "2026-11-18", None], "1": "x"}
    assert manifests.read("a: [1, 2026-11-18, null]\n1: x\n") == wanted
    assert manifests.read('{"a": [1, "2026-11-18", null], "1": "x"}') == wanted


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [1", "line 2"),
        ("a: 1\n b: 2", "line 2"),
        ("a: &x [1]\nb: *x", "line 2: aliases"),
        ("a: 1\n---\nb: 2", "line 2: it has more than one document"),
        ("[" * 65 + "]" * 65, "deeper than 64 levels"),
        ("[" * 30_000, "deeper than 64 levels"),
        ("a: !!python/object/apply:os.system [id]", "could not determine a constructor"),
        ("a: \x00", "control characters are not allowed"),
        ("a: [" + "1," * 10_001 + "]", "more than 10,000 keys and values"),
        ("- a", "it is no object"),
        ("", "it is no object"),
        ("? [a]\n: b", "unhashable"),
        ("a: !!bool x", "its tag"),
        ("a: !!int ''", "its tag"),
        ("a: !!timestamp x", "its tag"),
    ],
)
def test_what_is_no_object_is_refused_with_its_line(text: str, words: str) -> None:
    """Nothing is built from an alias or from what is nested without end."""
    with pytest.raises(RefusalError, match="no YAML of an object") as refusal:
        manifests.read(text)
    assert refusal.value.status == 422
    assert words in refusal.value.why


@pytest.mark.parametrize("text", ["a" * (64 * 1024 + 1), "ü" * (32 * 1024 + 1)])
def test_a_text_has_a_bound(text: str) -> None:
    """In bytes, whatever the browser has counted."""
    with pytest.raises(RefusalError) as refusal:
        manifests.read(text)
    assert refusal.value.status == 413


def test_a_job_has_kind_and_place() -> None:
    """They are part of the address that it is sent to."""
    assert manifests.check_kind(manifests.read(JOB)) == ("PyTorchJob", "nlp", "bert")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"kind": "Pod"}, "kind"),
        ({"kind": ["PyTorchJob"]}, "kind"),
        ({"kind": {}}, "kind"),
        ({"apiVersion": "batch/v1"}, "apiVersion"),
        ({"metadata": "x"}, "metadata.namespace"),
        ({"metadata": {"name": "bert", "namespace": "../../api"}}, "metadata.namespace"),
        ({"metadata": {"name": "bert", "namespace": "nlp/pods/x?"}}, "metadata.namespace"),
        ({"metadata": {"name": "bert", "namespace": ["nlp"]}}, "metadata.namespace"),
        ({"metadata": {"name": "../x", "namespace": "nlp"}}, "metadata.name"),
        ({"metadata": {"generateName": "x-", "namespace": "nlp"}}, "metadata.name"),
        ({"spec": None}, "spec"),
    ],
)
def test_what_is_no_job_is_refused_by_field(change: dict[str, object], field: str) -> None:
    """So that a page can say it beside the field, and no text changes the address of a request."""
    with pytest.raises(RefusalError, match="this is neither a job nor a service") as refusal:
        manifests.check_kind(manifests.read(JOB) | change)
    assert field in [one.field for one in refusal.value.fields]
