"""Code from git: how it is asked for, what is refused, and what a pod gets."""

import json
import re
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedl.api import training_addons as rules
from kubedl.training import pods
from kubedl.training.addons import code_source, git_sync, registry
from kubedl.training.addons.git_sync_script import SCRIPT
from kubedl.training.job import Replica
from kubedl.training.observed import Settings
from tests import processor_time
from tests.hypothesis_settings import tried
from tests.training_builders import JobBuilder, tf_job

Body = dict[str, Any]
ADDRESS = "https://git.example.org/team/model.git"
JOB = tf_job("mnist").workers(2)


def annotated(config: object) -> JobBuilder:
    """A job of the first KubeDL."""
    text = config if isinstance(config, str) else json.dumps(config)
    return JOB.with_metadata(annotations={code_source.ANNOTATION: text})


def sourced(**source: object) -> JobBuilder:
    """A job with the field."""
    return JOB.with_spec(codeSource={"repository": ADDRESS, **source})


def render(job: JobBuilder, *, omit_user: bool = False) -> Body:
    """The first worker's pod."""
    view = job.kind.job(job.build())
    settings = Settings(git_image="git:1", omit_user=omit_user)
    return pods.render(job.kind, view, Replica("Worker", 0), 0, scope="Replica", settings=settings)


def fetcher(job: JobBuilder, *, omit_user: bool = False) -> Body:
    """The init container."""
    found: Body = next(
        one for one in render(job, omit_user=omit_user)["spec"]["initContainers"] if one["name"] == "git-sync-code"
    )
    return found


def told(job: JobBuilder) -> dict[str, str]:
    """The variables of the init container."""
    return {entry["name"]: entry["value"] for entry in fetcher(job)["env"] if "value" in entry}


def words(job: JobBuilder) -> str:
    """Why the job is refused; empty if it is not."""
    found = registry.refusal(job.build())
    assert found is None or found[0] == "CodeSourceInvalid"
    return found[1] if found is not None else ""


def test_a_job_that_asks_for_nothing_gets_nothing() -> None:
    """Neither an init container nor a volume."""
    assert {"initContainers", "volumes"} & render(JOB)["spec"].keys() == set()


def test_the_annotation_means_what_it_meant() -> None:
    """Every key of the first KubeDL that carries no password."""
    config = {
        "source": "ssh://git@git.example.org:2222/team/model.git",
        "image": "own:2",
        "rootPath": "/src",
        "destPath": "lib/model",
        "envs": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
        "branch": "dev",
        "revision": "v2",
        "depth": "5",
        "maxFailures": 7,
        "ssh": True,
        "sshFile": "/keys/id",
        "user": "",
        "password": None,
    }
    assert words(annotated(config)) == ""
    variables = told(annotated(config))
    expected = {
        "KUBEDL_GIT_REPOSITORY": config["source"],
        "KUBEDL_GIT_REFS": "v2",
        "KUBEDL_GIT_REVISION": "v2",
        "KUBEDL_GIT_ROOT": "/src",
        "KUBEDL_GIT_DESTINATION": "lib/model",
        "KUBEDL_GIT_DEPTH": "5",
        "KUBEDL_GIT_FAILURES": "7",
        "KUBEDL_GIT_SSH_KEY": "/keys/id",
        "HTTPS_PROXY": "http://proxy:3128",
    }
    assert variables | expected == variables
    assert fetcher(annotated(config))["image"] == "own:2"


