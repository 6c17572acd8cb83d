"""The web console: one process that shows jobs to people, each with their own Kubernetes rights."""
