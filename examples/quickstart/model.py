"""A model without any library: ten sums of weighted points, of which the largest is the digit (softmax regression)."""

import math

Weights = list[list[float]]  # one row for each digit; the last number of a row is its bias


def probabilities(weights: Weights, points: list[float]) -> list[float]:
    """How sure the model is of each digit."""
    sums = [row[-1] + sum(weight * point for weight, point in zip(row, points, strict=False)) for row in weights]
    powers = [math.exp(number - max(sums)) for number in sums]
    return [power / sum(powers) for power in powers]
