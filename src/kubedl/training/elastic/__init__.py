"""Jobs that are resized while they run, save when they are asked to, and leave nodes that will be taken.

`training.spot` calls `deadline`, with `terms` and `pace`. Nothing that the operator runs calls `step` and what else it
decides with (`ledger`, `membership`, `observing`, `status`) yet: who trains, where nodes are ready before others go.
"""