def test_what_is_left_out_has_defaults() -> None:
    """The same for both ways to ask."""
    for job in (
        annotated({"source": ADDRESS}),
        annotated({"source": ADDRESS, "depth": "", "maxFailures": 0}),
        sourced(),
    ):
        variables = told(job)
        assert (variables["KUBEDL_GIT_ROOT"], variables["KUBEDL_GIT_DESTINATION"]) == ("/code", "model")
        assert (variables["KUBEDL_GIT_DEPTH"], variables["KUBEDL_GIT_FAILURES"]) == ("1", "3")
        assert (variables["KUBEDL_GIT_REFS"], variables["KUBEDL_GIT_REVISION"]) == ("HEAD", "")
        assert fetcher(job)["image"] == "git:1"


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("", "annotation kubedl.io/git-sync-config: Input data was truncated"),
        ("[]", "Expected `object`"),
        ({}, "missing required field `source`"),
        ({"source": 5}, "Expected `str`, got `int` - at `$.source`"),
        ({"source": ADDRESS, "brnach": "x"}, "unknown field `brnach`"),
        ({"source": ADDRESS, "password": "x"}, "put them into a Secret"),
        ({"source": ADDRESS, "user": "x"}, "put them into a Secret"),
        ({"source": "https://me:x@git.example.org/a"}, "put them into a Secret"),
        ({"source": "https://token@git.example.org/a"}, "put them into a Secret"),
        ({"source": ADDRESS, "depth": "-1"}, "depth: a number of commits"),
        ({"source": ADDRESS, "depth": "x"}, "depth: a number of commits"),
        ({"source": ADDRESS, "maxFailures": -1}, "maxFailures: a number from 1 to 100"),
        ({"source": ADDRESS, "destPath": "../etc"}, "the destination: a directory below rootPath"),
        ({"source": ADDRESS, "destPath": "/etc"}, "the destination: a directory below rootPath"),
        ({"source": ADDRESS, "rootPath": "code"}, "rootPath: an absolute path"),
        ({"source": ADDRESS, "sshFile": "key; reboot"}, "sshFile: an absolute path"),
        ({"source": ADDRESS, "envs": [{"value": "x"}]}, "a variable: Object missing required field `name`"),
        ({"source": ADDRESS, "envs": [{"name": "GIT_SYNC_PASSWORD", "value": "x"}]}, "has no meaning here"),
        ({"source": "https://git.example.org/~me"}, "the destination: a directory below rootPath"),
        ({"source": "https://host/" + "a" * 2048}, "address: it has 2061 characters, and may have 2048"),
        ({"source": ADDRESS, "branch": "a" * 256}, "the branch: it has 256 characters, and may have 255"),
        ({"source": ADDRESS, "image": "a" * 1025}, "the image: it has 1025 characters, and may have 1024"),
        ({"source": ADDRESS, "envs": [{"name": "A"}] * 33}, "there are 33 variables, and may be 32"),
        ({"source": "a" * 65_536}, "it has 65550 characters, and may have 65536"),
        (
            '{"source": "x", "envs": [' + '{"a":' * 5000 + "1" + "}" * 5000 + "]}",
            "annotation kubedl.io/git-sync-config",
        ),
    ],
)
def test_an_annotation_that_cannot_be_honoured_is_refused(config: object, expected: str) -> None:
    """With the place and what to do."""
    assert expected in words(annotated(config))


def test_asked_for_twice_is_refused() -> None:
    """Nobody could say which holds."""
    job = annotated({"source": ADDRESS}).with_spec(codeSource={"repository": ADDRESS})
    assert "code is asked for twice" in words(job)


@pytest.mark.parametrize(
    "address",
    [
        ADDRESS,
        "http://10.0.0.1:3000/x",
        "git://host/x.git",
        "ssh://git@host:22/x.git",
        "ssh://host/~me/x",
        "git@host:team/x.git",
        "host:x",
        "host:/srv/x.git",
        "https://[::1]:8443/x.git",
    ],
)
def test_addresses_that_are_fetched_from(address: str) -> None:
    """git's own ways to write one."""
    assert words(sourced(repository=address, destination="x")) == ""


@pytest.mark.parametrize(
    "address",
    [
        "file:///etc",
        "/srv/x.git",
        "./x",
        "ext::sh -c reboot",
        "ext::sh",
        "--upload-pack=reboot",
        "-uhost:x",
        "host:-x",
        "-oProxyCommand=reboot@host:x",
        "ssh://-oProxyCommand=reboot/x",
        "ssh://git@-oProxyCommand=reboot/x",
        "ftp://host/x",
        "https://host",
        "https://host/x y",
        "https://host/x\n--y",
        "hg::https://host/x",
    ],
)
def test_addresses_that_are_not(address: str) -> None:
    """Options, commands, files of the container, and what is none."""
    assert "must be https://" in words(sourced(repository=address, destination="x"))


@pytest.mark.parametrize("name", ["-x", "--upload-pack=x", "a:b", "+a", "a*", "a b", "a..b~1", "@{u}", "a\n", "$(x)"])
def test_names_that_git_might_take_for_something_else(name: str) -> None:
    """A branch or a revision is a name, and nothing else."""
    for field in ("branch", "revision"):
        assert "a branch, tag or commit" in words(sourced(**{field: name}))


