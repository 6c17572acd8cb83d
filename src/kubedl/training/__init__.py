"""The job engine: observe, plan, apply; and the kinds of jobs that it runs."""
