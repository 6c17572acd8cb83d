"""Jobs on spot nodes: which pool each replica belongs to, and when on-demand nodes help.

`planning` calls the rest in each pass: `observing` makes a situation of what is seen and remembered, `choosing`
decides, `assignment` sends replicas to pools, `reporting` says it. All of it is pure; its memory is the job's status.
"""
