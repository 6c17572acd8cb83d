"""Permissions that the operator needs to run jobs on schedules, each with its reason."""

from collections.abc import Iterable

from kubedl.api.cron import GROUP
from kubedl.api.training import GROUP as TRAINING
from kubedl.schema.grants import READ, Grant


def cron_grants(plurals: Iterable[str]) -> tuple[Grant, ...]:
    """Return the permissions to run jobs of these kinds."""
    return (
        Grant(GROUP, ("crons",), (*READ, "create", "patch"), "Watch Crons; create and update those of jobs."),
        Grant(GROUP, ("crons/status",), ("patch",), "Write the status of Crons."),
        Grant(GROUP, ("crons/finalizers",), ("update",), "Set owner references to Crons with blockOwnerDeletion."),
        Grant(
            TRAINING,
            tuple(plurals),
            ("get", "create", "delete"),
            "Create the runs of Crons, and delete replaced and old ones.",
        ),
    )
