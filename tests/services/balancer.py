"""A TCP balancer before processes that come and go, for tests; by itself: `balancer.py HOST:PORT HOST:PORT ...` listens at the
first address, until its input ends."""

import itertools, socket, sys, threading


class Balancer:
    """Connects whoever comes to one of the places at which somebody listens, each in turn."""

    def __init__(self, port=0, host="127.0.0.1"):
        self.places, self.turns = [], itertools.count()
        self.socket = socket.create_server((host, port), backlog=128)
        self.url = f"http://{host}:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.socket.accept()
            threading.Thread(target=self.connect, args=(client,), daemon=True).start()

    def connect(self, client):
        places, turn = list(self.places), next(self.turns)
        for n in range(len(places)):
            try:
                server = socket.create_connection(places[(turn + n) % len(places)], timeout=5)
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


if __name__ == "__main__":
    (host, port), *places = [place.rsplit(":", 1) for place in sys.argv[1:]]
    Balancer(int(port), host).places += [(host, int(port)) for host, port in places]
    sys.stdin.read()
