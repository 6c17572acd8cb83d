"""CEL rules of what surrounds a training job: code from git, TensorBoard, caches and the storage of its model."""

from kubedl.api import cachebackend
from kubedl.api.training_addons import CHOSEN_ONCE, LONGEST_BOARD_NAME
from kubedl.schema.crd import Rule

STORED_ONCE = "immutable: the storage of the model is mounted by all pods; create a new job"


def addon_rules() -> tuple[Rule, ...]:
    """Return the rules that every kind of job has."""
    return (_code_rule(), _tensorboard_rule(), *_cache_rules(), *_model_rules())


def _code_rule() -> Rule:
    return Rule(
        "has(self.codeSource) == has(oldSelf.codeSource)",
        CHOSEN_ONCE,
        field=".codeSource",
        at="spec",
        reason="FieldValueForbidden",
    )


def _tensorboard_rule() -> Rule:
    return Rule(
        f"!has(self.spec.tensorBoard) || size(self.metadata.name) <= {LONGEST_BOARD_NAME}",
        f"the name of a job with a TensorBoard may have at most {LONGEST_BOARD_NAME} characters; use a shorter name",
        field=".metadata.name",
    )


def _cache_rules() -> tuple[Rule, ...]:
    place = "spec.cacheBackend"
    return (
        Rule(f"has(self.name) && self.name.matches(r'{cachebackend.NAME}')", cachebackend.NO_NAME, ".name", at=place),
        Rule(
            f"has(self.mountPath) && self.mountPath.matches(r'{cachebackend.ABSOLUTE}')",
            cachebackend.NO_PATH,
            ".mountPath",
            at=place,
        ),
        Rule(
            "!has(self.spec.cacheBackend) || !has(self.spec.cacheBackend.name) || "
            "self.spec.cacheBackend.name != self.metadata.name",
            cachebackend.NAME_OF_JOB,
            field=".spec.cacheBackend.name",
        ),
    )


def _model_rules() -> tuple[Rule, ...]:
    """Rules of the model storage: every pod mounts it, so it is immutable; the tag may still change."""
    there = "has(self.modelVersion) == has(oldSelf.modelVersion)"
    both = "has(self.storage) == has(oldSelf.storage)"
    return (
        Rule(there, STORED_ONCE, ".modelVersion", at="spec", reason="FieldValueForbidden"),
        Rule(
            f"{both} && (!has(self.storage) || self.storage == oldSelf.storage)",
            STORED_ONCE,
            ".storage",
            at="spec.modelVersion",
            reason="FieldValueForbidden",
        ),
    )
