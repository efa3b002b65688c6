"""Processes on machines of their own, between which the network is cut without a word, and whose services freeze.

  partitions.py BINARY FOLDER database|restate

Run in a network namespace of its own, which is the machine of the process that answers requests. While agents work, each
pair is cut for FAULT seconds, the database and Restate are frozen for as long, and the clock of a worker is wrong. After
that all runs succeed, no note is lost or doubled, a watcher has seen every event once and in order, and agents of a node
that is cut off from what delivers their work have gone on at another one meanwhile."""

import contextlib, glob, json, os, signal, subprocess, sys, threading, time, urllib.parse

from served import NOTES, Server, Watcher, within

BINARY, FOLDER, DISPATCH = sys.argv[1:]
BY_RESTATE = DISPATCH == "restate"
HERE = os.path.dirname(os.path.abspath(__file__))
FAULT = 15
CLOCK = f"{FOLDER}/{{}}.clock"
# Debian's package `faketime`; without it no clock is changed.
FAKETIME = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
# An agent whose node is cut off goes on at another one within this.
TAKEN_OVER = 13 if BY_RESTATE else 14
MACHINES = ["api", "one", "two", "postgres", "restate", "model"]
ADDRESS = {name: f"10.77.{n}.2" for n, name in enumerate(MACHINES, 1)}


def run(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, **more)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
    return done.stdout


def inside(name):
    """Before the words of a command that runs on this machine."""
    return [] if name == "api" else ["ip", "netns", "exec", f"{name}-{os.getpid()}"]


def machines():
    """Each machine has a network with the router alone."""
    run("ip", "link", "set", "lo", "up")
    router = f"router-{os.getpid()}"
    run("ip", "netns", "add", router)
    run("ip", "netns", "exec", router, "sysctl", "-qw", "net.ipv4.ip_forward=1")
    for name, address in ADDRESS.items():
        network, there = address.rsplit(".", 1)[0], inside(name)
        if there:
            run("ip", "netns", "add", there[3])
        run("ip", "link", "add", "way", "type", "veth", "peer", "name", name, "netns", router)
        if there:
            run("ip", "link", "set", "way", "netns", there[3])
        run(*there, "ip", "address", "add", f"{address}/24", "dev", "way")
        for device in ("lo", "way"):
            run(*there, "ip", "link", "set", device, "up")
        run("ip", "netns", "exec", router, "ip", "address", "add", f"{network}.1/24", "dev", name)
        run("ip", "netns", "exec", router, "ip", "link", "set", name, "up")
        run(*there, "ip", "route", "add", "default", "via", f"{network}.1")
        if not there:
            run("ip", "link", "set", "way", "name", "way-api")
    return router


def cut(one, other, action="add"):
    """Drops packets between the two silently."""
    for source, target in ((one, other), (other, one)):
        rule = ["from", ADDRESS[source], "to", ADDRESS[target], "blackhole"]
        run("ip", "netns", "exec", ROUTER, "ip", "rule", action, *rule)


def tell(name, what):
    """Sends a signal to all processes of a machine, of which some may end meanwhile."""
    for pid in run("ip", "netns", "pids", inside(name)[3]).split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), what)


def set_clock(seconds):
    """The clock of the machine with the worker goes off by so much."""
    with open(CLOCK.format(ADDRESS["worker"]), "w") as file:
        file.write(f"{seconds:+d}")


def faults():
    """What happens, how it begins and ends, and whether the worker's agents go on elsewhere meanwhile."""
    ways = [("worker", "other"), ("api", "worker"), ("worker", "postgres"), ("api", "postgres")]
    if BY_RESTATE:
        ways += [("worker", "restate"), ("api", "restate")]
    for one, other in ways:
        # What delivers its work to a node, and what it writes to.
        leaves = one == "worker" and other in ("postgres", "restate")
        yield f"{one} and {other} cut", lambda: cut(one, other), lambda: cut(one, other, "del"), leaves
    for name in ["postgres", "restate"] if BY_RESTATE else ["postgres"]:
        yield f"{name} frozen", lambda: tell(name, signal.SIGSTOP), lambda: tell(name, signal.SIGCONT), False
    for off in (3600, -3600) if FAKETIME else ():
        yield f"clock {off:+d} s", lambda: set_clock(off), lambda: set_clock(0), False


def started(name, script):
    environment = {**os.environ, "ADDRESS": ADDRESS[name]}
    return run(*inside(name), "bash", f"{HERE}/{script}", "start", env=environment).split()


def sql(statement, database=None):
    place = urllib.parse.urlparse(STORE)
    place = place._replace(path=f"/{database}") if database else place
    return run("psql", "-qAtX", "-v", "ON_ERROR_STOP=1", place.geturl(), "-c", statement).strip()


