"""All rules, in the order in which they are asked within a gate. A gate is one module, a rule is one entry of it."""

from kubedl.why.rule import Rule
from kubedl.why.rules import cron, end, fit, held, image, model, printed, queue, refused, run, serve, volume

ALL: tuple[Rule, ...] = (
    *held.RULES,
    *queue.RULES,
    *refused.RULES,
    *fit.RULES,
    *volume.RULES,
    *image.RULES,
    *printed.RULES,
    *run.RULES,
    *end.RULES,
    *model.RULES,
    *serve.RULES,
    *cron.RULES,
)
