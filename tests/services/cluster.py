#!/usr/bin/env python3
"""Several processes that share a database, and what happens to them.

  cluster.py BINARY POSTGRES FOLDER RUNS [INGRESS ADMIN]

POSTGRES is the address of a server; a database of its own is made there. INGRESS and ADMIN are those of a Restate, which
delivers wake-ups then instead of the database. One process answers requests, two work for agents. While RUNS agents take
twenty notes each, one of the two that work is killed and another one frozen (SIGSTOP) for longer than its lease, and let
go on; all connections to the database are ended, its server crashes and is away for five seconds, Restate is killed and
an empty one takes its place, and a process that works leaves in order. Of all this it must hold: every run succeeds,
each note was taken once, a watcher at the process that answers sees every event of its tree in order and the text as it
comes, a deletion is over once it is answered, agents of a dead process go on within 15 seconds, with Restate within five,
and `doctor` finds what is wrong, and nothing where nothing is. One of the two has a single connection to write with, and
one to read. With Restate, a run that ends each process at which it works is ended in time; without, a backup that was
made while agents worked is restored, and goes on.
"""

import http.client, json, os, signal, socket, subprocess, sys, threading, time, urllib.parse, urllib.request

from balancer import Balancer
from served import DEADLY, NOTES, Server, Watcher, provider, within

BINARY, POSTGRES, FOLDER, RUNS = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
INGRESS, ADMIN = sys.argv[5:] or (None, None)
# A node is counted on for ten seconds after its last sign of life.
LEASE, TAKEN_OVER = 10, 5 if INGRESS else 15


