from __future__ import annotations

import hashlib
import http.server
import threading

import pytest

from mteb_ext import DataError, DataNotProvidedError, OfflineError
from mteb_ext.data import sources
from mteb_ext.data.sources import SampleFiles, UpstreamFiles

CONTENT = b"one\ttwo\n"
REPOSITORY, NAME = "owner/repository/0123abc", "folder/file.tsv"
KEY = f"{REPOSITORY}/{NAME}"


@pytest.fixture
def pinned(monkeypatch, tmp_path):
    """A registry of one file, and an empty data folder."""
    monkeypatch.setenv("MTEB_EXT_DATA", str(tmp_path / "data"))
    for variable in sources.OFFLINE_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    digest = hashlib.sha256(CONTENT).hexdigest()
    monkeypatch.setattr(sources, "registry", lambda: {KEY: digest})
    return tmp_path / "data" / KEY


@pytest.fixture
def host(monkeypatch, pinned):
    """A web server on this machine in the place of the public one; counts the requests."""
    served = {"content": CONTENT, "requests": 0}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            served["requests"] += 1
            self.send_response(200 if self.path == f"/{KEY}" else 404)
            self.send_header("Content-Length", str(len(served["content"])))
            self.end_headers()
            self.wfile.write(served["content"])

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setattr(sources, "HOST", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setattr(sources, "_RETRIES", 0)
    yield served
    server.shutdown()
    server.server_close()


def put(path, content=CONTENT):
    path.parent.mkdir(parents=True)
    path.write_bytes(content)


def test_a_missing_file_is_fetched_once(pinned, host):
    assert UpstreamFiles.file(REPOSITORY, NAME) == pinned
    assert pinned.read_bytes() == CONTENT
    UpstreamFiles.file(REPOSITORY, NAME)
    assert host["requests"] == 1


def test_a_file_with_the_right_hash_is_never_fetched(pinned, host):
    put(pinned)
    assert UpstreamFiles.file(REPOSITORY, NAME) == pinned
    assert host["requests"] == 0


@pytest.mark.parametrize("content", [CONTENT[:-3], b"", b"something else\n"])
def test_a_damaged_file_is_an_error_and_is_left_alone(pinned, host, content):
    put(pinned, content)
    with pytest.raises(DataError, match="not the file that the protocol names") as caught:
        UpstreamFiles.file(REPOSITORY, NAME)
    assert str(pinned) in str(caught.value)
    assert "Delete or replace it" in str(caught.value)
    assert pinned.read_bytes() == content
    assert host["requests"] == 0


@pytest.mark.parametrize("served", [CONTENT[:-3], b"<html>not found</html>"])
def test_a_wrong_download_leaves_nothing_behind(pinned, host, served):
    host["content"] = served
    with pytest.raises(OfflineError, match="could not be fetched"):
        UpstreamFiles.file(REPOSITORY, NAME)
    assert not [path for path in pinned.parent.rglob("*") if path.is_file()]
    host["content"] = CONTENT
    assert UpstreamFiles.file(REPOSITORY, NAME).read_bytes() == CONTENT


@pytest.mark.parametrize("variable", sources.OFFLINE_VARIABLES)
def test_fetching_can_be_forbidden(pinned, host, monkeypatch, variable):
    monkeypatch.setenv(variable, "1")
    with pytest.raises(OfflineError, match="fetching is off") as caught:
        UpstreamFiles.file(REPOSITORY, NAME)
    assert "MTEB_EXT_DATA" in str(caught.value)
    assert host["requests"] == 0
    put(pinned)
    assert UpstreamFiles.file(REPOSITORY, NAME) == pinned


def test_no_network_is_an_error_that_says_what_to_do(pinned, monkeypatch):
    monkeypatch.setattr(sources, "HOST", "http://127.0.0.1:9/")
    monkeypatch.setattr(sources, "_RETRIES", 0)
    with pytest.raises(OfflineError, match="Check the network, or point MTEB_EXT_DATA"):
        UpstreamFiles.file(REPOSITORY, NAME)


def test_a_read_only_data_folder_works(pinned, host):
    put(pinned)
    pinned.chmod(0o444)
    pinned.parent.chmod(0o555)
    try:
        assert UpstreamFiles.file(REPOSITORY, NAME).read_bytes() == CONTENT
    finally:
        pinned.parent.chmod(0o755)


def test_a_folder_that_cannot_be_made_is_an_error(pinned, host):
    pinned.parents[3].parent.mkdir(parents=True, exist_ok=True)
    pinned.parents[3].write_text("a file where the data folder should be")
    with pytest.raises(DataError, match="cannot be written"):
        UpstreamFiles.file(REPOSITORY, NAME)


def test_data_of_ones_own(pinned):
    with pytest.raises(DataNotProvidedError, match=r"qabot does not exist\. Ask the authors"):
        UpstreamFiles.own("qabot", "Ask the authors.")
    folder = sources.data_folder() / "qabot"
    folder.mkdir(parents=True)
    assert UpstreamFiles.own("qabot", "Ask the authors.") == folder


def test_without_the_variable_the_data_folder_is_the_platforms_cache(monkeypatch):
    monkeypatch.delenv("MTEB_EXT_DATA", raising=False)
    assert sources.data_folder().name == "mteb_ext"


def test_a_file_that_is_not_pinned_is_an_error(pinned, host):
    with pytest.raises(DataError, match=r"owner/other/1/file is not in registry\.txt"):
        UpstreamFiles.file("owner/other/1", "file")
    assert host["requests"] == 0


def test_the_shipped_registry():
    registry = sources.registry()
    assert len(registry) == 137
    assert all(
        len(digest) == 64 and len(key.split("/")[2]) == 40 for key, digest in registry.items()
    )


def test_samples_stand_under_the_upstream_names():
    path = SampleFiles.file("any/repository/commit", "WikiQACorpus/WikiQA-test.tsv")
    assert path.is_file()
