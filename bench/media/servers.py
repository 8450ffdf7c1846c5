# SPDX-License-Identifier: MPL-2.0
"""The measured file servers: how each is built, configured, started and asked for its CPU time."""

import contextlib
import dataclasses
import glob
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(FOLDER))
sys.path.insert(1, os.path.join(os.path.dirname(FOLDER), "stream"))

import runner  # noqa: E402

OUTPUT_DIR = os.path.join(runner.BUILD_DIR, "media")
SPRING_JAR = os.path.join(OUTPUT_DIR, "spring", "media-1.jar")
START_SECONDS_MAX = 60
BUILD_SECONDS_MAX = 900
PROBED_FILE = "small-0.bin"
CLIENT_LIBRARIES = ("-lssl", "-lcrypto")


@dataclasses.dataclass(frozen=True)
class Server:
    name: str
    description: str
    command: object  # Takes a Site and returns the command.
    needs: tuple = ()  # Programs that must be there.
    prefix: str = "/"  # Of the paths of files.
    has_tls: bool = True
    is_java: bool = False  # Is compiled while it runs, so it needs load before it is measured.
    build: object = None


@dataclasses.dataclass(frozen=True)
class Site:
    """What a server is to serve, and where."""

    port: int
    files: str
    folder: str  # Of the server's own, temporary files.
    is_secure: bool
    certificate: str
    key: str
    zlink: str


# --- zlink ---


def _zlink_command(site):
    scheme = "https" if site.is_secure else "http"
    command = [site.zlink, "serve", site.files, "--listen", f"{scheme}://127.0.0.1:{site.port}"]
    command += ["--threads", "1"]
    if site.is_secure:
        command += ["--tls-cert", site.certificate, "--tls-key", site.key]
    return command


# --- nginx ---

# One worker as zlink has one I/O thread; limits and caches as guides to nginx recommend for files.
# tcp_nopush is one of these recommendations, but on loopback it costs nginx up to twice the CPU time,
# so there is a server with and one without it. With pieces of at most 512 KiB nginx takes half the
# CPU time for ranges of 1 MiB that it takes with its default of 2 MiB. With TLS it reads into buffers
# of 32 KiB, of which larger ones are no faster, unless the kernel encrypts (KTLS).
NGINX_CONFIGURATION = """
daemon off;
worker_processes 1;
worker_rlimit_nofile 20000;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{
    use epoll;
    worker_connections 16384;
    multi_accept on;
}}
http {{
    access_log off;
    default_type application/octet-stream;
    sendfile on;
    sendfile_max_chunk 512k;
    tcp_nopush {nopush};
    tcp_nodelay on;
    keepalive_timeout 75s;
    keepalive_requests 1000000000;
    reset_timedout_connection on;
    open_file_cache max=1000 inactive=1h;
    open_file_cache_valid 1h;
    open_file_cache_min_uses 1;
    open_file_cache_errors on;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} backlog=4096{ssl};
        root {files};
        {certificate}
    }}
}}
"""
NGINX_CERTIFICATE = """ssl_certificate {certificate};
        ssl_certificate_key {key};
        ssl_protocols TLSv1.3;
        ssl_session_cache shared:tls:10m;
        ssl_conf_command Options KTLS;"""


def _nginx_command(nopush):
    def command(site):
        certificate = ""
        if site.is_secure:
            certificate = NGINX_CERTIFICATE.format(certificate=site.certificate, key=site.key)
        path = os.path.join(site.folder, "nginx.conf")
        with open(path, "w", encoding="utf-8") as target:
            target.write(NGINX_CONFIGURATION.format(
                folder=site.folder, port=site.port, files=site.files, nopush=nopush,
                certificate=certificate, ssl=" ssl" if site.is_secure else "",
            ))
            # The worker of a master that is root changes to a user who may not see the files.
            target.write("" if os.geteuid() else "user root;\n")
        return ["nginx", "-p", site.folder, "-e", os.path.join(site.folder, "error.log"), "-c", path]

    return command


# --- Java ---


def _java(*arguments):
    return ["java", "-Xms512m", "-Xmx2g", *arguments]


