"""Processes of the binary that share a database of a PostgreSQL server, and Restate if there is one."""

import json, os, socket, subprocess, urllib.parse, urllib.request

from balancer import Balancer
from served import Server


class Database:
    """One database of a server."""

    def __init__(self, server, name):
        self.server, self.name = server, name

    @classmethod
    def create(cls, server, name):
        """A new one, which is empty."""
        cls(server, "postgres").ask(f"CREATE DATABASE {name}")
        return cls(server, name)

    @property
    def url(self):
        return urllib.parse.urlparse(self.server)._replace(path=f"/{self.name}").geturl()

    def ask(self, statement):
        """What a statement returns, as text."""
        words = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", self.url, "-c", statement]
        done = subprocess.run(words, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


class Restate:
    """A Restate, and the name under which it reaches the processes that work."""

    def __init__(self, ingress, admin):
        self.ingress, self.admin, self.balancer = ingress, admin, Balancer()

    def register(self, node):
        """Tells it where the processes are."""
        done = node.command("migrate", "--restate-admin", self.admin, "--restate-uri", self.balancer.url)
        assert done.returncode == 0, done.stderr


class Node(Server):
    """One of the processes."""

    def __init__(self, binary, folder, name, role, at, database, restate=None, **more):
        os.makedirs(f"{folder}/data", exist_ok=True)
        self.binary, self.database = binary, database
        more |= {"ENTOURAGE_STORE": database.url, "ENTOURAGE_CLUSTER__PROBES": "127.0.0.1:0"}
        if restate:
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            more |= {
                "ENTOURAGE_DISPATCH__BY": "restate",
                "ENTOURAGE_DISPATCH__RESTATE__INGRESS": restate.ingress,
                "ENTOURAGE_DISPATCH__RESTATE__ADMIN": restate.admin,
                "ENTOURAGE_DISPATCH__RESTATE__LISTEN": f"127.0.0.1:{port}",
            }
        super().__init__(binary, f"{folder}/data/{name}", at, serve=["--role", role], **more)
        if restate and role != "api":
            restate.balancer.places.append(("127.0.0.1", port))
        if role == "worker":
            for path, sign in (("readyz", ""), ("metrics", "entourage_")):
                assert sign in self.probe(path), path
            # Now, since a crash of the server empties the table.
            self.id = database.ask(f"SELECT id FROM nodes WHERE address = '{self.greeting['nodes']}'")

    def probe(self, path):
        """What a worker says of itself."""
        with urllib.request.urlopen(f"{self.greeting['probes']}/{path}", timeout=10) as answer:
            return answer.read().decode()

    def at_work(self):
        """How many agents work there."""
        return int(self.database.ask(f"SELECT count(*) FROM agents WHERE status = 'running' AND node = '{self.id}'"))

    def command(self, *words, data=None):
        """A command in its data directory, or in one of its own."""
        return subprocess.run([self.binary, "--data", data or self.data, *words], capture_output=True, text=True, env={**self.environment})

    def wrong(self):
        """What `doctor` finds broken."""
        found = [json.loads(line) for line in self.command("doctor", "--json", "--offline").stdout.splitlines()]
        return [f"{line['what']}: {line['text']}" for line in found if line["state"] == "broken"]
