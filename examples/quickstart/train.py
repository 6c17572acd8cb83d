"""Learn to read digits that are drawn badly, and write the model to the directory that KubeDL gives."""

import json
import math
import os
import random
from pathlib import Path

from digits import SHAPES, points
from model import Weights, probabilities

STEPS, RATE, NOISE = 6000, 0.1, 0.08


def main() -> None:
    random.seed(0)
    shapes = [points(shape) for shape in SHAPES]
    weights: Weights = [[0.0] * (len(shapes[0]) + 1) for _ in SHAPES]
    loss = 0.0
    for step in range(1, STEPS + 1):
        label = random.randrange(len(SHAPES))
        drawing = [abs(point - (random.random() < NOISE)) for point in shapes[label]]
        found = probabilities(weights, drawing)
        loss += (-math.log(found[label]) - loss) * 0.01
        for digit, row in enumerate(weights):
            wrong = found[digit] - (digit == label)
            for place, point in enumerate([*drawing, 1.0]):
                row[place] -= RATE * wrong * point
        if step % 2000 == 0:
            print(f"step {step}: loss {loss:.3f}", flush=True)
    place = Path(os.environ["KUBEDL_MODEL_PATH"]) / "digits.json"
    place.write_text(json.dumps(weights))
    print(f"wrote {place}", flush=True)


if __name__ == "__main__":
    main()
