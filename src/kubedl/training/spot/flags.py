"""The flag of the operator about jobs on spot nodes."""

from argparse import ArgumentParser, ArgumentTypeError

from kubedl.training.spot.pools import Pool, parse_pools


def add_flags(parser: ArgumentParser) -> None:
    """Add what pools of nodes there are."""
    parser.add_argument(
        "--pools",
        type=_pools,
        default="",
        help="pools of nodes that jobs may name in spec.spot, as a JSON list: each has a name and a nodeSelector, spot "
        "(whether its nodes may be taken), and optional tolerations, noticeSeconds (120) and startSeconds (300: from "
        "asking for a node until its pod runs); without pools a job with spec.spot is refused",
    )


def _pools(text: str) -> tuple[Pool, ...]:
    try:
        return parse_pools(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
