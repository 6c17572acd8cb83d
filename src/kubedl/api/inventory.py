"""What an image of a model says of itself, as whoever packs it and whoever loads it agree on it. Imports nothing."""

MODELS = "models"  # the directory that has the model
INVENTORY = "kubedl-files.json"  # beside it: the files by their paths below it, each with its size
SMALL = 1 << 20  # bytes up to which a file's SHA-256 is there too
