"""Where files come from: the data folder, downloads with all that can go wrong, the samples."""

from __future__ import annotations

import errno
import hashlib
import http.server
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

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


class Host:
    """What a web server on this machine answers with; counts the requests."""

    def __init__(self):
        self.content = CONTENT
        self.requests = 0
        self.stop = threading.Event()

    def answer(self, request):
        request.send_response(200 if request.path == f"/{KEY}" else 404)
        request.send_header("Content-Length", str(len(self.content)))
        request.end_headers()
        request.wfile.write(self.content)

    def promise(self, request, length):
        request.send_response(200)
        request.send_header("Content-Length", str(length))
        request.end_headers()


@pytest.fixture
def host(monkeypatch, pinned):
    """A web server in the place of the public one."""
    host = Host()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            host.requests += 1
            host.answer(self)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setattr(sources, "HOST", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setattr(sources, "_ATTEMPTS", 1)
    yield host
    host.stop.set()
    server.shutdown()
    server.server_close()


def files_below(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def put(path, content=CONTENT):
    path.parent.mkdir(parents=True)
    path.write_bytes(content)


def test_a_missing_file_is_fetched_once(pinned, host):
    assert UpstreamFiles.file(REPOSITORY, NAME) == pinned
    assert pinned.read_bytes() == CONTENT
    UpstreamFiles.file(REPOSITORY, NAME)
    assert host.requests == 1


def test_a_file_with_the_right_hash_is_never_fetched(pinned, host):
    put(pinned)
    assert UpstreamFiles.file(REPOSITORY, NAME) == pinned
    assert host.requests == 0


@pytest.mark.parametrize("content", [CONTENT[:-3], b"", b"something else\n"])
def test_a_damaged_file_is_an_error_and_is_left_alone(pinned, host, content):
    put(pinned, content)
    with pytest.raises(DataError, match="not the file that the protocol names") as caught:
        UpstreamFiles.file(REPOSITORY, NAME)
    assert str(pinned) in str(caught.value)
    assert "Delete it, and the next run" in str(caught.value)
    assert pinned.read_bytes() == content
    assert host.requests == 0


def short(host, request):
    host.promise(request, len(CONTENT))
    request.wfile.write(CONTENT[:-3])


def silent(host, request):
    host.promise(request, len(CONTENT))
    request.wfile.flush()
    host.stop.wait(5)


def dripping(host, request):
    host.promise(request, 1000)
    while not host.stop.wait(0.02):
        request.wfile.write(b"x")


def endless(host, request):
    request.send_response(200)
    request.end_headers()
    while not host.stop.is_set():
        request.wfile.write(b"x" * 1000)


def web_page(host, request):
    host.content = b"<html>please log in</html>"
    Host.answer(host, request)


def refusing(host, request):
    request.send_error(429)


def closing(host, request):
    request.connection.close()


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (short, "IncompleteRead.*Check the network"),
        (silent, "ReadTimeout.*Check the network"),
        (dripping, r"the host has sent \d+ bytes in 0 s: too slow"),
        (endless, "the host sends more than 5000 bytes"),
        (web_page, "the host sent another file .*proxy or a login page"),
        (refusing, "the host answers with status 429"),
        (
            closing,
            "fetched from [^ ]+: RemoteDisconnected: Remote end closed.*Check the network",
        ),
    ],
)
def test_a_failed_download_says_why_and_leaves_nothing_behind(
    pinned, host, monkeypatch, fault, message
):
    monkeypatch.setattr(sources, "DOWNLOAD_LIMIT", 5000)
    monkeypatch.setattr(sources, "DOWNLOAD_SECONDS", 0.3)
    monkeypatch.setattr(sources, "_SILENCE_SECONDS", 0.5)
    monkeypatch.setattr(host, "answer", lambda request: fault(host, request))
    start = time.monotonic()
    with pytest.raises(OfflineError, match=message) as caught:
        UpstreamFiles.file(REPOSITORY, NAME)
    assert time.monotonic() - start < 3
    assert "Try again, or point MTEB_EXT_DATA at a folder" in str(caught.value)
    assert caught.value.__cause__ is None  # no chain of the network libraries' tracebacks
    assert caught.value.__suppress_context__
    assert not files_below(pinned.parents[4])


def test_the_next_run_fetches_what_the_last_one_could_not(pinned, host):
    host.content = CONTENT[:-3]
    with pytest.raises(OfflineError, match="another file"):
        UpstreamFiles.file(REPOSITORY, NAME)
    host.content = CONTENT
    assert UpstreamFiles.file(REPOSITORY, NAME).read_bytes() == CONTENT


def test_a_lost_connection_is_tried_again(pinned, host, monkeypatch):
    monkeypatch.setattr(sources, "_ATTEMPTS", 3)
    whole = host.answer
    monkeypatch.setattr(
        host,
        "answer",
        lambda request: short(host, request) if host.requests < 3 else whole(request),
    )
    assert UpstreamFiles.file(REPOSITORY, NAME).read_bytes() == CONTENT
    assert host.requests == 3


def test_a_redirect_is_followed(pinned, host, monkeypatch):
    whole = host.answer

    def answer(request):
        if request.path == f"/{KEY}" and host.requests == 1:
            request.send_response(302)
            request.send_header("Location", f"/{KEY}")
            request.end_headers()
        else:
            whole(request)

    monkeypatch.setattr(host, "answer", answer)
    assert UpstreamFiles.file(REPOSITORY, NAME).read_bytes() == CONTENT


