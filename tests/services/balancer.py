"""A TCP balancer before processes that come and go, for tests."""

import itertools, socket, threading


class Balancer:
    """Connects whoever comes to one of the ports at which somebody listens, each in turn."""

    def __init__(self, port=0):
        self.ports, self.turns = [], itertools.count()
        self.socket = socket.create_server(("127.0.0.1", port), backlog=128)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.socket.accept()
            threading.Thread(target=self.connect, args=(client,), daemon=True).start()

    def connect(self, client):
        ports, turn = list(self.ports), next(self.turns)
        for n in range(len(ports)):
            try:
                server = socket.create_connection(("127.0.0.1", ports[(turn + n) % len(ports)]), timeout=5)
            except OSError:
                continue
            server.settimeout(None)
            threading.Thread(target=copy, args=(server, client), daemon=True).start()
            return copy(client, server)
        client.close()


def copy(source, target):
    """Copies until one of the two is gone, and takes the other along."""
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