def test_the_pod_security_standard_restricted_is_met() -> None:
    """Whatever the template says; as the user of the main container where it has one."""
    assert fetcher(sourced())["securityContext"] == {
        "runAsUser": 65532,
        "runAsNonRoot": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    for spec, container, expected in (
        ({"runAsUser": 1000}, None, 1000),
        ({"runAsUser": 1000}, {"runAsUser": 2000}, 2000),
        ({"runAsUser": 0}, None, 65532),
        ({"runAsUser": True}, {"runAsUser": "7"}, 65532),
    ):
        main = {"name": "tensorflow", "securityContext": container}
        template = {"spec": {"containers": [{"name": "other"}, main], "securityContext": spec}}
        job = sourced().role("Worker", 2, template=template)
        assert fetcher(job)["securityContext"]["runAsUser"] == expected


def test_it_takes_little_and_no_gpu() -> None:
    """Unless the user says otherwise."""
    main = {"name": "tensorflow", "resources": {"limits": {"nvidia.com/gpu": 8, "memory": "900Gi"}}}
    job = sourced().role("Worker", 2, template={"spec": {"containers": [main]}})
    assert fetcher(job)["resources"]["limits"] == {"cpu": "250m", "memory": "512Mi"}
    assert fetcher(job)["resources"]["requests"] == fetcher(job)["resources"]["limits"]
    assert fetcher(sourced(resources={"limits": {"cpu": "2"}}))["resources"] == {"limits": {"cpu": "2"}}


def test_every_container_finds_the_code_below_its_working_directory() -> None:
    """Or below rootPath; what the template mounts stays."""
    own = {"name": "data", "mountPath": "/data"}
    containers = [{"name": "tensorflow", "workingDir": "/app", "volumeMounts": [own]}, {"name": "log"}]
    spec = {"containers": containers, "volumes": [{"name": "data"}], "initContainers": [{"name": "first"}]}
    made = render(sourced(destination="src").role("Worker", 2, template={"spec": spec}))["spec"]
    mounts = [container["volumeMounts"] for container in made["containers"]]
    assert mounts == [
        [own, {"name": "git-sync", "mountPath": "/app/src", "subPath": "src"}],
        [{"name": "git-sync", "mountPath": "/code/src", "subPath": "src"}],
    ]
    assert made["volumes"] == [{"name": "data"}, {"name": "git-sync", "emptyDir": {}}]
    assert [one["name"] for one in made["initContainers"]] == ["first", "git-sync-code"]


def test_a_secret_is_mounted_for_git_alone() -> None:
    """By its name; no container but the init container sees it."""
    made = render(sourced(secretName="deploy"))["spec"]
    secret = {"secretName": "deploy", "defaultMode": 0o444, "optional": True}
    assert made["volumes"][1] == {"name": "git-sync-secret", "secret": secret}
    assert {"name": "git-sync-secret", "mountPath": "/etc/kubedl/git", "readOnly": True} in made["initContainers"][0][
        "volumeMounts"
    ]
    assert "git-sync-secret" not in json.dumps(made["containers"])


def test_ssh_finds_a_name_for_its_user() -> None:
    """Images have none for most numbers, and ssh refuses to work then."""
    made = render(sourced(repository="git@host:x.git"))
    assert "code:x:65532:65532::/:/bin/sh" in made["metadata"]["annotations"][git_sync.USERS]
    mounts = made["spec"]["initContainers"][0]["volumeMounts"]
    assert [mount["mountPath"] for mount in mounts] == ["/code", "/etc/passwd"]
    assert render(sourced())["metadata"]["annotations"] == {}


def test_the_commit_that_is_written_is_fetched_by_everybody() -> None:
    """Not what the branch has by now."""
    number = "a" * 40
    variables = told(sourced(branch="main").with_status(code_revision=number))
    assert (variables["KUBEDL_GIT_REFS"], variables["KUBEDL_GIT_REVISION"]) == (number, number)
    assert told(sourced(branch="main"))["KUBEDL_GIT_REFS"] == "refs/heads/main refs/tags/main"


def test_nothing_that_was_asked_for_is_part_of_the_command() -> None:
    """Nor is a variable put in the place of what looks like one."""
    job = sourced(repository="https://host/$(SECRET)/x$y.git", revision="a#b", destination="x")
    assert fetcher(job)["command"] == ["sh", "-c", SCRIPT]
    assert told(job)["KUBEDL_GIT_REPOSITORY"] == "https://host/$$(SECRET)/x$$y.git"


HOSTILE = st.text(max_size=20) | st.sampled_from(
    ["-", "--", "ext::", "file://", "$(x)", "`x`", "a@b:", "\x00", "https://"]
)


@given(
    parts=st.lists(HOSTILE, max_size=4), key=st.sampled_from(["source", "branch", "revision", "destPath", "rootPath"])
)
@tried(60)
def test_whatever_gets_through_is_no_option_and_no_second_word(parts: list[str], key: str) -> None:
    """Neither for git nor for the shell, which splits the names of what is to be fetched."""
    job = annotated({"source": ADDRESS, key: "".join(parts)})
    if words(job):
        return
    variables = told(job)
    for name in ("REPOSITORY", "REVISION", "DESTINATION", "ROOT"):
        value = variables[f"KUBEDL_GIT_{name}"]
        assert not value.startswith("-")
        assert re.fullmatch("[!-~]*", value)
    assert all(re.fullmatch(rules.NAME_IN_GIT, name) for name in variables["KUBEDL_GIT_REFS"].split(" "))
    assert ".." not in variables["KUBEDL_GIT_DESTINATION"].split("/")


@given(
    text=st.text(max_size=60)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["source", "envs", "depth", "name", "x"]), inner, max_size=4)
        ),
    ).map(json.dumps)
)
@tried(60)
def test_no_annotation_is_an_error_of_ours(text: str) -> None:
    """It is refused, or a pod is made of it."""
    if not words(annotated(text)):
        render(annotated(text))


