"""tls:// with openssl s_client and s_server at the other end."""

import re
import subprocess
import threading

import pytest

from tls_echo import Stream, make_certificates

SECONDS_MAX = 20


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    make_certificates(folder)
    return folder


@pytest.fixture
def identity(certificates):
    return {"CERTIFICATE": certificates / "server.crt", "KEY": certificates / "server.key"}


@pytest.fixture
def bound(candidate_library, identity):
    """Binds a socket that sends each piece back, and returns its port."""

    def bind(**options):
        stream = Stream(candidate_library, **identity, **options)
        port = stream.bind("tls://127.0.0.1:*").rpartition(":")[2]

        def echo():
            while True:
                try:
                    stream.send(*stream.recv())
                except OSError:
                    pass  # The peer is gone.

        threading.Thread(target=echo, daemon=True).start()
        return port

    return bind


def s_client(port, *arguments, said=b"hello\n", awaited=b"hello"):
    """The client's output until it has received `awaited` back, or has ended."""
    command = ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as client:
        timer = threading.Timer(SECONDS_MAX, client.kill)
        timer.start()
        client.stdin.write(said)
        client.stdin.flush()
        printed = b""
        while not printed.endswith(awaited) and (more := client.stdout.read(1)):
            printed += more
        client.kill()
        timer.cancel()
    return printed.decode(errors="replace")


@pytest.mark.parametrize("version", ["tls1_2", "tls1_3"])
def test_s_client_is_served(version, bound, certificates):
    printed = s_client(bound(), f"-{version}", "-CAfile", certificates / "authority.crt", "-verify_return_error")
    assert "Verify return code: 0 (ok)" in printed
    assert printed.endswith("hello")


@pytest.mark.parametrize("version", ["tls1", "tls1_1"])
def test_older_versions_are_refused(version, bound):
    printed = s_client(bound(), f"-{version}", "-cipher", "ALL:@SECLEVEL=0")
    assert "alert protocol version" in printed
    assert not printed.endswith("hello")


def test_only_1_3_is_spoken_if_told_so(bound):
    port = bound(MIN_VERSION=13)
    assert "alert protocol version" in s_client(port, "-tls1_2")
    assert s_client(port, "-tls1_3").endswith("hello")


@pytest.mark.parametrize("cipher", ["AES128-SHA", "ECDHE-ECDSA-AES128-SHA", "AES128-GCM-SHA256", "DHE-RSA-AES128-GCM-SHA256"])
def test_ciphers_without_forward_secrecy_or_authentication_are_refused(cipher, bound):
    assert "alert handshake failure" in s_client(bound(), "-tls1_2", "-cipher", f"{cipher}:@SECLEVEL=0")


@pytest.mark.parametrize("version", ["tls1_2", "tls1_3"])
@pytest.mark.parametrize("is_on", [0, 1])
def test_sessions_are_resumed(version, is_on, bound, tmp_path):
    port = bound(SESSION_RESUMPTION=is_on)
    kept = tmp_path / "session"
    assert "New, TLS" in s_client(port, f"-{version}", "-sess_out", kept)
    if not is_on and not kept.exists():
        return
    again = s_client(port, f"-{version}", "-sess_in", kept)
    assert bool(re.search(r"^Reused, TLS", again, re.M)) == bool(is_on)
    assert again.endswith("hello")


def test_alpn_is_our_choice(bound):
    port = bound(ALPN="two,one")
    assert "ALPN protocol: two" in s_client(port, "-alpn", "one,two,three")
    assert "no application protocol" in s_client(port, "-alpn", "four")
    assert s_client(port).endswith("hello")


def test_a_required_client_certificate(bound, certificates):
    port = bound(CLIENT_CERTIFICATES=2, CA=certificates / "authority.crt")
    shown = ["-cert", certificates / "server.crt", "-key", certificates / "server.key"]
    assert s_client(port, *shown).endswith("hello")
    assert "alert certificate required" in s_client(port, awaited=b"no such text")


@pytest.fixture
def s_server(certificates):
    """Starts a server that sends lines back reversed, and returns its port."""
    running = []

    def start(*arguments):
        command = ["openssl", "s_server", "-accept", "127.0.0.1:0", "-rev", "-cert", certificates / "server.crt"]
        command += ["-key", certificates / "server.key", *arguments]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        running.append(server)
        for line in server.stdout:
            if line.startswith("ACCEPT"):
                return line.rpartition(":")[2].strip()
        raise AssertionError("s_server does not listen")

    yield start
    for each in running:
        each.kill()
        each.wait()


@pytest.mark.parametrize("version", ["tls1_2", "tls1_3"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_s_server_is_reached(version, host, s_server, candidate_library, certificates):
    port = s_server(f"-{version}")
    stream = Stream(candidate_library, CA=certificates / "authority.crt")
    stream.connect(f"tls://{host}:{port}")
    name = stream.routing_id()
    stream.send(name, b"hello\n")
    assert stream.recv() == (name, b"olleh\n")


def test_s_server_with_another_name_is_not_reached(s_server, candidate_library, certificates):
    port = s_server()
    stream = Stream(candidate_library, CA=certificates / "authority.crt", HOSTNAME="example.org")
    stream.set(27, 500)  # RCVTIMEO
    stream.connect(f"tls://127.0.0.1:{port}")
    stream.send(stream.routing_id(), b"hello\n")
    with pytest.raises(OSError):
        stream.recv()
