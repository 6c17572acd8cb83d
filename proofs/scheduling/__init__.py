"""How the claims about gangs and queues are measured, on real schedulers and the real Kueue."""
