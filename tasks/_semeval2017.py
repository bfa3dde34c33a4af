"""What the tasks of SemEval-2017 Task 1 share."""

from __future__ import annotations

COMMIT = "b4cd273eb2c6cc0de34ebeffebd12ebf155ecff6"
DATASET = {"path": "eduardofv/sts_eval", "revision": COMMIT}
REPOSITORY = f"eduardofv/sts_eval/{COMMIT}/data"
