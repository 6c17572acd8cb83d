"""What is read of the docs before any cluster is asked."""

import pytest

from devtools.kind_pages import definitions
from tests import doc_manifests
from tests.doc_manifests import Manifest, MarkError, of_page, put
from tests.unit.schema.openapi import complaints

PART = """
<!-- part of examples/jaxjob.yaml at spec.jaxReplicaSpecs -->
```yaml
Worker:
  replicas: 7
```
"""


def test_every_block_is_whole_or_says_what_it_is_a_part_of() -> None:
    assert len(doc_manifests.blocks()) > 30


def test_every_kind_has_an_example_of_its_own() -> None:
    """Named for it, and of it."""
    names = [one["spec"]["names"] for one in definitions()]
    found = {manifest.place: [one["kind"] for one in manifest.objects] for manifest in doc_manifests.examples()}
    missing = [name["kind"] for name in names if name["kind"] not in found.get(f"examples/{name['singular']}.yaml", ())]
    assert missing == []


@pytest.mark.parametrize("manifest", [*doc_manifests.examples(), *doc_manifests.blocks()], ids=str)
def test_fields_are_those_of_the_definition(manifest: Manifest) -> None:
    """For a quick answer; rules, and objects of Kubernetes itself, are asked of a real API server."""
    schemas = {
        (f"{one['spec']['group']}/{version['name']}", one["spec"]["names"]["kind"]): version["schema"][
            "openAPIV3Schema"
        ]
        for one in definitions()
        for version in one["spec"]["versions"]
    }
    for one in manifest.objects:
        if (schema := schemas.get((one["apiVersion"], one["kind"]))) is not None:
            assert complaints(schema["properties"]["spec"], one["spec"], f"{manifest}: spec") == []


def test_a_part_is_put_into_its_example() -> None:
    [manifest] = of_page("page.md", PART)
    job = manifest.objects[-1]
    worker = job["spec"]["jaxReplicaSpecs"]["Worker"]
    assert (job["kind"], worker["replicas"], worker["restartPolicy"]) == ("JAXJob", 7, "ExitCode")
    assert manifest.place == "page.md:3"


def test_items_of_a_list_are_found_by_name() -> None:
    whole = {"spec": {"predictors": [{"name": "a", "replicas": 1}, {"name": "b"}]}}
    put(whole, ["spec", "predictors", "b"], {"replicas": 2})
    put(whole, [""], {"spec": {"predictors": [{"name": "a", "weight": 3}]}})
    assert whole == {"spec": {"predictors": [{"name": "a", "replicas": 1, "weight": 3}, {"name": "b", "replicas": 2}]}}


@pytest.mark.parametrize("mark", ["", "<!-- not applied: no -->\n", "<!-- part of something -->\n"])
def test_a_part_without_a_mark_or_a_reason_is_refused(mark: str) -> None:
    with pytest.raises(MarkError, match=r"page\.md"):
        list(of_page("page.md", f"{mark}```yaml\nspec: {{}}\n```\n"))


def test_a_block_with_a_reason_is_left_out() -> None:
    page = "<!-- not applied: it is for another operator -->\n```yaml\nspec: {}\n```\n"
    assert list(of_page("page.md", page)) == []
