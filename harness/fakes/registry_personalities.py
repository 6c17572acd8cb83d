"""How registries differ from the OCI distribution specification, and from one another, as data for the stand-in.

A personality is one line for each of its quirks, and each quirk names where it was reported or documented. What is not
said is as the specification has it. A new registry, or a new quirk of a known one, is a line here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal

IMAGE_CONFIG = "application/vnd.oci.image.config.v1+json"
MINUTE, HOUR = 60.0, 3600.0


@dataclass(frozen=True)
class Personality:
    """What one registry does differently."""

    name: str
    patch_status: int = 202  # its answer to a part of a blob
    range_stands_still: bool = False  # Range counts the first part of a blob only, though all are kept
    upload_status: int = 204  # its answer when it is asked how far an upload is; 404 and 405: it does not tell
    config_types: frozenset[str] = frozenset()  # of manifests that it takes; empty: all
    config_refusal: int = 400  # its answer to others
    login: Literal["", "basic", "bearer"] = ""  # what it asks for
    login_seconds: float = 0.0  # how long a token, or a password that is one, is good
    expired_status: int = 401  # its answer to one that has expired
    expired_words: str = ""  # in plain text
    retag_status: int = 0  # its answer to a tag that is written a second time, whatever the content; 0: it moves
    knows_subjects: bool = False  # has the referrers API, and says so by the header OCI-Subject
    sources: Mapping[str, str] = field(default_factory=dict)  # of each quirk

    @property
    def quirks(self) -> frozenset[str]:
        """The fields that differ from the specification."""
        named = {"name", "sources"}
        return frozenset(
            one.name for one in fields(self) if one.name not in named and getattr(self, one.name) != one.default
        )


ECR = Personality(
    "ECR",
    patch_status=201,
    range_stands_still=True,
    login="basic",
    login_seconds=12 * HOUR,
    expired_status=403,
    expired_words="Your Authorization Token has expired. Please run 'aws ecr get-login' to fetch a new one.",
    retag_status=400,
    knows_subjects=True,
    sources={
        "patch_status": "https://github.com/openai/tart/issues/273",
        "range_stands_still": "https://github.com/aws/containers-roadmap/issues/2831, "
        "that the bytes are kept: https://github.com/crashappsec/chalk/pull/682",
        "login": "https://docs.aws.amazon.com/AmazonECR/latest/userguide/registry_auth.html",
        "login_seconds": "https://docs.aws.amazon.com/AmazonECR/latest/userguide/registry_auth.html",
        "expired_status": "https://github.com/deis/builder/issues/426",
        "expired_words": "https://github.com/deis/builder/issues/426",
        "retag_status": "https://github.com/moby/buildkit/issues/3776, "
        "also of the same content: https://github.com/aws/containers-roadmap/issues/2179",
        "knows_subjects": "https://docs.aws.amazon.com/AmazonECR/latest/userguide/images.html",
    },
)

QUAY = Personality(
    "Quay",
    config_types=frozenset({IMAGE_CONFIG}),
    login="bearer",
    login_seconds=HOUR,
    sources={
        "config_types": "https://github.com/oras-project/oras/issues/738; "
        "ALLOWED_OCI_ARTIFACT_TYPES in the manual of Red Hat Quay adds types",
        "login": "https://github.com/oras-project/oras/issues/738",
        "login_seconds": "REGISTRY_JWT_AUTH_MAX_FRESH_S in https://github.com/quay/quay",
    },
)

GITLAB = Personality(
    "GitLab",
    config_types=frozenset({IMAGE_CONFIG}),
    login="bearer",
    login_seconds=5 * MINUTE,
    sources={
        "config_types": "https://gitlab.com/gitlab-org/container-registry/-/issues/951 and /1679",
        "login": "https://docs.gitlab.com/user/packages/container_registry/authenticate_with_container_registry",
        "login_seconds": "https://docs.gitlab.com/user/packages/container_registry/authenticate_with_container_registry"
        " and https://gitlab.com/gitlab-org/gitlab-ce/issues/19867",
    },
)

HARBOR = Personality(
    "Harbor",
    login="bearer",
    login_seconds=30 * MINUTE,
    retag_status=412,
    knows_subjects=True,
    sources={
        "login": "https://github.com/goharbor/harbor/issues/19413",
        "login_seconds": "https://github.com/goharbor/harbor/issues/19413",
        "retag_status": "https://github.com/goharbor/harbor/blob/main/src/lib/http/error.go (PRECONDITION)",
        "knows_subjects": "https://github.com/goharbor/community/pull/217",
    },
)

IMMUTABLE = Personality(
    "immutable tags without the referrers API (Nexus, Disable Redeploy)",
    retag_status=400,
    sources={"retag_status": "https://github.com/GoogleContainerTools/jib/issues/2395"},
)

PULP = Personality(
    "Pulp",
    patch_status=204,
    sources={"patch_status": "https://github.com/pulp/pulp_container/issues/2199"},
)

OCI_1_0 = Personality(
    "a registry after version 1.0 of the specification, which does not tell how far an upload is",
    upload_status=405,
    login="bearer",
    login_seconds=5 * MINUTE,
    sources={
        "upload_status": "https://github.com/opencontainers/distribution-spec/pull/366",
        "login": "https://distribution.github.io/distribution/spec/auth/token/",
        "login_seconds": "https://github.com/moby/moby/issues/33558",
    },
)

DISTRIBUTION = Personality("distribution")  # has no referrers API; also run for real by the tests of the packer

FIVE = (ECR, QUAY, GITLAB, IMMUTABLE, DISTRIBUTION)
ALL = (*FIVE, HARBOR, PULP, OCI_1_0)
