"""From a finished job to a model image: Models, ModelVersions, and the packer that runs in the build pod."""
