#!/usr/bin/env python3
"""Takes the disk away from a server at work, and gives it back.

  outages.py BINARY SECONDS FOLDER SHIM

Three outages of SECONDS each, one after another, each with a server and a database of its own in FOLDER,
which is a small file system that may be filled: the disk is full, the file system is read-only (SHIM, a
library that is loaded before the C library, refuses to write while a file named in OUTAGE_READ_ONLY is
there, as the kernel does after an error of the device), and another program holds the database.

Meanwhile agents are at work, each with twenty notes to take, and more are asked for every second. Of each
outage it must hold: /readyz answers 503 and names the cause, and so does the log; what is asked for is
refused with a problem document that says so, or kept; no run ends for it. Afterwards everything goes on by
itself: /readyz is 204, every agent that was taken succeeds, each note was taken once, and `doctor` finds
nothing.
"""

import json, os, sqlite3, subprocess, sys, time

from served import NOTES, Server, provider, within

BINARY, SECONDS, FOLDER, SHIM = sys.argv[1], float(sys.argv[2]), sys.argv[3], sys.argv[4]
AGENTS = 12


def outage(name, server, begin, end, cause):
    """One outage of a server: what must hold of it, and after it."""
    jobs = [f"{name} {n}" for n in range(AGENTS)]
    for job in jobs:
        status, answer = server.ask("POST", "/v1/agents", {"kind": "noter", "message": job}, Idempotency_Key=job.replace(" ", "-"))
        assert status == 201, (status, answer)
    within(30, "work under way", lambda: len(server.every("/v1/notes")) > AGENTS)
    began = time.monotonic()
    begin()
    said = within(30, f"/readyz says it ({name})", lambda: (a := server.ask("GET", "/readyz"))[0] == 503 and a[1])
    assert cause in json.dumps(said), f"/readyz does not name the cause: {said}"
    print(f"{name}: /readyz 503 after {time.monotonic() - began:.1f} s: {said.get('detail')}")
    complaints = lambda: [line for line in server.said().splitlines() if "the store is unavailable; runs wait" in line]
    logged = within(30, f"the log says it ({name})", complaints)
    assert cause in logged[0], f"the log does not name the cause: {logged}"
    refused = kept = 0
    while time.monotonic() - began < SECONDS:
        job = f"{name} late {refused + kept}"
        status, answer = server.ask("POST", "/v1/agents", {"kind": "noter", "message": job}, Idempotency_Key=job.replace(" ", "-"))
        if status == 201:
            kept += 1
        else:
            assert status in (503, None), (status, answer)
            assert status is None or "detail" in answer, answer
            refused += 1
        jobs.append(job)
        ended = [a for a in server.every("/v1/agents") if a["status"] in ("failed", "cancelled")]
        assert not ended, f"an outage ended a run: {ended}"
        time.sleep(1)
    end()
    back = time.monotonic()
    within(60, f"/readyz is well again ({name})", lambda: server.ask("GET", "/readyz")[0] == 204)
    for job in jobs:  # Whatever was refused is asked for again, under its key.
        status, answer = server.ask("POST", "/v1/agents", {"kind": "noter", "message": job}, Idempotency_Key=job.replace(" ", "-"))
        assert status == 201, (status, answer)

    def all_ended():
        agents = server.every("/v1/agents")
        lost = [a for a in agents if a["status"] in ("failed", "cancelled")]
        assert not lost, f"a run was lost: {lost}"
        return len(agents) == len(jobs) and all(a["status"] == "succeeded" for a in agents)

    within(180, f"everything goes on by itself ({name})", all_ended)
    titles = sorted(note["title"] for note in server.every("/v1/notes"))
    wanted = sorted(f"{job} {n}" for job in jobs for n in range(NOTES))
    assert titles == wanted, f"notes lost or doubled: {len(titles)} instead of {len(wanted)}"
    print(
        f"{name}: {SECONDS:.0f} s; meanwhile {refused} refused and {kept} kept; all {len(jobs)} runs succeeded "
        f"{time.monotonic() - back:.1f} s after it, {len(titles)} notes, none lost or doubled"
    )


def full(provider):
    server = Server(BINARY, f"{FOLDER}/full", provider)
    filler = f"{FOLDER}/filler"

    def fill():
        with open(filler, "wb", buffering=0) as file:
            for size in (1 << 20, 4096):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    pass

    outage("full", server, fill, lambda: os.unlink(filler), "full")
    server.stop()


def read_only(provider):
    flag = f"{FOLDER}/read-only.flag"
    server = Server(BINARY, f"{FOLDER}/read-only", provider, LD_PRELOAD=SHIM, OUTAGE_READ_ONLY=flag, OUTAGE_FOLDER=f"{FOLDER}/read-only/")
    outage("read-only", server, lambda: open(flag, "w").close(), lambda: os.unlink(flag), "reports an error")
    # Killed, so that the log holds what the database does not.
    server.child.kill()
    server.child.wait(30)
    read(server.data)


def read(data):
    """Whoever reads, and a backup, need not write: on a disk that is read-only they say what they said before."""

    # Without the variables of tests, of which each command would say when it found that they name no setting.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ENTOURAGE_")}

    def said(*command):
        done = subprocess.run([BINARY, "--data", data, *command], capture_output=True, text=True, env=environment)
        return done.returncode, done.stdout, done.stderr

    # A log that no reader has taken up is on the disk: nothing was asked before.
    assert os.path.getsize(f"{data}/entourage.db-wal") > 0
    subprocess.run(["mount", "-o", "remount,ro", FOLDER], check=True)
    copy = f"{os.path.dirname(FOLDER)}/copy.db"
    agent = json.loads(said("agents", "--json")[1].splitlines()[0])["id"]
    commands = [
        ["agents"], ["show", agent], ["tail", agent], ["tree", agent], ["export", agent, "--markdown"],
        ["usage"], ["session", "list", agent], ["grants"], ["webhooks"],
    ]
    before = [said(*command) for command in commands]
    backup, refused = said("backup", copy), said("stop", agent)
    subprocess.run(["mount", "-o", "remount,rw", FOLDER], check=True)
    assert backup[0] == 0 and os.path.getsize(copy) > 0, backup
    assert refused[0] == 1 and "cannot be written" in refused[2], refused
    for command, on_read_only in zip(commands, before):
        assert on_read_only == said(*command) and on_read_only[0] == 0, (command, on_read_only)
    print(f"read-only: {len(commands)} reading commands and a backup")


def held(provider):
    for durability in ("full", "normal"):
        name = f"held-{durability}"
        server = Server(BINARY, f"{FOLDER}/{name}", provider, f'[store]\ndurability = "{durability}"\n')
        holder = sqlite3.connect(f"{FOLDER}/{name}/entourage.db", isolation_level=None)
        outage(name, server, lambda: holder.execute("BEGIN IMMEDIATE"), lambda: holder.execute("ROLLBACK"), "another program holds")
        holder.close()
        server.stop()


_, at = provider()
for each in (full, read_only, held):
    each(at)