def node(name, role):
    more = {
        "ENTOURAGE_STORE": STORE,
        "ENTOURAGE_CLUSTER__LISTEN": f"{ADDRESS[name]}:4181",
        "ENTOURAGE_DISPATCH__PER_OWNER": "64",
    }
    if BY_RESTATE:
        more |= {
            "ENTOURAGE_DISPATCH__BY": "restate",
            "ENTOURAGE_DISPATCH__RESTATE__INGRESS": INGRESS,
            "ENTOURAGE_DISPATCH__RESTATE__ADMIN": ADMIN,
            "ENTOURAGE_DISPATCH__RESTATE__LISTEN": f"{ADDRESS[name]}:4182",
        }
    if FAKETIME and role == "worker":
        ADDRESS["worker"] = ADDRESS[name]
        set_clock(0)
        more |= {
            "LD_PRELOAD": FAKETIME[0],
            "FAKETIME_TIMESTAMP_FILE": CLOCK.format(ADDRESS[name]),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
    return Server(BINARY, f"{FOLDER}/data/{name}", MODEL, serve=["--role", role], inside=inside(name), **more)


class Load(threading.Thread):
    """Begins a run every quarter of a second, each under its key until it is taken."""

    def __init__(self, name):
        super().__init__(daemon=True)
        self.name, self.jobs, self.agents, self.has_ended = name, [], [], False
        self.start()

    def run(self):
        while not self.has_ended:
            job = f"{self.name} {len(self.jobs)}"
            self.jobs.append(job)
            self.agents.append(self.begin(job))
            time.sleep(0.25)

    def begin(self, job):
        body, key = {"kind": "noter", "message": job}, job.replace(" ", "-")
        while True:
            try:
                status, answer = api.ask("POST", "/v1/agents", body, Idempotency_Key=key)
            except OSError:
                continue
            if status == 201:
                return answer["id"]
            assert status in (None, 503), (status, answer)
            time.sleep(0.5)

    def end(self):
        self.has_ended = True
        self.join(60)
        assert not self.is_alive(), "a run was not taken"


def at_work(name):
    id = sql(f"SELECT id FROM nodes WHERE address = '{ADDRESS[name]}:4181'")
    return int(sql(f"SELECT count(*) FROM agents WHERE status = 'running' AND node = '{id}'")) if id else 0


def all_succeeded():
    rows = {row["id"]: row["status"] for row in api.every("/v1/agents")}
    lost = [id for id in agents if rows[id] in ("failed", "cancelled")]
    assert not lost, f"a run was lost: {api.ask('GET', f'/v1/agents/{lost[0]}/why')[1]['text']}"
    return all(rows[id] == "succeeded" for id in agents)


os.makedirs(f"{FOLDER}/data")
ROUTER = machines()
provider = f"from served import provider; import sys; print(provider({ADDRESS['model']!r}, 8000)[1], flush=True); sys.stdin.read()"
model = subprocess.Popen([*inside("model"), sys.executable, "-c", provider], cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
MODEL = model.stdout.readline().strip()
store, = started("postgres", "postgres.sh")
STORE = store.replace("127.0.0.1", ADDRESS["postgres"])
if BY_RESTATE:
    INGRESS, ADMIN = started("restate", "restate.sh")
jobs, agents = [], []
try:
    sql("CREATE DATABASE apart")
    STORE = urllib.parse.urlparse(STORE)._replace(path="/apart").geturl()
    api = node("api", "api")
    workers = {name: node(name, "worker") for name in ("one", "two")}
    if BY_RESTATE:
        places = [f"{ADDRESS[name]}:4182" for name in workers]
        balancer = subprocess.Popen(
            [*inside("restate"), sys.executable, f"{HERE}/balancer.py", f"{ADDRESS['restate']}:4180", *places], stdin=subprocess.PIPE
        )
        uri = ["--restate-admin", ADMIN, "--restate-uri", f"http://{ADDRESS['restate']}:4180"]
        time.sleep(1)
        run(BINARY, "--data", api.data, "migrate", *uri, env=api.environment)
    for what, begin, end, leaves_worker in faults():
        load = Load(what)
        # Restate may call one of the two alone.
        worker = within(30, "work is under way", lambda: next(filter(at_work, workers), None))
        ADDRESS["worker"], ADDRESS["other"] = (ADDRESS[name] for name in sorted(workers, key=lambda name: name != worker))
        watcher = Watcher(api, load.agents[-1])
        left, began = at_work(worker), time.monotonic()
        begin()
        if leaves_worker:
            within(TAKEN_OVER, "agents of a node that is cut off go on", lambda: at_work(worker) == 0)
            print(f"{what}: {left} agents at work there, none after {time.monotonic() - began:.1f} s")
        time.sleep(max(0, began + FAULT - time.monotonic()))
        end()
        ended = time.monotonic()
        load.end()
        jobs += load.jobs
        agents += load.agents
        within(90, "every run succeeds", all_succeeded)
        within(60, "the watcher sees the end", lambda: watcher.ended)
        assert watcher.numbers == list(range(1, len(watcher.numbers) + 1)), watcher.numbers
        print(f"{what} for {FAULT} s: {len(load.jobs)} runs, all succeeded {time.monotonic() - ended:.1f} s after that")
    notes = sorted(note["title"] for note in api.every("/v1/notes"))
    wanted = sorted(f"{job} {n}" for job in jobs for n in range(NOTES))
    assert notes == wanted, f"notes lost or doubled: {len(notes)} instead of {len(wanted)}"
    found = subprocess.run([BINARY, "--data", api.data, "doctor", "--json", "--offline"], capture_output=True, text=True, env=api.environment)
    wrong = [line for line in map(json.loads, found.stdout.splitlines()) if line["state"] == "broken"]
    assert not wrong, wrong
    print(f"{DISPATCH}: {len(agents)} runs succeeded, {len(notes)} notes, none lost or doubled")
finally:
    run(*inside("postgres"), "bash", f"{HERE}/postgres.sh", "stop", store)
    if BY_RESTATE:
        run(*inside("restate"), "bash", f"{HERE}/restate.sh", "stop", INGRESS)
