#!/usr/bin/env python3
"""Many runs over processes of which one after another is killed.

  soak.py BINARY POSTGRES FOLDER RUNS [INGRESS ADMIN]

POSTGRES is the address of a server; INGRESS and ADMIN are those of a Restate, which delivers wake-ups then instead of the
database. One process answers requests and three work for agents, each of which takes one note. RUNS agents are created as
fast as they end, with 400 under way; every half minute a process that works is killed and another one started, and the
server of the database crashes in the middle. Of all this it must hold: every run succeeds and each note was taken once.
Prints for each tenth what a second did, and the memory of the processes: neither may change with what has been.
"""

import os, queue, sys, threading, time

from nodes import Database, Node, Restate
from served import provider, script, within

BINARY, POSTGRES, FOLDER, RUNS = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
INGRESS, ADMIN = sys.argv[5:] or (None, None)
UNDER_WAY, KILL_EVERY, AT_ONCE = 400, 30, 8

database = Database.create(POSTGRES, f"soak_{os.getpid()}")
restate = Restate(INGRESS, ADMIN) if INGRESS else None
model, at = provider(notes=1, pause=0)


def node(name, role):
    return Node(BINARY, FOLDER, name, role, at, database, restate)


api = node("api", "api")
workers = [node(f"worker{n}", "worker") for n in range(3)]
if restate:
    restate.register(api)
print(f"wake-ups are delivered by {'Restate' if INGRESS else 'the database'}", flush=True)

ended = lambda: int(database.ask("SELECT count(*) FROM runs WHERE ended_as IS NOT NULL"))
jobs, refused = queue.Queue(), 0


def create():
    """Creates agents, each again under its key until there is an answer."""
    global refused
    while (job := jobs.get()) is not None:
        while True:
            try:
                status, answer = api.ask("POST", "/v1/agents", {"kind": "noter", "message": job}, Idempotency_Key=job)
            except OSError as error:
                status, answer = None, error
            if status == 201:
                break
            assert status in (None, 503), (status, answer)
            refused += 1
            time.sleep(0.5)


def rss(server):
    with open(f"/proc/{server.child.pid}/status") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmRSS"))


creators = [threading.Thread(target=create, daemon=True) for _ in range(AT_ONCE)]
for creator in creators:
    creator.start()
began = mark = grown = last_kill = time.monotonic()
created = done = marked = kills = crashed = 0
while done < RUNS:
    wanted = min(RUNS, done + UNDER_WAY)
    for n in range(created, wanted):
        jobs.put(f"job-{n}")
    created = max(created, wanted)
    time.sleep(0.5)
    now, before = time.monotonic(), done
    assert now - grown < 60, f"nothing ends any more: {done} runs"
    assert all(creator.is_alive() for creator in creators), "an agent could not be created"
    try:
        done = ended()
    except AssertionError:
        continue  # The server is away.
    grown = now if done > before else grown
    if done - marked >= RUNS / 10 or done >= RUNS:
        sizes = " ".join(str(rss(server)) for server in (api, *workers))
        print(f"{done} runs, {(done - marked) / (now - mark):.0f} a second, {kills} kills; MB: {sizes}", flush=True)
        marked, mark = done, now
    if now - last_kill > KILL_EVERY:
        workers.pop(0).child.kill()
        kills, last_kill = kills + 1, now
        workers.append(node(f"after{kills}", "worker"))
    if not crashed and done > RUNS / 2:
        crash = script("postgres.sh", "crash", POSTGRES, "5")
        assert crash.returncode in (0, 77), crash.stderr
        crashed = 1
for _ in creators:
    jobs.put(None)
took = time.monotonic() - began

states = database.ask("SELECT ended_as, count(*) FROM runs GROUP BY ended_as")
assert states == f"succeeded|{RUNS}", states
within(60, "nothing is left to be delivered", lambda: database.ask("SELECT count(*) FROM wakeups") == "0")
kept = database.ask("SELECT count(*), count(DISTINCT body::json->>'title') FROM entities WHERE kind = 'note'")
assert kept == f"{RUNS}|{RUNS}", f"notes lost or doubled: {kept}"
found = api.wrong()
assert not found, found
print(f"{RUNS} runs in {took:.0f} s, {kills} kills and a crash of the database: all succeeded, no note lost or doubled; {refused} requests were asked again")
