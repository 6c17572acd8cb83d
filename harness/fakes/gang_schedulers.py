"""PodGroups of Volcano and Coscheduling, so that what is made for them is held against their own schemas."""

from harness.fakes.third_party_crds import ForeignKinds

VOLCANO = ForeignKinds(
    "volcano.sh/volcano@v1.14.1",
    "h1:9eLs47iZeLgey6EcA1rHwVkU7HoBNm3UVpJZ4uhFJ7c=",
    "scheduling.volcano.sh",
    ("podgroups",),
    "config/crd/volcano/bases",
)
COSCHEDULING = ForeignKinds(
    "sigs.k8s.io/scheduler-plugins@v0.30.6",
    "h1:P4pViMVoyVNHWmkG96UtJ4LvxkUIeenIUKLZd09vDyw=",
    "scheduling.x-k8s.io",
    ("podgroups",),
)
