"""Protocol of controller and packer: the request in an environment variable, the result in the termination message.

Meanwhile the last line of the log has the progress, or an error after which the packer tries again.
"""

import msgspec

ORDER_VARIABLE = "KUBEDL_PACKING_ORDER"
KEY_FILE, PASSWORD_FILE = "cosign.key", "cosign.password"  # of a Secret, and of the directory where it is mounted
RETRYING = "retrying "  # begins such an error in the log
PERMANENT = 2  # exit code of the packer for a permanent failure; any other code except 0 is retryable


class Origin(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Provenance of a model. All of it is known before packing, so that packing again builds the same image."""

    created_by: str = ""
    job_kind: str = ""
    job_name: str = ""
    job_uid: str = ""
    trainer_images: dict[str, str] = {}  # image as written → the same with the digest that ran
    code_repository: str = ""
    code_revision: str = ""
    parent: str = ""  # the model image, by digest, that the training started from


class PackRequest(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Pack one file or directory and push it with one tag."""

    source: str
    repository: str
    tag: str
    namespace: str
    model: str
    version: str
    insecure: bool = False  # plain HTTP, or no verification of the certificate
    credentials: str = ""  # a file in the format of `docker login`, or a directory with the keys of such a Secret
    signing_key: str = ""  # a directory with KEY_FILE and, if it is encrypted, PASSWORD_FILE
    origin: Origin = Origin()


class PackResult(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The result: a digest that the registry has confirmed, or a reason."""

    digest: str = ""
    artifact_digest: str = ""  # the ModelPack manifest of the same blobs
    size: int = 0
    layers_uploaded: int = 0
    layers_reused: int = 0
    bytes_uploaded: int = 0
    signed: bool = False
    not_attached: str = ""  # referrers that the registry rejected, with its error messages
    reason: str = ""  # CamelCase, e.g. TagConflict
    message: str = ""  # the error and how to fix it