def sql(statement, database="postgres"):
    """What a statement returns, as text."""
    url = urllib.parse.urlparse(POSTGRES)._replace(path=f"/{database}").geturl()
    done = subprocess.run(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", url, "-c", statement], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


class Node(Server):
    """One of the processes."""

    def __init__(self, name, role, at, **more):
        os.makedirs(f"{FOLDER}/data", exist_ok=True)
        more |= {"ENTOURAGE_STORE": STORE, "ENTOURAGE_CLUSTER__PROBES": "127.0.0.1:0"}
        if INGRESS:
            port = free_port()
            more |= {
                "ENTOURAGE_DISPATCH__BY": "restate",
                "ENTOURAGE_DISPATCH__RESTATE__INGRESS": INGRESS,
                "ENTOURAGE_DISPATCH__RESTATE__ADMIN": ADMIN,
                "ENTOURAGE_DISPATCH__RESTATE__LISTEN": f"127.0.0.1:{port}",
            }
        super().__init__(BINARY, f"{FOLDER}/data/{name}", at, serve=["--role", role], **more)
        if INGRESS and role != "api":
            BALANCER.places.append(("127.0.0.1", port))
        if role == "worker":
            for path, sign in (("readyz", ""), ("metrics", "entourage_")):
                with urllib.request.urlopen(f"{self.greeting['probes']}/{path}", timeout=10) as answer:
                    assert sign in answer.read().decode(), path
            # Now, since a crash of the server empties the table.
            self.id = sql(f"SELECT id FROM nodes WHERE address = '{self.greeting['nodes']}'", DATABASE)

    def at_work(self):
        """How many agents work there."""
        return int(sql(f"SELECT count(*) FROM agents WHERE status = 'running' AND node = '{self.id}'", DATABASE))

    def command(self, *words, data=None):
        """A command in its data directory, or in one of its own."""
        return subprocess.run([BINARY, "--data", data or self.data, *words], capture_output=True, text=True, env={**self.environment})


def script(*words):
    """Runs one of the scripts beside this one."""
    return subprocess.run(["bash", f"{os.path.dirname(os.path.abspath(__file__))}/{words[0]}", *words[1:]], capture_output=True, text=True)


def register(node):
    """Tells Restate where the processes are."""
    done = node.command("migrate", "--restate-admin", ADMIN, "--restate-uri", BALANCER.url)
    assert done.returncode == 0, done.stderr


def wrong(node):
    """What `doctor` finds broken."""
    found = [json.loads(line) for line in node.command("doctor", "--json", "--offline").stdout.splitlines()]
    return [f"{line['what']}: {line['text']}" for line in found if line["state"] == "broken"]


def says_that_no_process_works(command):
    silent = threading.Timer(60, command.kill)
    silent.start()
    assert any("no process works for agents" in line for line in command.stderr), "a command does not say what it waits for"
    silent.cancel()


def begin(api, job):
    status, answer = api.ask("POST", "/v1/agents", {"kind": "noter", "message": job}, Idempotency_Key=job.replace(" ", "-"))
    assert status == 201, (status, answer)
    return answer["id"]


def all_succeeded(api, agents):
    rows = api.every("/v1/agents")
    lost = [row for row in rows if row["status"] in ("failed", "cancelled") and row["id"] in agents]
    assert not lost, f"a run was lost: {lost}"
    return all(row["status"] == "succeeded" for row in rows if row["id"] in agents)


DATABASE = f"cluster_{os.getpid()}"
sql(f"CREATE DATABASE {DATABASE}")
STORE = urllib.parse.urlparse(POSTGRES)._replace(path=f"/{DATABASE}").geturl()
BALANCER = Balancer() if INGRESS else None
model, at = provider()
api = Node("api", "api", at)
# One of them has a single connection to write, and one to read.
few = {"ENTOURAGE_STORE__CONNECTIONS": "2"}
workers = [Node("worker1", "worker", at), Node("worker2", "worker", at, **few)]
print(f"wake-ups are delivered by {'Restate' if INGRESS else 'the database'}")
if INGRESS:
    found = wrong(api)
    assert len(found) == 1 and found[0].startswith("restate: it does not know where"), found
    nobody = api.command("migrate", "--restate-admin", ADMIN, "--restate-uri", "http://127.0.0.1:9")
    assert nobody.returncode == 1 and "must answer at http://127.0.0.1:9 now" in nobody.stderr, nobody.stderr
    register(api)
    register(api)
    print("registered, twice")

# What is seen at a process at which no agent works.
jobs = ["watched"]
watched = begin(api, "watched")
watcher = Watcher(api, watched)
within(60, "the watched run succeeds", lambda: all_succeeded(api, {watched}))
within(10, "the watcher sees its end", lambda: watcher.ended)
last = json.loads(sql("SELECT json_build_array(max(last_event)) FROM trees", DATABASE))[0]
assert watcher.numbers == list(range(1, len(watcher.numbers) + 1)) and len(watcher.numbers) == last, (watcher.numbers, last)
assert watcher.pieces > 0, "no text came while it was written"
print(f"watched: {last} events, each once and in order, {watcher.pieces} pieces of text")

# A deletion is over once it is answered, wherever the agent works: nothing is written for it afterwards.
doomed = begin(api, "doomed")
within(30, "it is at work", lambda: api.ask("GET", f"/v1/agents/{doomed}")[1]["status"] == "running")
began = time.monotonic()
status, answer = api.ask("POST", f"/v1/agents/{doomed}/interventions", {"action": "delete"})
assert status == 202 and answer["status"] == "applied", (status, answer)
took = time.monotonic() - began
assert took < 5, f"a process that is there was waited for: {took:.2f} s"
items = lambda: sql(f"SELECT count(*) FROM items WHERE agent = '{doomed.split('_')[1]}'", DATABASE)
before = items()
time.sleep(1)
assert items() == before, "something was written for a deleted agent"
print(f"deleted: answered after {took:.2f} s")

# A run that ends each process at which it works is ended, and not all processes. By the database that takes a minute.
ended = 0
if INGRESS:
    deadly = begin(api, DEADLY)
    state = lambda: api.ask("GET", f"/v1/agents/{deadly}")[1]
    holder = lambda: sql(f"SELECT node FROM agents WHERE id = '{deadly.split('_')[1]}' AND status = 'running'", DATABASE)
    while True:
        within(30, "its model is asked, or it is ended", lambda: model.deadly > ended or state()["status"] == "failed")
        if model.deadly == ended:
            break
        assert ended < 5, "it goes on ending processes"
        fatal = next(worker for worker in workers if worker.id == holder())
        fatal.child.kill()
        workers[workers.index(fatal)] = Node(f"fatal{ended}", "worker", at)
        ended += 1
    error = api.every(f"/v1/agents/{deadly}/runs")[0]["error"]
    assert ended == 5 and "5 times in a row" in json.dumps(error), (ended, error)
    print(f"a run that ended {ended} processes was ended")

# What only has an effect where agents work is not taken by a command that leaves the work to others.
beside = api.command("run", "beside", "--files", FOLDER, data=f"{FOLDER}/beside")
assert beside.returncode == 2 and "--files has no effect" in beside.stderr, (beside.returncode, beside.stderr)

# Commands find one process in a data directory.
second = api.command("serve", "--role", "api", "--bind", "127.0.0.1:0")
assert second.returncode == 1 and "need one each" in second.stderr, (second.returncode, second.stderr)
assert api.command("agents").returncode == 0

# Runs go on while processes die, freeze and leave.
agents = {watched}


def more(runs):
    """Begins so many runs."""
    for _ in range(runs):
        jobs.append(f"run {len(jobs)}")
        agents.add(begin(api, jobs[-1]))


more(RUNS // 2)
taken = lambda: len(api.every("/v1/notes"))
within(60, "work under way", lambda: taken() > 2 * NOTES)
# Restate may call one of the two alone.
busiest = lambda: max(workers, key=Node.at_work)
killed = busiest()
workers.remove(killed)
killed.child.kill()
left, began = killed.at_work(), time.monotonic()
workers.append(Node("worker3", "worker", at))
within(TAKEN_OVER, "agents of a dead process go on", lambda: killed.at_work() == 0)
print(f"killed: {left} agents at work, none left with the dead process after {time.monotonic() - began:.1f} s")
assert left > 0, "the killed process had nothing to do"

sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{DATABASE}' AND pid <> pg_backend_pid()")
print("all connections to the database were ended")

crash = script("postgres.sh", "crash", POSTGRES, "5")
assert crash.returncode in (0, 77), crash.stderr
print("the server of the database crashed, and was away for 5 s" if crash.returncode == 0 else crash.stderr.strip())
within(30, "/readyz is well again", lambda: api.ask("GET", "/readyz")[0] == 204)

more(RUNS // 4)
if INGRESS:
    for words in (["kill", INGRESS], ["start", INGRESS, ADMIN]):
        done = script("restate.sh", *words)
        assert done.returncode == 0, done.stderr
    assert not all_succeeded(api, agents), "there was nothing left to do"
    register(api)
    print("Restate was killed, and an empty one took its place")

more(RUNS - len(agents) + 1)
within(30, "work under way", lambda: busiest().at_work() > 0)
frozen = busiest()
workers.remove(frozen)
frozen.child.send_signal(signal.SIGSTOP)
time.sleep(LEASE + 2)
frozen.child.send_signal(signal.SIGCONT)
print(f"frozen for {LEASE + 2} s, and let go on")

began = time.monotonic()
workers[0].child.terminate()
workers.append(Node("worker4", "all", at))
assert workers[0].child.wait(30) == 0, workers[0].said()
print(f"left in order after {time.monotonic() - began:.1f} s")
within(60 + RUNS, "every run succeeds", lambda: all_succeeded(api, agents))
# What the deleted agent had noted stays.
notes = [note for note in api.every("/v1/notes") if not note["title"].startswith("doomed")]
wanted = sorted(f"{job} {n}" for job in jobs for n in range(NOTES))
assert sorted(note["title"] for note in notes) == wanted, f"notes lost or doubled: {len(notes)} instead of {len(wanted)}"
print(f"{len(agents)} runs succeeded, {len(notes)} notes, none lost or doubled")
found = wrong(api)
assert not found, found
for node in (frozen, workers[1]):
    node.stop()
# A command that waits where no process works says so.
waits = subprocess.Popen(
    [BINARY, "--data", api.data, "run", "wait", "--kind", "noter"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=api.environment
)
says_that_no_process_works(waits)
waits.kill()
api.stop()
# A command works by itself where no process does; what Restate delivers waits for one.
alone = subprocess.Popen(
    [BINARY, "--data", api.data, "run", "alone", "--kind", "noter"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=api.environment
)
if INGRESS:
    says_that_no_process_works(alone)
    late = Node("worker5", "worker", at)
_, said = alone.communicate(timeout=60)
assert alone.returncode == 0, said
if INGRESS:
    late.stop()
# All that worked have left but those that were killed, which a crash of the server has made the database forget.
left = sql("SELECT count(*) FROM nodes WHERE role <> 'api'", DATABASE)
assert left == ("0" if crash.returncode == 0 else str(ended + 1)), left
print("a command waited for a process, which did its run" if INGRESS else "a command without a server did its run, and left")
if INGRESS:
    sys.exit()

# What a backup has, made while agents work, goes on from there: what was noted after it is noted again, and once.
before = Node("before", "all", at)
jobs = [f"kept {n}" for n in range(10)]
agents = {begin(before, job) for job in jobs}
kept = lambda node: sorted(note["title"] for note in node.every("/v1/notes") if note["title"].startswith("kept"))
within(60, "work under way", lambda: len(kept(before)) > NOTES)
dump = subprocess.run(["pg_dump", "-Fc", STORE], capture_output=True)
assert dump.returncode == 0, dump.stderr
noted = len(kept(before))
within(60, "more of it", lambda: len(kept(before)) > noted + NOTES)
before.child.kill()
DATABASE += "_restored"
sql(f"CREATE DATABASE {DATABASE}")
STORE = urllib.parse.urlparse(POSTGRES)._replace(path=f"/{DATABASE}").geturl()
restore = subprocess.run(["pg_restore", "--exit-on-error", "--no-owner", "-d", STORE], input=dump.stdout, capture_output=True)
assert restore.returncode == 0, restore.stderr
after = Node("after", "all", at)
within(60, "every run of the backup succeeds", lambda: all_succeeded(after, agents))
assert kept(after) == sorted(f"{job} {n}" for job in jobs for n in range(NOTES)), "notes of the backup are lost or doubled"
found = wrong(after)
assert not found, found
after.stop()
print(f"restored from a backup with {noted} notes or fewer of {len(jobs) * NOTES}; none lost or doubled")
