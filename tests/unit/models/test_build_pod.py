"""The build pod: what the packer is told and sees, and that it asks for no more rights than *restricted* gives."""

from collections.abc import Mapping
from typing import Any

import pytest

from harness.fakes.api_server import with_metadata
from kubedl.api.model import ModelVersion
from kubedl.kube import codec
from kubedl.kube.types.core import PODS
from kubedl.models import build_pod
from kubedl.models.build_pod import Packer
from kubedl.models.pack_protocol import ORDER_VARIABLE, Origin, PackRequest
from kubedl.podspec import registry_access
from tests.unit.models.versions import CLAIM, DIGEST, EFS, LOCAL, NAME, NFS, UID, version

IMAGE = "kubedl/packer:1"
ORIGIN = {"jobKind": "TFJob", "jobName": "train", "jobUid": "u", "trainerImages": {"tf:2": f"tf@{DIGEST}"}}


def render(one: ModelVersion, attempt: int = 1) -> dict[str, Any]:
    """The pod of a version."""
    assert one.spec.storage is not None
    return build_pod.render(one, one.spec.storage, attempt, Packer(IMAGE))


def variables(one: ModelVersion, proxies: Mapping[str, str] = registry_access.NO_PROXIES) -> dict[str, str]:
    """What the packer is told beside its order."""
    assert one.spec.storage is not None
    [made] = build_pod.render(one, one.spec.storage, 1, Packer(IMAGE, proxies))["spec"]["containers"]
    return {found["name"]: found["value"] for found in made["env"][1:]}


def container(one: ModelVersion) -> dict[str, Any]:
    """Its only container."""
    [found] = render(one)["spec"]["containers"]
    return dict(found)


def order(one: ModelVersion) -> PackRequest:
    """What the packer reads, after Kubernetes has put in variables where they are asked for."""
    variable = container(one)["env"][0]
    assert variable["name"] == ORDER_VARIABLE
    assert "$(" not in variable["value"].replace("$$", "")
    return codec.decode(variable["value"].replace("$$", "$"), PackRequest)


def test_the_packer_is_told_everything() -> None:
    """All of it from the version."""
    told = order(
        version(
            createdBy="ada",
            parent=f"hub/resnet@{DIGEST}",
            origin=ORIGIN,
            registry={"insecure": True},
            signing={"secretName": "keys"},
            storage=NFS,
        )
    )
    assert told == PackRequest(
        source="/kubedl/source/model",
        repository="hub/resnet",
        tag="v1",
        namespace="team",
        model="resnet",
        version=NAME,
        insecure=True,
        credentials="/kubedl/registry",
        signing_key="/kubedl/signing",
        origin=Origin(
            created_by="ada",
            job_kind="TFJob",
            job_name="train",
            job_uid="u",
            trainer_images={"tf:2": f"tf@{DIGEST}"},
            parent=f"hub/resnet@{DIGEST}",
        ),
    )


def test_an_order_is_the_same_for_every_attempt() -> None:
    """So is the image."""
    first, second = render(version(), 1), render(version(), 2)
    assert first["spec"] == second["spec"]
    assert first["metadata"]["labels"][build_pod.ATTEMPT] == "1"
    assert second["metadata"]["labels"][build_pod.ATTEMPT] == "2"


def test_words_of_users_are_no_variables() -> None:
    """Kubernetes would put the value of another variable in their place."""
    assert order(version(createdBy="$(HOME) $$")).origin.created_by == "$(HOME) $$"


@pytest.mark.parametrize(
    ("storage", "volume", "mount"),
    [
        (
            LOCAL,
            {"hostPath": {"path": "/models/resnet.onnx", "type": ""}},
            {"mountPath": "/kubedl/source/resnet.onnx"},
        ),
        (
            NFS,
            {"nfs": {"server": "nas", "path": "/exports/m", "readOnly": True}},
            {"mountPath": "/kubedl/source/model"},
        ),
        (
            CLAIM,
            {"persistentVolumeClaim": {"claimName": "models"}},
            {"mountPath": "/kubedl/source/7", "subPath": "runs/7"},
        ),
        (EFS, {"persistentVolumeClaim": {"claimName": f"mv-pvc-{UID}"}}, {"mountPath": "/kubedl/source/model"}),
    ],
)
def test_the_model_is_mounted_read_only(storage: dict[str, Any], volume: dict[str, Any], mount: dict[str, Any]) -> None:
    """Wherever it lies; a single file keeps its name."""
    made = render(version(storage=storage))["spec"]
    assert made["volumes"][0] == {"name": "modelvolume", **volume}
    assert made["containers"][0]["volumeMounts"][0] == {"name": "modelvolume", "readOnly": True, **mount}
    assert order(version(storage=storage)).source == mount["mountPath"]


