"""Jobs that are resized while they run, save when they are asked to, and leave nodes that will be taken.

Nothing that the operator runs calls `step` and what it decides with (`deadline`, `ledger`, `membership`, `observing`,
`pace`, `status`, `terms`) yet: which spot and on-demand nodes a job should have.
"""
