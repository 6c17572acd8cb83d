"""The layout of a model image, shared by packer and loader. Imports nothing."""

MODELS = "models"  # the directory with the model
INVENTORY = "kubedl-files.json"  # next to it: the files by their relative paths, each with its size
SMALL = 1 << 20  # bytes; smaller files have a SHA-256 too
