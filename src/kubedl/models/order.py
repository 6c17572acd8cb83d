"""What the controller asks of the packer, by an environment variable, and what the packer answers by its last words."""

import msgspec

ORDER_VARIABLE = "KUBEDL_PACKING_ORDER"
KEY_FILE, PASSWORD_FILE = "cosign.key", "cosign.password"  # of a Secret, and of the directory where it is mounted
PERMANENT = 2  # the packer's exit code when trying again would not help; any other than 0 may be tried again


class Origin(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Where a model comes from. All of it was known before packing, so that packing again gives the same image."""

    created_by: str = ""
    job_kind: str = ""
    job_name: str = ""
    job_uid: str = ""
    trainer_images: dict[str, str] = {}  # image as written → with its digest, as it ran
    code_repository: str = ""
    code_revision: str = ""
    parent: str = ""  # the model image, by digest, that the training started from


class Order(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Pack one file or directory and push it under one tag."""

    source: str
    repository: str
    tag: str
    namespace: str
    model: str
    version: str
    insecure: bool = False  # plain HTTP, or a certificate that nobody signed
    credentials: str = ""  # a file as `docker login` writes it, or a directory with the files of such a Secret
    signing_key: str = ""  # a directory with KEY_FILE and, if it is encrypted, PASSWORD_FILE
    origin: Origin = Origin()


class Answer(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """How it ended: a digest that the registry was asked for and has, or a reason."""

    digest: str = ""
    artifact_digest: str = ""  # the ModelPack manifest over the same blobs
    size: int = 0
    layers_uploaded: int = 0
    layers_reused: int = 0
    bytes_uploaded: int = 0
    signed: bool = False
    not_attached: str = ""  # what the registry refused of that which refers to the image, and its words
    reason: str = ""  # CamelCase, e.g. TagConflict
    message: str = ""  # what is wrong and what to do
