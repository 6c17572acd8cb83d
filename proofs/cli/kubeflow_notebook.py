"""The difference between a notebook for Kubeflow's client and the same notebook for KubeDL's."""

import json

from harness.drivers import kubeflow_notebook


def main() -> None:
    """Print the difference, and how many lines it has."""
    print("\n".join(kubeflow_notebook.difference()))
    print(json.dumps({"changed lines": kubeflow_notebook.lines_changed()}))


if __name__ == "__main__":
    main()
