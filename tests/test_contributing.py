"""The examples of ``docs/contributing.md`` run, from top to bottom."""

import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "contributing.md"


def test_the_examples_run(tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) > 6
    program = tmp_path / "examples.py"
    program.write_text("\n".join(blocks))
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "shrunk_sign_backward" in done.stdout


def test_files_that_the_page_names_exist():
    named = re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.py|[a-z_]+/(?:[a-z_]+/)*)`", PAGE.read_text())
    root = PAGE.parents[1]
    assert len(named) > 10
    for name in named:
        assert (root / name).exists() or (root / "numbagrad" / name).exists(), name
