"""Rules of a job's life, one per file: pure functions of what was observed and the time."""
