"""Flags of the operator about elastic jobs."""

from argparse import ArgumentParser, ArgumentTypeError

from kubedl.training.elastic import checkpoint_token, notices


def add_flags(parser: ArgumentParser) -> None:
    """Add what tells that a node will be taken, and the key with which programs are asked for checkpoints."""
    parser.add_argument(
        "--reclaim-notices",
        type=_reclaim_notices,
        default=",".join(map(str, notices.SOURCES)),
        help="taints, and conditions (condition:TYPE), that tell that a node will be taken, each with =SECONDS until "
        "then if that is known; elastic jobs with checkpoint leave such nodes; none: no taint or condition tells it",
    )
    parser.add_argument(
        "--checkpoint-key-file",
        type=_checkpoint_key,
        default="",
        help="file with 32 random bytes as base64, from which the operator derives how it proves itself when it asks "
        "programs for checkpoints; without it pods of elastic jobs with checkpoint are not created",
    )


def _reclaim_notices(text: str) -> tuple[notices.Source, ...]:
    try:
        return notices.parse_sources(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def _checkpoint_key(file: str) -> bytes:
    try:
        return checkpoint_token.key_from(file) if file else b""
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
