"""Placement wishes: pods apart or close together, and an order of node pools."""
