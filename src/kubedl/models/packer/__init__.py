"""The packer, which runs in the build pod: builds an image from a file or directory, without a daemon or root."""
