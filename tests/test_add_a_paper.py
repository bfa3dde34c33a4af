"""docs/ADD_A_PAPER.md, followed word for word."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

PAGE = Path(__file__).parents[1] / "docs" / "ADD_A_PAPER.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def script():
    """The commands and the changes of the page, in their order."""
    for language, text in BLOCK.findall(PAGE.read_text("utf-8")):
        if language == "sh":
            yield text
        elif language == "diff":
            yield f"git apply - <<'END'\n{text}END\n"


def test_the_page_followed_word_for_word(tmp_path):
    commands = "set -eu\n" + "echo '==='\n".join(script())
    done = subprocess.run(
        ["bash", "-c", commands],
        cwd=tmp_path,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert "mteb_ext skips" not in done.stderr
    [file] = (tmp_path / "results").rglob("CookingSTS.json")
    # The word sets' cosines are √.8, 2/3, 2/3, 1/√12, 1/3 and 1, their ranks 5, 3.5, 3.5, 1, 2, 6;
    # the gold scores' ranks are 5, 3, 4, 2, 1, 6: 16 / √(17 · 17.5).
    score = json.loads(file.read_text())["scores"]["test"][0]["main_score"]
    assert score == pytest.approx(16 / math.sqrt(17 * 17.5), abs=1e-6)
    assert "CookingSTS" in done.stdout.rpartition("===")[2]
