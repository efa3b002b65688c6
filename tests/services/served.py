"""What tests of whole servers share: a provider whose model takes notes, and the binary that serves."""

import atexit, http.client, http.server, json, os, subprocess, sys, threading, time, urllib.parse

NOTES = 20
# To this message the model does not answer.
DEADLY = "deadly"
KIND = "---\nname: noter\ndescription: Takes notes.\ntools: [create_note]\n---\nTake notes.\n"


class Provider(http.server.BaseHTTPRequestHandler):
    """A model that takes notes, one a turn, and says that it is done."""

    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        job = next(m for m in request["messages"] if m["role"] == "user")["content"].splitlines()[-1]
        if job == DEADLY:
            self.server.deadly += 1
            time.sleep(600)
        taken = sum(m["role"] == "tool" for m in request["messages"])
        if taken < self.server.notes:
            arguments = json.dumps({"title": f"{job} {taken}", "content": "kept " * 200})
            function = {"name": "create_note", "arguments": arguments}
            delta = {"tool_calls": [{"index": 0, "id": f"c{taken}", "type": "function", "function": function}]}
        else:
            delta = {"content": "Done."}
        time.sleep(self.server.pause)
        chunks = [
            {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if taken < self.server.notes else "stop"}]},
        ]
        body = "".join(f"data: {json.dumps(dict(chunk, id='1', object='chat.completion.chunk', created=1, model='fake'))}\n\n" for chunk in chunks)
        body = (body + "data: [DONE]\n\n").encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.send_error(404)

    def log_message(self, *_):
        pass


class Server:
    """The binary, serving a data directory."""

    def __init__(self, binary, data, provider, settings="", serve=(), inside=(), **more):
        os.makedirs(f"{data}/kinds")
        with open(f"{data}/kinds/noter.md", "w") as file:
            file.write(KIND)
        with open(f"{data}/entourage.toml", "w") as file:
            file.write(
                f'[models]\ndefault = "compatible::fake"\n[models.providers.compatible]\nbase_url = "{provider}/v1"\n'
                '[models.profiles."compatible::fake"]\nnative_tools = true\ncontext_window = 1000000\n'
                + settings
            )
        self.data = data
        # Not on the disk of the data, which a test may take away.
        self.logged = f"{os.path.dirname(os.path.dirname(data))}/{os.path.basename(data)}.log"
        self.log = open(self.logged, "w")
        command = [*inside, binary, "--data", data, "serve", "--bind", "127.0.0.1:0", "--json", *serve]
        self.environment = {"PATH": os.environ["PATH"], **more}
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, env=self.environment)
        atexit.register(self.child.kill)
        greeting = self.child.stdout.readline()
        if not greeting:
            raise SystemExit(f"FAILED: no server: {self.said()}")
        self.greeting = json.loads(greeting)
        # One that only works for agents answers no requests.
        self.place = urllib.parse.urlparse(self.greeting.get("url", "")).netloc

    def ask(self, method, path, body=None, **headers):
        """The status, and the JSON of the answer; none where there was no answer in half a minute."""
        connection = http.client.HTTPConnection(self.place, timeout=30)
        try:
            headers = {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
            connection.request(method, path, json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text else None
        except TimeoutError:
            return None, None
        finally:
            connection.close()

    def every(self, path):
        """All rows of a list."""
        rows, cursor = [], ""
        while True:
            status, page = self.ask("GET", f"{path}{'&' if '?' in path else '?'}limit=200{cursor}")
            assert status == 200, (status, page)
            rows += page["data"]
            if not page.get("next_cursor"):
                return rows
            cursor = f"&cursor={page['next_cursor']}"

    def said(self):
        """The log."""
        with open(self.logged) as file:
            return file.read()

    def stop(self):
        self.child.terminate()
        self.child.wait(30)
        self.log.close()


class Watcher(threading.Thread):
    """Follows one tree at a process, as a browser does."""

    def __init__(self, node, agent):
        super().__init__(daemon=True)
        self.numbers, self.pieces, self.ended = [], 0, False
        connection = http.client.HTTPConnection(node.place, timeout=120)
        connection.request("GET", f"/v1/agents/{agent}/events", headers={"Accept": "text/event-stream"})
        self.answer = connection.getresponse()
        assert self.answer.status == 200, self.answer.status
        self.start()

    def run(self):
        name = None
        for line in self.answer:
            line = line.decode().rstrip("\n")
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("id: "):
                self.numbers.append(int(line[4:]))
            elif line.startswith("data: "):
                self.pieces += name == "delta"
                data = json.loads(line[6:])
                if "succeeded" in line and data.get("event") == "agent_status":
                    self.ended = True
                    return


def within(seconds, what, test):
    """Waits until a test gives something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := test():
            return found
        time.sleep(0.2)
    raise SystemExit(f"FAILED: {what}: not within {seconds} s")


class Providers(http.server.ThreadingHTTPServer):
    """Serves the provider to processes that may be killed."""

    # How often it was asked for what it does not answer.
    deadly = 0
    # It does not refuse those who come at once.
    request_queue_size = 256

    def handle_error(self, *whence):
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(*whence)


def provider(host="127.0.0.1", port=0, notes=NOTES, pause=0.05):
    """Starts a provider, and returns it with its address."""
    server = Providers((host, port), Provider)
    server.notes, server.pause = notes, pause
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://{host}:{server.server_port}"


def script(*words):
    """Runs one of the scripts beside this one."""
    return subprocess.run(["bash", f"{os.path.dirname(os.path.abspath(__file__))}/{words[0]}", *words[1:]], capture_output=True, text=True)
