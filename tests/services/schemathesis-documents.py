"""Hooks of schemathesis for the document agent: what it draws leads to rows that are there.

It makes a project with documents, versions and a chat at ADDRESS, as the owner of TOKEN, who is ACCOUNT. Of the ids, versions and
`ETag`s that schemathesis draws, three of four that are well-formed become those of these rows; what is malformed
stays, since it must be refused. Only what the requests themselves created is deleted. At the end, the file REACHED
names each operation, with the statuses that it answered.
"""

import atexit, collections, json, os, re, urllib.request

import schemathesis

ADDRESS, TOKEN, REACHED = os.environ["ADDRESS"], os.environ["TOKEN"], os.environ["REACHED"]
NATIVE = re.compile(r"^(prj|doc|agt)_[0-9a-f]{32}$")
TAG = re.compile(r'^(W/)?"[0-9]{1,18}"$')
OPERATION = re.compile(r"^/(api|v1)/(projects|documents|agent/chats)\b")


def ask(method, path, body=None, **headers):
    """The JSON of an answer that must be a success."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}", **headers}
    request = urllib.request.Request(ADDRESS + path, json.dumps(body).encode() if body else None, headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


project = ask("POST", "/api/projects", {"name": "Schemathesis"})["id"]
documents = [
    ask("POST", f"/api/projects/{project}/documents", {"name": name, "content": f"# {name}\n\nÄ text.\n"})["id"]
    for name in ("Plan", "Notes")
]
for version in (1, 2):
    text = {"content": f"# Plan\n\nVersion {version + 1}.\n"}
    ask("PUT", f"/api/documents/{documents[0]}", text, **{"If-Match": f'"{version}"'})
message = {"message": "What is in the plan?", "project_id": project, "document_id": documents[0]}
chat = ask("POST", "/api/agent/act", message)["chat_message"]["chat_id"]
native_project = ask("GET", "/v1/projects")["data"][0]["id"]
native_document = ask("GET", f"/v1/projects/{native_project}/documents")["data"][0]["id"]
native_chat = ask("GET", f"/v1/projects/{native_project}/chats")["data"][0]["agent"]

THERE = {
    ("api", "projects"): project, ("api", "documents"): documents[0], ("api", "agent/chats"): chat,
    ("v1", "projects"): native_project, ("v1", "documents"): native_document,
}
IN_BODY = {
    "project_id": project, "document_id": documents[0], "chat_id": chat, "document": native_document,
    "chat": native_chat, "to": 1,
}
# Ids that nothing has, whatever schemathesis has seen in answers.
MISSING = {
    ("api", "projects"): 2**53 - 1, ("api", "documents"): 2**53 - 1,
    ("v1", "projects"): "prj_" + "f" * 32, ("v1", "documents"): "doc_" + "f" * 32,
}
IN_QUERY = {"from": 1, "to": 2}
ACCOUNT = json.loads(os.environ["ACCOUNT"])
created = collections.defaultdict(list)
tags = {}
draws = collections.Counter()
answered = collections.defaultdict(collections.Counter)


def is_id(value):
    """Whether a value that was drawn has the form of an id, a version or a number."""
    if isinstance(value, str):
        return bool(NATIVE.match(value) or re.match(r"^[0-9]{1,18}$", value))
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def three_of_four(case):
    """Whether this request is one that leads to rows that are there."""
    draws[case.operation.label] += 1
    return draws[case.operation.label] % 4 != 0


def is_account(body):
    """Whether a body has the form of an email address with a password."""
    fields = [body.get(key) for key in ("email", "password")] if isinstance(body, dict) else []
    return len(fields) == 2 and all(isinstance(field, str) and len(field) >= 8 for field in fields) and len(body) == 2


@schemathesis.hook
def before_call(context, case, kwargs):
    leads = three_of_four(case)
    place = OPERATION.match(case.operation.path)
    place = place and place.groups()
    if place and is_id((case.path_parameters or {}).get("id")):
        if case.operation.method.upper() == "DELETE":
            case.path_parameters["id"] = created[place].pop() if leads and created[place] else MISSING[place]
        elif leads:
            case.path_parameters["id"] = THERE[place]
        tag = (case.headers or {}).get("If-Match")
        # Every other one is of the newest version, so that changes come through as well as being refused.
        if leads and tag and TAG.match(tag) and draws[case.operation.label] % 2:
            case.headers["If-Match"] = tags.get(case.path_parameters["id"], tag)
    if not leads:
        return
    for given, there in ((case.body, IN_BODY), (case.query, IN_QUERY)):
        if isinstance(given, dict):
            given.update({key: there[key] for key in given if key in there and is_id(given[key])})
    if case.operation.path == "/api/auth/login" and is_account(case.body):
        case.body.update(ACCOUNT)


@schemathesis.hook
def after_call(context, case, response):
    answered[case.operation.label][response.status_code] += 1
    tag = response.headers.get("etag")
    if response.status_code == 201 and case.operation.path.endswith(("/projects", "/documents")):
        surface, noun = case.operation.path.split("/")[1], case.operation.path.rsplit("/")[-1]
        created[surface, noun].append(response.json()["id"])
    elif tag and OPERATION.match(case.operation.path) and case.path_parameters:
        tags[case.path_parameters.get("id")] = tag[0]


@atexit.register
def write():
    with open(REACHED, "w") as file:
        for operation, statuses in sorted(answered.items()):
            is_reached = any(200 <= status < 300 for status in statuses)
            counts = " ".join(f"{status}:{count}" for status, count in sorted(statuses.items()))
            file.write(f"{'reached' if is_reached else 'MISSED'} {operation} {counts}\n")
