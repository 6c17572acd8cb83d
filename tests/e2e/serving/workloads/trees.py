"""Train trees that tell which of three flowers it is, and leave them where the job says, as MLServer reads them."""

import json
import os
from pathlib import Path

import numpy as np  # type: ignore[import-not-found,unused-ignore]
import xgboost  # type: ignore[import-not-found]
from sklearn.datasets import load_iris  # type: ignore[import-not-found]

SETTINGS = {
    "name": "trees",
    "implementation": "mlserver_xgboost.XGBoostModel",
    "parameters": {"uri": "./model.json", "version": "v1"},
}


def main() -> None:
    inputs, kinds = load_iris(return_X_y=True)
    model = xgboost.XGBClassifier(n_estimators=20, max_depth=3, n_jobs=1, random_state=0)
    model.fit(inputs, kinds)
    directory = Path(os.environ["KUBEDL_MODEL_PATH"])
    model.get_booster().save_model(directory / "model.json")
    (directory / "model-settings.json").write_text(json.dumps(SETTINGS))
    print(f"right {np.mean(model.predict(inputs) == kinds):.3f}", flush=True)


if __name__ == "__main__":
    main()