def _plain_command(mode):
    def command(site):
        classes = os.path.join(OUTPUT_DIR, "java")
        return _java("-cp", classes, "PlainServer", str(site.port), site.files, mode)

    return command


def _spring_command(site):
    command = _java("-jar", SPRING_JAR, f"--server.port={site.port}", f"--media.folder={site.files}")
    if site.is_secure:
        command += [f"--server.ssl.certificate=file:{site.certificate}",
                    f"--server.ssl.certificate-private-key=file:{site.key}",
                    "--server.ssl.enabled-protocols=TLSv1.3"]
    return command


def _is_fresh(target, sources):
    return os.path.exists(target) and os.path.getmtime(target) > max(map(os.path.getmtime, sources))


def _run_build(command, needs):
    print(f"building: {' '.join(command[:2])}", file=sys.stderr)
    try:
        built = subprocess.run(command, capture_output=True, text=True, check=False,
                               timeout=BUILD_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        raise runner.RunFailed(f"{command[0]} took too long") from None
    if built.returncode != 0:
        told = " ".join((built.stdout + built.stderr).split())[-runner.STDERR_KEPT_BYTES:]
        raise runner.RunFailed(f"{needs}: {told}")


def _build_plain():
    source = os.path.join(FOLDER, "java", "PlainServer.java")
    classes = os.path.join(OUTPUT_DIR, "java")
    if not _is_fresh(os.path.join(classes, "PlainServer.class"), [source]):
        _run_build(["javac", "--release", "17", "-d", classes, source], "javac failed")


def _build_spring():
    project = os.path.join(FOLDER, "spring")
    sources = [path for path in glob.glob(os.path.join(project, "**"), recursive=True)
               if os.path.isfile(path)]
    if not _is_fresh(SPRING_JAR, sources):
        _run_build(
            ["mvn", "-q", "-B", "-f", os.path.join(project, "pom.xml"), "package",
             f"-Doutput.folder={os.path.dirname(SPRING_JAR)}"],
            "Maven could not build the Spring Boot server",
        )


SERVERS = {
    server.name: server
    for server in (
        Server("nginx", "nginx, one worker, sendfile", _nginx_command("off"), ("nginx",)),
        # With TLS nginx uses no sendfile, and therefore no tcp_nopush.
        Server("nginx-nopush", "the same with tcp_nopush", _nginx_command("on"), ("nginx",),
               has_tls=False),
        Server("zlink", "zlink serve, one I/O thread", _zlink_command),
        Server("spring", "Spring Boot, ResourceRegion", _spring_command, ("java", "mvn"), "/region/",
               is_java=True, build=_build_spring),
        Server("spring-transfer", "Spring Boot, FileChannel.transferTo", _spring_command,
               ("java", "mvn"), "/transfer/", is_java=True, build=_build_spring),
        Server("java-copy", "plain Java, read and write", _plain_command("copy"), ("java", "javac"),
               has_tls=False, is_java=True, build=_build_plain),
        Server("java-transfer", "plain Java, FileChannel.transferTo", _plain_command("transfer"),
               ("java", "javac"), has_tls=False, is_java=True, build=_build_plain),
    )
}
BASELINE = "nginx"
# A goal is judged against the one of these that is better at its figure and load.
BASELINES = (BASELINE, "nginx-nopush")


# --- running servers ---


def processes_of(parent):
    """The process and its descendants."""
    found = [parent]
    for process in found:
        for path in glob.glob(f"/proc/{process}/task/*/children"):
            with contextlib.suppress(OSError), open(path, encoding="ascii") as children:
                found += [int(word) for word in children.read().split()]
    return found


def cpu_seconds(processes):
    """User and system time that these processes have used, of all their threads."""
    # The clock of another process, as clock_getcpuclockid(3) encodes it: finer than /proc/PID/stat.
    return sum(time.clock_gettime((~process << 3) | 2) for process in processes)


class Running:
    """A server in a process of its own, which accepts connections."""

    def __init__(self, server, arguments, certificate, is_secure):
        self.server = server
        self.is_secure = is_secure
        self.port = runner.free_port()
        self._folder = tempfile.TemporaryDirectory(prefix="zbench-")
        site = Site(self.port, arguments.files, self._folder.name, is_secure, *certificate,
                    arguments.zlink)
        environment = dict(os.environ)
        if server.name == "zlink" and arguments.library:
            environment["LD_LIBRARY_PATH"] = arguments.library
        try:
            self._side = runner.Side(server.name, server.command(site), environment)
        except BaseException:
            self._folder.cleanup()
            raise
        try:
            self._wait_until_it_listens()
            self.processes = processes_of(self._side.pid)
        except BaseException:
            self.close()
            raise

    def path(self, name):
        return self.server.prefix + name

    def why_it_fails(self):
        """What the server has written to its standard error and log, for a message."""
        told = self._side.stderr_tail()
        with contextlib.suppress(OSError), open(
            os.path.join(self._folder.name, "error.log"), encoding="utf-8", errors="replace"
        ) as log:
            told += " " + " ".join(log.read()[-runner.STDERR_KEPT_BYTES:].split())
        return told.strip()

    def is_alive(self):
        return self._side.is_running()

    def close(self):
        self._side.close()
        self._folder.cleanup()

    def _wait_until_it_listens(self):
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline:
            if not self._side.is_running():
                raise runner.RunFailed(f"{self.server.name} ended: {self.why_it_fails()}")
            with contextlib.suppress(OSError), self._connected() as peer:
                # A connection may be accepted by the system alone; an answer comes from the server.
                request = f"GET {self.path(PROBED_FILE)} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
                peer.sendall(request.encode("ascii"))
                answer = peer.recv(64)
                if not answer.startswith(b"HTTP/1.1 200"):
                    raise runner.RunFailed(f"{self.server.name} answers {answer.decode('latin-1')!r}")
                return
            time.sleep(0.02)
        raise runner.RunFailed(f"{self.server.name} does not listen: {self.why_it_fails()}")

    def _connected(self):
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=5)
        if not self.is_secure:
            return plain
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context.wrap_socket(plain)


