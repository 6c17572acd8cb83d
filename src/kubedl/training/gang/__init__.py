"""Gang scheduling: the pods of a job start together, or wait together without holding resources."""
