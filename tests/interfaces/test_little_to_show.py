"""`vsbo show` and `vsbo importance` of studies that have little to show: said kindly, and no failure of the command."""

import json

import pytest

from tests.pictures.common import POOR, poor
from vsbo.interfaces.cli import _main

SAID = {
    "empty": ("none yet", "there are 0\n", "No evaluation has finished yet."),
    "one": ("1.0 (trial 0)\n", "there is 1\n", "There is no model of the values yet."),
    "failures": ("9, of which 9 failed", "there are 0, and 9 failures", "Every evaluation failed."),
    "equal": ("2.0 (trial 0); all values are equal", "all values are equal", "All 16 values are equal."),
}


@pytest.mark.parametrize("kind", POOR)
def test_a_study_with_little_to_show_says_so(tmp_path, capsys, kind):
    path = str(tmp_path / "study.db")
    with poor(path, kind) as study:
        shown, important, told = SAID[kind]
        assert study.history().sentences[-1] == told
        assert len(study.history().records()) == 1
        assert len(study.importance().records()) == 10
    assert _main(["show", path]) == 0
    text = capsys.readouterr().out
    assert shown in text
    assert "selected     all variables" in text
    assert _main(["importance", path]) == 0
    text = capsys.readouterr().out
    assert text.startswith("nothing is known yet: ")
    assert important in text
    for command in ("show", "importance"):
        assert _main([command, path, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)
