#!/usr/bin/env python3
"""The program SEVERAL_OF, but served by three processes over one database, behind a balancer: other tests of a server take it
for the program.

  SEVERAL_OF=target/release/entourage ENTOURAGE_TEST_POSTGRES=postgres://... BINARY=tests/services/several.py \\
      bash tests/services/console.sh

Each data directory has a database of its own on that server. Two of the processes answer requests, and two work for agents.
"""

import ctypes, hashlib, json, os, signal, socket, subprocess, sys, time, urllib.parse

from balancer import Balancer

PROGRAM, SERVER = os.path.abspath(os.environ["SEVERAL_OF"]), os.environ["ENTOURAGE_TEST_POSTGRES"]
ROLES = ["all", "api", "worker"]


def database(data):
    """The URL of the database of a data directory, which is made on first use."""
    name = "several_" + hashlib.sha256(os.path.abspath(data).encode()).hexdigest()[:16]
    psql = ["psql", "-X", "-q", "-A", "-t", SERVER, "-c"]
    found = subprocess.run([*psql, f"SELECT 1 FROM pg_database WHERE datname = '{name}'"], capture_output=True, text=True, check=True)
    if not found.stdout.strip():
        subprocess.run([*psql, f"CREATE DATABASE {name}"], check=True)
    return urllib.parse.urlparse(SERVER)._replace(path=f"/{name}").geturl()


def beside(data, n):
    """A data directory of its own with the same files."""
    place = f"{data}.{n}"
    os.makedirs(place, exist_ok=True)
    for name in os.listdir(data) if os.path.isdir(data) else []:
        if not os.path.lexists(f"{place}/{name}"):
            os.symlink(os.path.join(os.path.abspath(data), name), f"{place}/{name}")
    return place


def ends_with_this():
    """A process that is killed leaves none behind, as the program does not."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def serve(words, data):
    """Serves until it is told to end."""
    at = words.index("--bind") + 1
    place = urllib.parse.urlparse(f"//{words[at]}")
    balancer, children = Balancer(place.port), []
    for n, role in enumerate(ROLES):
        port = free_port()
        mine = [*words[:at], f"127.0.0.1:{port}", *words[at + 1 :], "--role", role]
        mine[mine.index("--data") + 1] = beside(data, n) if n else data
        # The first makes the tables, and the first word is its greeting.
        out = subprocess.PIPE if n == 0 else subprocess.DEVNULL
        children.append(subprocess.Popen([PROGRAM, *mine], stdout=out, text=True, preexec_fn=ends_with_this))
        if n == 0:
            greeting = children[0].stdout.readline()
            if not greeting:
                return children[0].wait()
        if role != "worker":
            listens(port)
            balancer.places.append(("127.0.0.1", port))
        else:
            time.sleep(0.5)
    print(greeting.replace(str(balancer.places[0][1]), balancer.url.rsplit(":", 1)[1]), end="", flush=True)
    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, lambda *_: [child.terminate() for child in children])
    return max(child.wait() for child in children)


def listens(port):
    for _ in range(300):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
    sys.exit(f"nothing listens at {port}")


words = sys.argv[1:]
data = words[words.index("--data") + 1] if "--data" in words else None
if data:
    os.environ["ENTOURAGE_STORE"] = database(data)
if data and "serve" in words:
    sys.exit(serve(words, data))
os.execv(PROGRAM, [PROGRAM, *words])
