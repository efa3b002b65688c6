#!/usr/bin/env python3
"""Acts upon messages about documents, and looks whether what the engine guarantees holds.

  acts.py ADDRESS TIMES

Each message has a project of its own with two documents. Whatever the model decides: the answer is 200 and a message
that the chat then has; the decision is an object; at most one document was created or changed, the one in the answer,
and none by a message on which no model decided; versions have no gaps; no document that was to be edited is empty.
Prints what each message came to, and the sums.
"""

import collections, json, sys, time, urllib.error, urllib.request

ADDRESS, TIMES = sys.argv[1], int(sys.argv[2])
DOCUMENTS = {
    "Clothes": "# Clothes\n\n- two pairs of trousers\n- a warm coat\n- rain boots\n",
    "Journey": "# Journey\n\nWe take the night train from Hamburg on Friday at 21:40, and are in Oslo at noon.\n",
}
MESSAGES = {
    "create": [
        "Create a new document called Food, with a list of five things to eat on the way.",
        "Please write a new document with three sights of Oslo.",
        "Make a document named Budget: 200 euros for the train, 300 for the hotel.",
        "Start a new document Contacts with one line: Kari, 22 33 44 55.",
        "Write down somewhere new that Ben feeds the cat while we are away.",
    ],
    "edit": [
        "Add a pair of gloves to the document Clothes.",
        "In Journey, the train leaves at 22:10 and not at 21:40.",
        "Remove the rain boots from Clothes.",
        "Translate the document Journey into German.",
        "Add a heading Shoes to Clothes, and put the rain boots below it.",
    ],
    "ask": [
        "When does our train leave?",
        "How many pairs of trousers do I take?",
        "Is an umbrella on the list of clothes?",
        "Thank you, that is all for now.",
        "Summarize the journey in one sentence.",
    ],
}


def ask(method, path, body=None):
    """The status, and the JSON of the answer."""
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(ADDRESS + path, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=900) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def got(path, body=None):
    """The JSON of an answer that must be a success."""
    status, answer = ask("GET" if body is None else "POST", path, body)
    assert status in (200, 201), (path, status, answer)
    return answer


def documents(project):
    """The documents of a project, with their texts, by id."""
    ids = [document["id"] for document in got(f"/api/projects/{project}/documents?limit=200")["data"]]
    return {number: got(f"/api/documents/{number}") for number in ids}


def came_to(decision, created, changed):
    """What a message came to, by what was done and what was decided."""
    if created or changed:
        return "created" if created else "edited"
    if "error" in decision:
        return "failed"
    if decision.get("needs_clarification") is True or decision.get("pending_confirmation") is True:
        return "asked"
    return "not done" if decision.get("should_edit") is True or decision.get("should_create") is True else "answered"


def act(name, message):
    """One message in a project of its own: what it came to."""
    project = got("/api/projects", {"name": name})["id"]
    for document, content in DOCUMENTS.items():
        got(f"/api/projects/{project}/documents", {"name": document, "content": content})
    before = documents(project)
    status, answer = ask("POST", "/api/agent/act", {"message": message, "project_id": project})
    assert status == 200, (status, answer)
    said, decision = answer["chat_message"], answer["agent_decision"]
    assert said["content"].strip(), answer
    assert isinstance(decision, dict), answer
    chat = got(f"/api/agent/chats/{said['chat_id']}/messages")["data"]
    assert [chat[0]["content"], chat[1]["content"]] == [message, said["content"]] and len(chat) == 2, chat

    after = documents(project)
    assert before.keys() <= after.keys(), "a document is gone"
    created = after.keys() - before.keys()
    changed = {number for number in before if after[number] != before[number]}
    assert len(created | changed) <= 1, (created, changed)
    shown = answer["document"]
    assert {shown["id"]} == created | changed if created or changed else shown is None, (answer, created, changed)
    assert not ("error" in decision and (created or changed)), answer
    for number, document in after.items():
        versions = sorted(version["version"] for version in got(f"/api/documents/{number}/versions?limit=200")["data"])
        assert versions == list(range(1, document["version"] + 1)), (number, versions, document["version"])
        most = 1 if number in created else before[number]["version"] + (number in changed)
        assert document["version"] == most, (document, "more than one version for one message")
        assert number in created or document["content"].strip(), (document, "an edited document is empty")
    return came_to(decision, created, changed)


came, seconds = collections.defaultdict(collections.Counter), collections.defaultdict(list)
for sort, messages in MESSAGES.items():
    for n in range(TIMES):
        message, began = messages[n % len(messages)], time.monotonic()
        outcome = act(f"{sort} {n}", message)
        seconds[sort].append(time.monotonic() - began)
        came[sort][outcome] += 1
        print(f"{sort}: {outcome} after {seconds[sort][-1]:.1f} s: {message}", flush=True)
for sort, outcomes in came.items():
    counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    print(f"{sort} {TIMES}: {counts}; {min(seconds[sort]):.1f} to {max(seconds[sort]):.1f} s each")
assert any(outcome != "failed" for outcomes in came.values() for outcome in outcomes), "no model decided anything"