class Park:
    """The running servers. Those that need no warming up are restarted for each cell, so that their
    placement in memory varies; Java's servers stay."""

    def __init__(self, arguments, certificate):
        self._arguments = arguments
        self._certificate = certificate
        self._running = {}

    def get(self, name, is_secure):
        """The running server, and whether it was started for this call."""
        key = (name, is_secure)
        found = self._running.get(key)
        if found is not None and found.is_alive():
            return found, False
        self.end(name, is_secure)
        self._running[key] = Running(SERVERS[name], self._arguments, self._certificate, is_secure)
        return self._running[key], True

    def end(self, name, is_secure):
        found = self._running.pop((name, is_secure), None)
        if found is not None:
            found.close()

    def end_native(self):
        for name, is_secure in list(self._running):
            if not SERVERS[name].is_java:
                self.end(name, is_secure)

    def close(self):
        for name, is_secure in list(self._running):
            self.end(name, is_secure)


def why_missing(server, arguments):
    """Why a server cannot be measured here, or None; builds it if needed."""
    for program in server.needs:
        if shutil.which(program) is None:
            return f"{program} is not installed"
    if server.name == "zlink" and not os.access(arguments.zlink, os.X_OK):
        return f"{arguments.zlink} is not there; build the release preset, or give --zlink"
    if server.build is not None:
        try:
            server.build()
        except runner.RunFailed as failure:
            return str(failure)
    return None


# --- files ---


def client_program(arguments):
    if arguments.programs:
        return os.path.join(arguments.programs, "load_client")
    return runner.build_binary("load_client", FOLDER, CLIENT_LIBRARIES, "libssl-dev", OUTPUT_DIR)


def make_files(client, folder, sizes_by_name):
    """Makes the files that are missing or of another size, and reads all of them into the page cache."""
    os.makedirs(folder, exist_ok=True)
    for name, size in sizes_by_name.items():
        path = os.path.join(folder, name)
        if not os.path.exists(path) or os.path.getsize(path) != size:
            subprocess.run([client, "--make", path, "--file-size", str(size)], check=True)
        with open(path, "rb", buffering=0) as file:
            block = bytearray(1 << 20)
            while file.readinto(block):
                pass

