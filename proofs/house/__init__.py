"""What is claimed of the code itself: imports, size, the path of a job, and what the docs' search finds."""