def test_a_directory_of_a_node_is_read_on_that_node() -> None:
    """Whatever the node is kept for; all others go where there is room."""
    made = render(version(storage=LOCAL))["spec"]
    assert made["nodeSelector"] == {"kubernetes.io/hostname": "node1"}
    assert made["tolerations"] == [{"operator": "Exists", "effect": "NoSchedule"}]
    assert "nodeSelector" not in render(version())["spec"]


def test_secrets_are_files_of_the_pod() -> None:
    """The first KubeDL's own if none is named, and only if it is there."""
    made = render(version())["spec"]["volumes"][1]["secret"]
    assert (made["secretName"], made["optional"]) == ("regcred", True)
    named = version(registry={"credentials": {"secretName": "hub"}}, signing={"secretName": "keys"})
    _, registry, signing = render(named)["spec"]["volumes"]
    assert (registry["secret"]["secretName"], registry["secret"]["optional"]) == ("hub", False)
    assert "items" not in registry["secret"]  # of either type, whose files have different names
    assert signing["projected"]["sources"] == [
        {"secret": {"name": "keys", "items": [{"key": "cosign.key", "path": "cosign.key"}], "optional": False}},
        {
            "secret": {
                "name": "keys",
                "items": [{"key": "cosign.password", "path": "cosign.password"}],
                "optional": True,
            }
        },
    ]
    assert all(mount["readOnly"] for mount in container(named)["volumeMounts"])


def test_an_authority_is_a_file_that_the_packer_is_told_of() -> None:
    """As every program is that uses OpenSSL; nothing else of its Secret is there."""
    own = version(registry={"authority": {"secretName": "company"}})
    volume = render(own)["spec"]["volumes"][-1]
    assert volume["secret"]["secretName"] == "company"
    assert volume["secret"]["items"] == [{"key": "ca.crt", "path": "ca.crt"}]
    mount = container(own)["volumeMounts"][-1]
    assert (mount["name"], mount["readOnly"]) == (volume["name"], True)
    assert variables(own) == {"SSL_CERT_FILE": f"{mount['mountPath']}/ca.crt"}
    assert variables(version()) == {}


def test_the_pod_is_told_of_proxies() -> None:
    """As they are written, whatever is in them."""
    told = {"HTTPS_PROXY": "http://proxy.example.org:3128", "NO_PROXY": "10.0.0.0/8,$(HOST)"}
    assert variables(version(), told) == {**told, "NO_PROXY": "10.0.0.0/8,$$(HOST)"}


def test_the_pod_may_do_nothing() -> None:
    """What PodSecurity restricted asks for, and a root file system that nobody writes to."""
    made = render(version())["spec"]
    assert made["automountServiceAccountToken"] is False
    assert made["restartPolicy"] == "Never"
    whole = made["securityContext"]
    assert (whole["runAsNonRoot"], whole["runAsUser"]) == (True, 65532)
    assert whole["seccompProfile"] == {"type": "RuntimeDefault"}
    own = made["containers"][0]["securityContext"]
    assert own == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert made["containers"][0]["image"] == IMAGE


def test_it_belongs_to_its_version() -> None:
    """And goes with it."""
    [owner] = render(version())["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("ModelVersion", UID, True)


def test_a_long_name_is_cut_and_stays_its_own() -> None:
    """As long as a name may be."""
    assert build_pod.build_pod_name(version()) == f"image-build-{NAME}"
    longest = with_metadata(version(), name="v" * 253)
    assert len(build_pod.build_pod_name(longest)) == 253
    assert build_pod.build_pod_name(longest).endswith(UID)


@pytest.mark.parametrize(("label", "expected"), [("3", 3), ("", 1), ("x", 1), ("9" * 30, 1), ("²", 1), ("-1", 1)])
def test_a_spoiled_label_is_the_first_attempt(label: str, expected: int) -> None:
    """Anybody may edit one."""
    made = PODS.decoder.decode(codec.encode(render(version())))
    assert build_pod.attempt_of(with_metadata(made, labels={build_pod.ATTEMPT: label})) == expected


def test_a_cluster_that_assigns_users_is_left_to_do_so() -> None:
    """OpenShift refuses a pod that names a user outside its namespace's range."""
    one = version()
    assert one.spec.storage is not None
    named = render(one)["spec"]["securityContext"]
    left = build_pod.render(one, one.spec.storage, 1, Packer(IMAGE, omit_user=True))["spec"]["securityContext"]
    assert left.keys() & {"runAsUser", "runAsGroup"} == set()
    assert named == {**left, "runAsUser": 65532, "runAsGroup": 65532}
    assert left["runAsNonRoot"] is True


def test_the_packers_image_is_pulled_with_the_administrators_secrets() -> None:
    """Without any, those of the ServiceAccount are used, which a pod with its own does not get."""
    one = version()
    assert one.spec.storage is not None
    made = build_pod.render(one, one.spec.storage, 1, Packer(IMAGE, pull_secrets=("hub", "mirror")))["spec"]
    assert made["imagePullSecrets"] == [{"name": "hub"}, {"name": "mirror"}]
    assert "imagePullSecrets" not in render(one)["spec"]
