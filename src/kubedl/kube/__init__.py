"""A client of the Kubernetes API: who we are, how we ask, and what the answers mean."""
