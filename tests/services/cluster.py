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

import json, os, signal, subprocess, sys, threading, time

from nodes import Database, Node, Restate
from served import DEADLY, NOTES, Watcher, provider, script, within

BINARY, POSTGRES, FOLDER, RUNS = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
INGRESS, ADMIN = sys.argv[5:] or (None, None)
# A node is counted on for ten seconds after its last sign of life.
LEASE, TAKEN_OVER = 10, 5 if INGRESS else 15


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


database = Database.create(POSTGRES, f"cluster_{os.getpid()}")
restate = Restate(INGRESS, ADMIN) if INGRESS else None
model, at = provider()


def node(name, role, **more):
    return Node(BINARY, FOLDER, name, role, at, database, restate, **more)


api = node("api", "api")
# One of them has a single connection to write, and one to read.
few = {"ENTOURAGE_STORE__CONNECTIONS": "2"}
workers = [node("worker1", "worker"), node("worker2", "worker", **few)]
print(f"wake-ups are delivered by {'Restate' if INGRESS else 'the database'}")
if INGRESS:
    found = api.wrong()
    assert len(found) == 1 and found[0].startswith("restate: it does not know where"), found
    nobody = api.command("migrate", "--restate-admin", ADMIN, "--restate-uri", "http://127.0.0.1:9")
    assert nobody.returncode == 1 and "must answer at http://127.0.0.1:9 now" in nobody.stderr, nobody.stderr
    restate.register(api)
    restate.register(api)
    print("registered, twice")

# What is seen at a process at which no agent works.
jobs = ["watched"]
watched = begin(api, "watched")
watcher = Watcher(api, watched)
within(60, "the watched run succeeds", lambda: all_succeeded(api, {watched}))
within(10, "the watcher sees its end", lambda: watcher.ended)
last = json.loads(database.ask("SELECT json_build_array(max(last_event)) FROM trees"))[0]
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
items = lambda: database.ask(f"SELECT count(*) FROM items WHERE agent = '{doomed.split('_')[1]}'")
before = items()
time.sleep(1)
assert items() == before, "something was written for a deleted agent"
print(f"deleted: answered after {took:.2f} s")

# A run that ends each process at which it works is ended, and not all processes. By the database that takes a minute.
ended = 0
if INGRESS:
    deadly = begin(api, DEADLY)
    state = lambda: api.ask("GET", f"/v1/agents/{deadly}")[1]
    holder = lambda: database.ask(f"SELECT node FROM agents WHERE id = '{deadly.split('_')[1]}' AND status = 'running'")
    while True:
        within(30, "its model is asked, or it is ended", lambda: model.deadly > ended or state()["status"] == "failed")
        if model.deadly == ended:
            break
        assert ended < 5, "it goes on ending processes"
        fatal = next(worker for worker in workers if worker.id == holder())
        fatal.child.kill()
        workers[workers.index(fatal)] = node(f"fatal{ended}", "worker")
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
workers.append(node("worker3", "worker"))
within(TAKEN_OVER, "agents of a dead process go on", lambda: killed.at_work() == 0)
print(f"killed: {left} agents at work, none left with the dead process after {time.monotonic() - began:.1f} s")
assert left > 0, "the killed process had nothing to do"

database.ask(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database.name}' AND pid <> pg_backend_pid()")
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
    restate.register(api)
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
workers.append(node("worker4", "all"))
assert workers[0].child.wait(30) == 0, workers[0].said()
print(f"left in order after {time.monotonic() - began:.1f} s")
within(60 + RUNS, "every run succeeds", lambda: all_succeeded(api, agents))
# What the deleted agent had noted stays.
notes = [note for note in api.every("/v1/notes") if not note["title"].startswith("doomed")]
wanted = sorted(f"{job} {n}" for job in jobs for n in range(NOTES))
assert sorted(note["title"] for note in notes) == wanted, f"notes lost or doubled: {len(notes)} instead of {len(wanted)}"
print(f"{len(agents)} runs succeeded, {len(notes)} notes, none lost or doubled")
found = api.wrong()
assert not found, found
for worker in (frozen, workers[1]):
    worker.stop()
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
    late = node("worker5", "worker")
_, said = alone.communicate(timeout=60)
assert alone.returncode == 0, said
if INGRESS:
    late.stop()
# All that worked have left but those that were killed, which a crash of the server has made the database forget.
left = database.ask("SELECT count(*) FROM nodes WHERE role <> 'api'")
assert left == ("0" if crash.returncode == 0 else str(ended + 1)), left
print("a command waited for a process, which did its run" if INGRESS else "a command without a server did its run, and left")
if INGRESS:
    sys.exit()

# What a backup has, made while agents work, goes on from there: what was noted after it is noted again, and once.
before = node("before", "all")
jobs = [f"kept {n}" for n in range(10)]
agents = {begin(before, job) for job in jobs}
kept = lambda node: sorted(note["title"] for note in node.every("/v1/notes") if note["title"].startswith("kept"))
within(60, "work under way", lambda: len(kept(before)) > NOTES)
dump = subprocess.run(["pg_dump", "-Fc", database.url], capture_output=True)
assert dump.returncode == 0, dump.stderr
noted = len(kept(before))
within(60, "more of it", lambda: len(kept(before)) > noted + NOTES)
before.child.kill()
database = Database.create(POSTGRES, f"{database.name}_restored")
restore = subprocess.run(["pg_restore", "--exit-on-error", "--no-owner", "-d", database.url], input=dump.stdout, capture_output=True)
assert restore.returncode == 0, restore.stderr
after = node("after", "all")
within(60, "every run of the backup succeeds", lambda: all_succeeded(after, agents))
assert kept(after) == sorted(f"{job} {n}" for job in jobs for n in range(NOTES)), "notes of the backup are lost or doubled"
found = after.wrong()
assert not found, found
after.stop()
print(f"restored from a backup with {noted} notes or fewer of {len(jobs) * NOTES}; none lost or doubled")