def test_a_password_is_not_sent_in_clear_text() -> None:
    """Over http everybody on the way reads it; without a Secret there is nothing to read."""
    assert "would send the password" in words(sourced(repository="http://host/x.git", secretName="deploy"))
    assert words(sourced(repository="http://host/x.git")) == ""
    assert words(sourced(repository="https://host/x.git", secretName="deploy")) == ""


FRAGMENTS = st.lists(st.sampled_from([*":/@.-a0[]+", "://", "a@", "x://", "https://", "/a", "a.", "-a"]), max_size=6)
LENGTHS = st.sampled_from([255, 2048, 60_000, 262_000])


@given(
    start=FRAGMENTS,
    repeated=FRAGMENTS,
    end=FRAGMENTS,
    length=LENGTHS,
    key=st.sampled_from(["source", "branch", "revision", "destPath", "rootPath", "sshFile", "image", "depth"]),
)
@tried(100)
def test_no_annotation_takes_long_to_check(
    start: list[str], repeated: list[str], end: list[str], length: int, key: str
) -> None:
    """An annotation may have 256 KiB, and everybody else's jobs wait while it is checked."""
    middle = "".join(repeated) or ":"
    job = annotated({"source": ADDRESS, key: "".join(start) + middle * (length // len(middle)) + "".join(end)}).build()
    assert processor_time.seconds(lambda: (registry.refusal(job), code_source.revision(job))) < 0.05


def test_a_long_address_is_refused_quickly() -> None:
    """One of colons alone once took minutes, in which the operator lost its lease and ended."""
    for length in (40_000, 250_000):
        job = annotated({"source": "x://" + ":" * length}).build()
        assert processor_time.seconds(partial(registry.refusal, job)) < 0.05
        assert registry.refusal(job) is not None


@given(text=st.text(alphabet="ahtps+:/@", max_size=24) | FRAGMENTS.map("".join))
@tried(100)
def test_credentials_are_found_as_the_api_servers_rule_finds_them(text: str) -> None:
    """The rule is a regular expression, and our own reader is none."""
    for address in (text, f"https://{text}", f"ssh://{text}"):
        assert rules.has_credentials(address) is bool(re.search(rules.CREDENTIALS, address))


def test_a_cluster_that_assigns_users_is_left_to_do_so() -> None:
    """OpenShift refuses a user outside the namespace's range; one that the template names is the author's choice."""
    assert fetcher(sourced())["securityContext"]["runAsUser"] == 65532
    assert "runAsUser" not in fetcher(sourced(), omit_user=True)["securityContext"]
    pod = render(sourced(repository="git@example.org:a/b.git"), omit_user=True)
    assert "kubedl-code-users" not in {one["name"] for one in pod["spec"]["volumes"]}
    assert not any(
        mount["mountPath"] == "/etc/passwd" for one in pod["spec"]["initContainers"] for mount in one["volumeMounts"]
    )
