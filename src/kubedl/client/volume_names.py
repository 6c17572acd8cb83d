"""Names of the volumes with which this client gives files to pods. Commands that look for them load nothing else."""

FILES = "kubedl-files"  # the code of a job
CONFIG_FILES = "kubedl-config-files"  # single files
