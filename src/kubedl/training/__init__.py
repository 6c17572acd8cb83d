"""The job engine: observe, plan, apply; and the kinds of job that it runs."""
