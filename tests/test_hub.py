"""torch.hub: models of a folder, and files of ``file:`` URLs."""

import hashlib
import os

import pytest

import numbagrad as torch
from numbagrad import hub

SOURCE = """
import torch_hub_part
dependencies = ["json"]
def net(width, bias=True):
    "A layer."
    return torch_hub_part.make(width, bias)
def _hidden():
    pass
"""
PART = """
import numbagrad as torch
def make(width, bias):
    return torch.nn.Linear(width, 1, bias=bias)
"""


def test_models_of_a_folder(tmp_path):
    (tmp_path / "hubconf.py").write_text(SOURCE)
    (tmp_path / "torch_hub_part.py").write_text(PART)
    net = hub.load(str(tmp_path), "net", 3, bias=False, source="local")
    assert repr(net) == repr(torch.nn.Linear(3, 1, bias=False))
    assert hub.list(str(tmp_path), source="local") == ["net"]
    assert hub.help(str(tmp_path), "net", source="local") == "A layer."
    with pytest.raises(RuntimeError, match="Cannot find callable nothing"):
        hub.load(str(tmp_path), "nothing", source="local")
    with pytest.raises(NotImplementedError, match="source='local'"):
        hub.load("somebody/something", "net")


@pytest.fixture
def checkpoint(tmp_path):
    torch.save({"weight": torch.ones(2)}, tmp_path / "a b.pth")
    content = (tmp_path / "a b.pth").read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return (tmp_path / "a b.pth").rename(tmp_path / f"a b-{digest[:8]}.pth"), digest


def test_state_dicts_of_file_urls(checkpoint, tmp_path, monkeypatch):
    path, _ = checkpoint
    monkeypatch.setattr(hub, "_dir", str(tmp_path / "hub"))
    found = hub.load_state_dict_from_url(path.as_uri(), check_hash=True)
    assert found["weight"].tolist() == [1, 1]
    copy = tmp_path / "hub" / "checkpoints" / path.name
    assert copy.read_bytes() == path.read_bytes()
    path.unlink()  # from now on the copy is read
    again = hub.load_state_dict_from_url(path.as_uri(), map_location="cpu", progress=False)
    assert again["weight"].tolist() == [1, 1]
    again = hub.load_state_dict_from_url(f"https://example.org/{path.name}")
    assert again["weight"].tolist() == [1, 1]


def test_downloads(checkpoint, tmp_path):
    path, digest = checkpoint
    hub.download_url_to_file(path.as_uri(), str(tmp_path / "x"), hash_prefix=digest[:10])
    assert (tmp_path / "x").read_bytes() == path.read_bytes()
    with pytest.raises(RuntimeError, match="invalid hash value"):
        hub.download_url_to_file(path.as_uri(), str(tmp_path / "y"), hash_prefix="123xyz")
    for url in ("https://example.org/x.pth", "file://elsewhere/x.pth"):
        with pytest.raises(NotImplementedError, match="nothing is fetched from a network"):
            hub.download_url_to_file(url, str(tmp_path / "y"))
    with pytest.raises(FileNotFoundError):
        hub.download_url_to_file((tmp_path / "z").as_uri(), str(tmp_path / "y"))
    assert sorted(os.listdir(tmp_path)) == sorted([path.name, "x"])