def test_a_fetched_file_has_the_rights_of_any_new_file(pinned, host, tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    fetched = UpstreamFiles.file(REPOSITORY, NAME)
    assert fetched.stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "the disk is full"),
        (PermissionError(errno.EACCES, "Permission denied"), "cannot be written: .*denied"),
        (OSError(errno.EROFS, "Read-only file system"), "cannot be written: .*Read-only"),
    ],
)
def test_a_folder_that_takes_no_file_is_no_fault_of_the_network(
    pinned, host, monkeypatch, fault, message
):
    def half_written(path, content):
        with path.open("wb") as file:
            file.write(content[:3])
        raise fault

    monkeypatch.setattr(Path, "write_bytes", half_written)
    with pytest.raises(DataError, match=message) as caught:
        UpstreamFiles.file(REPOSITORY, NAME)
    assert not isinstance(caught.value, OfflineError)
    assert "network" not in str(caught.value)
    assert not files_below(pinned.parents[4])


@pytest.mark.slow
def test_many_fetch_the_same_file_at_once(pinned, host):
    everyone = threading.Barrier(8)
    found = []

    def fetch():
        everyone.wait()
        found.append(UpstreamFiles.file(REPOSITORY, NAME).read_bytes())

    threads = [threading.Thread(target=fetch) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [CONTENT] * 8
    assert files_below(pinned.parents[4]) == [pinned]


@pytest.mark.process
def test_processes_that_fetch_at_once_and_are_killed_at_ten_moments(pinned, host, monkeypatch):
    asked = [threading.Event() for _ in range(10)]

    def dribbling(request):
        asked[host.requests - 1].set()
        host.promise(request, len(CONTENT))
        for place in range(len(CONTENT)):
            if host.stop.wait(0.01):
                return
            request.wfile.write(CONTENT[place : place + 1])

    whole = host.answer
    monkeypatch.setattr(host, "answer", dribbling)
    code = (
        "from mteb_ext.data import sources\n"
        f"sources.HOST = {sources.HOST!r}\n"
        f"sources.registry = lambda: {sources.registry()!r}\n"
        "print('ready', flush=True)\n"
        "input()\n"
        f"sources._fetch({KEY!r})\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [
        subprocess.Popen([sys.executable, "-c", code], env=dict(os.environ), **pipes)
        for _ in range(10)
    ]
    for moment, process in enumerate(processes):
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("\n")
        process.stdin.flush()
        assert asked[moment].wait(60)
        time.sleep(moment * 0.012)  # from the first byte to after the last
        process.kill()
        process.communicate()
        left = files_below(pinned.parents[4])
        assert [path for path in left if path.suffix != ".part"] in ([], [pinned])
        assert not pinned.exists() or pinned.read_bytes() == CONTENT
    monkeypatch.setattr(host, "answer", whole)
    assert UpstreamFiles.file(REPOSITORY, NAME).read_bytes() == CONTENT


@pytest.mark.parametrize("variable", sources.OFFLINE_VARIABLES)
def test_fetching_can_be_forbidden(pinned, host, monkeypatch, variable):
    monkeypatch.setenv(variable, "1")
    with pytest.raises(OfflineError, match="fetching is off") as caught:
        UpstreamFiles.file(REPOSITORY, NAME)
    assert "MTEB_EXT_DATA" in str(caught.value)
    assert host.requests == 0
    put(pinned)
    assert UpstreamFiles.file(REPOSITORY, NAME) == pinned


def test_no_network_is_an_error_that_says_what_to_do(pinned, monkeypatch):
    monkeypatch.setattr(sources, "HOST", "http://127.0.0.1:9/")
    with pytest.raises(OfflineError, match=r"Check the network.* or point MTEB_EXT_DATA") as caught:
        UpstreamFiles.file(REPOSITORY, NAME)
    assert str(caught.value).count("127.0.0.1") == 1


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
    assert host.requests == 0


def test_the_shipped_registry():
    registry = sources.registry()
    assert list(registry) == sorted(registry)
    assert len(registry) > 100
    assert all(
        len(digest) == 64 and len(key.split("/")[2]) == 40 for key, digest in registry.items()
    )


def test_samples_stand_under_the_upstream_names():
    path = SampleFiles.file("any/repository/commit", "WikiQACorpus/WikiQA-test.tsv")
    assert path.is_file()


@pytest.mark.parametrize("kind", ["folder", "loop", "dangling"])
def test_something_else_in_the_place_of_a_file(pinned, host, kind):
    pinned.parent.mkdir(parents=True)
    if kind == "folder":
        pinned.mkdir()
    else:
        pinned.symlink_to(pinned if kind == "loop" else "nowhere")
    said = "is a folder" if kind == "folder" else "is a broken link"
    with pytest.raises(DataError, match=f"{NAME} {said}"):
        UpstreamFiles.file(REPOSITORY, NAME)
    assert host.requests == 0
    (sources.data_folder() / "mine").symlink_to("mine")
    with pytest.raises(DataError, match="mine is a broken link") as raised:
        UpstreamFiles.own("mine", "Ask the authors.")
    assert not isinstance(raised.value, DataNotProvidedError)
