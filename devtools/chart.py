"""The parts of the chart that follow from the code: CRDs, rights, the board, a value for each flag of the operator."""

import json
from pathlib import Path

import yaml

from devtools.dashboard import dashboard
from devtools.flags import OF_THE_CHART, Flag, flags, rules
from devtools.history_dashboard import HISTORY_BOARD
from kubedl.entrypoints.manifests import chart_files

CHART = "chart"
DIRECTORIES = ("crds", "rbac")  # below the chart's `files`; they hold nothing that is written by hand
OWN_DEFAULTS = {"--packer-image": ("", "the image of this chart")}  # and how the comment puts it
BEGIN, END = "# Flags of the operator, written by `make generate`.\n", "# End of flags.\n"


def generated(deploy: Path) -> dict[str, str]:
    """Every file by its name below deploy/, and its text; files that are half ours keep their other half."""
    chart = deploy / CHART
    chosen = [flag for flag in flags() if flag.name not in OF_THE_CHART]
    return {
        **{f"{CHART}/files/{name}": text for name, text in chart_files().items()},
        f"{CHART}/files/dashboard.json": dashboard(),
        f"{CHART}/files/dashboard-history.json": dashboard(HISTORY_BOARD, "kubedl-history", "KubeDL history"),
        f"{CHART}/files/flags.yaml": yaml.safe_dump({flag.key: flag.name for flag in chosen}),
        f"{CHART}/values.yaml": values(_text(chart / "values.yaml"), chosen),
        f"{CHART}/values.schema.json": schema(_text(chart / "values.schema.json"), chosen),
    }


def values(text: str, chosen: list[Flag]) -> str:
    """The values with the part about flags written anew."""
    before, _, rest = text.partition(BEGIN)
    lines = ["operator:\n"]
    for flag in chosen:
        said = flag.help + (f" ({' or '.join(flag.choices)})" if flag.choices else "")
        default, meaning = OWN_DEFAULTS.get(flag.name, (flag.default, ""))
        lines += [
            f"  # {said}{f' (default: {meaning})' if meaning else ''}\n",
            f"  {flag.key}: {json.dumps(default)}\n",
        ]
    return f"{before}{BEGIN}{''.join(lines)}{END}{rest.partition(END)[2]}"


def schema(text: str, chosen: list[Flag]) -> str:
    """The schema of the values with the part about flags written anew."""
    whole = json.loads(text or '{"properties": {}}')
    whole["properties"]["operator"] = {
        "type": "object",
        "description": "Flags of the operator.",
        "additionalProperties": False,
        "properties": {flag.key: flag.schema() for flag in chosen},
        "allOf": rules(),
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""
