"""Crons that start no run: from the condition Ready."""

from collections.abc import Callable

from kubedl.why.evidence import Evidence, text_of
from kubedl.why.rule import Gate, Match, Rule, Try


def because(*reasons: str) -> Callable[[Evidence], Match | None]:
    """Return the check of a rule about reasons of a Cron."""

    def when(evidence: Evidence) -> Match | None:
        ready = evidence.condition("Ready")
        if ready.get("reason") not in reasons:
            return None
        values = {"words": text_of(ready, "message"), "reason": text_of(ready, "reason")}
        return Match(
            values | {"schedule": text_of(evidence.spec, "schedule"), "zone": text_of(evidence.spec, "timeZone")}
        )

    return when


_ABOUT = ("cron",)
_EDIT = Try("kubectl edit cron {name} -n {ns}", "change it")
RULES = (
    Rule(
        "cron.suspended",
        Gate.CRON,
        because("CronSuspended"),
        "The schedule is suspended: no run starts.",
        tries=(
            Try(
                "kubedl cron resume {name} -n {ns}",
                "goes on with the next time",
            ),
        ),
        about=_ABOUT,
    ),
    Rule(
        "cron.schedule",
        Gate.CRON,
        because("InvalidSchedule", "InvalidTimeZone", "NeverFires"),
        "The schedule cannot be used: {words}.",
        shows=(("schedule", "{schedule}"), ("zone", "{zone}")),
        tries=(_EDIT,),
        about=_ABOUT,
    ),
    Rule(
        "cron.template",
        Gate.CRON,
        because("InvalidTemplate", "UnknownKind"),
        "The template of the runs cannot be used: {words}.",
        tries=(_EDIT,),
        about=_ABOUT,
    ),
    Rule(
        "cron.deadline",
        Gate.CRON,
        because("DeadlineReached"),
        "The schedule is over: {words}.",
        tries=(_EDIT,),
        about=_ABOUT,
    ),
    Rule(
        "cron.refused",
        Gate.CRON,
        because("RunRefused"),
        "The API server refuses the job of the run: {words}.",
        tries=(_EDIT,),
        about=_ABOUT,
    ),
    Rule(
        "cron.waiting",
        Gate.CRON,
        because("WaitingForRun", "ReplacingRun"),
        "A run is due and waits for the one before it: {words}.",
        shows=(("schedule", "{schedule}"),),
        tries=(Try("kubectl get cron {name} -n {ns} -o yaml", "status.active has the runs"),),
        about=_ABOUT,
    ),
    Rule(
        "cron.missed",
        Gate.CRON,
        because("RunMissed", "ClockSetBack"),
        "The last run was not started: {words}.",
        shows=(("schedule", "{schedule}"),),
        about=_ABOUT,
    ),
)
