"""Inference serving: predictors, traffic weights and rollouts."""
