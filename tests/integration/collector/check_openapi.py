# SPDX-License-Identifier: Apache-2.0
"""Hold the description of the API against the collector: each route is described, and each described operation
answers requests that are made from the description with a status, a content type and members that it describes.

check_openapi.py URL DATA ROUTES, with ADMIN, INGEST, COLLECTOR, SONDE and LOOP in the environment. ROUTES is the
table of routes. Each described status must be seen, except those of a collector or a disk that fails, and each
described member in one answer at least.
"""
import base64
import http.client
import http.server
import json
import os
import plistlib
import re
import subprocess
import sys
import threading
import time
import urllib.parse

import jsonschema

url, data, routes = sys.argv[1:]
ADMIN, INGEST, COLLECTOR, SONDE, LOOP = (os.environ[k] for k in ("ADMIN", "INGEST", "COLLECTOR", "SONDE", "LOOP"))
NOT_ASKED = {"500", "503", "507"}  # of a part that fails
faults = []


def fault(text, *values):
    faults.append(text % values)


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def add_key(role, *options):
    return run(COLLECTOR, "key", "--data", data, "add", "--role", role, *options).strip()


def request(method, path, key=None, body=None, headers=()):
    connection = http.client.HTTPConnection(urllib.parse.urlparse(url).netloc, timeout=60)
    headers = dict(headers)
    if key is not None:
        headers.setdefault("Authorization", "Bearer " + key)
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer, content


RULES = """[rule "sleeps"]
api = nanosleep, clock_nanosleep
severity = warning

[sdk "own"]
match = module:run_loop
"""

# --- the description ---

answer, content = request("GET", "/api/openapi.json", ADMIN)
assert answer.status == 200, answer.status
api = json.loads(content)
members, members_seen = set(), set()


def resolve(node):
    name = ""
    while "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[1]
        for part in node["$ref"].split("/")[1:]:
            node = api[part] if part == "components" else node_of(node, part)
    return node, name


def node_of(node, part):
    node_of.at = api["components"][part] if part in api["components"] else node_of.at[part]
    return node_of.at


def closed(schema, where, is_part=False):
    """The schema without references, which no other member fits. Each member has its place in `x-at`."""
    schema, name = resolve(schema)
    where = name or where
    out = {k: v for k, v in schema.items() if k not in ("properties", "items", "allOf", "anyOf", "format")}
    if "properties" in schema:
        out["properties"] = {}
        for key, value in schema["properties"].items():
            out["properties"][key] = dict(closed(value, where + "." + key), **{"x-at": where + "." + key})
    if "items" in schema:
        out["items"] = closed(schema["items"], where)
    for key in ("allOf", "anyOf"):
        if key in schema:
            out[key] = [closed(part, where, key == "allOf") for part in schema[key]]
    if ("properties" in schema or "allOf" in schema) and not is_part:
        out["unevaluatedProperties"] = False
    return out


def note(value, schema):
    for key, part in schema.get("properties", {}).items():
        if isinstance(value, dict) and key in value:
            members_seen.add(part["x-at"])
            note(value[key], part)
    for part in schema.get("allOf", []) + schema.get("anyOf", []):
        note(value, part)
    for item in value if isinstance(value, list) else []:
        note(item, schema.get("items", {}))


def places(schema):
    for part in schema.get("properties", {}).values():
        members.add(part["x-at"])
        places(part)
    for part in schema.get("allOf", []) + schema.get("anyOf", []) + ([schema["items"]] if "items" in schema else []):
        places(part)


class Operation:
    def __init__(self, method, path, node):
        self.method, self.path, self.node, self.id = method.upper(), path, node, node["operationId"]
        self.parameters = [resolve(p)[0] for p in node.get("parameters", [])]
        self.responses = {status: resolve(r)[0] for status, r in node["responses"].items()}
        self.role, self.seen = node.get("x-role"), set()
        named = {p["name"] for p in self.parameters if p["in"] == "path"}
        if named != set(re.findall(r"{(\w+)}", path)):
            fault("%s: its path has other parameters", self.id)
        self.schemas = {}
        for status, response in self.responses.items():
            for kind, content in response.get("content", {}).items():
                self.schemas[status, kind] = closed(content["schema"], self.id + "." + status)
                jsonschema.Draft202012Validator.check_schema(self.schemas[status, kind])
                places(self.schemas[status, kind])

    def ask(self, expected, key=None, query="", body=None, kind=None, method=None, headers=(), **parts):
        """Ask with the parts of the path, and return the answer's JSON or bytes."""
        if key is None and self.role is not None:
            key = KEYS[self.role]
        path = re.sub(r"{(\w+)}", lambda m: str(parts.get(m[1], PARTS[m[1]])), self.path)
        headers = dict(headers)
        if kind is not None:
            headers["Content-Type"] = kind
            if kind not in self.node["requestBody"]["content"]:
                fault("%s: a body of type %s is not described", self.id, kind)
        if "sentry" in self.node["security"][0] if self.node["security"] else False:
            headers.update({"X-Sentry-Auth": "Sentry sentry_version=7, sentry_key=" + key} if key else {})
            key = None
        what = "%s %s%s" % (method or self.method, path, query)
        answer, content = request(method or self.method, path + query, key, body, headers)
        if answer.status != expected:
            fault("%s: %d in the place of %d: %s", what, answer.status, expected, content[:200])
        return self.check(what, answer, content, method == "HEAD")

    def check(self, what, answer, content, is_head):
        status, kind = str(answer.status), (answer.getheader("Content-Type") or "").split(";")[0]
        if status not in self.responses:
            return fault("%s: %s is not described", what, status)
        response = self.responses[status]
        self.seen.add(status)
        for name in response.get("headers", {}):
            if answer.getheader(name) is None:
                fault("%s: %s has no %s", what, status, name)
        if kind not in response.get("content", {"": None}):
            return fault("%s: %s has the type '%s'", what, status, kind)
        if kind != "application/json" or is_head:
            return content
        value, schema = json.loads(content), self.schemas[status, kind]
        for error in jsonschema.Draft202012Validator(schema).iter_errors(value):
            fault("%s: %s %s: %s", what, status, "/".join(map(str, error.absolute_path)), error.message[:200])
        note(value, schema)
        return value


operations = {}
for path, methods in api["paths"].items():
    for method, node in methods.items():
        if node["operationId"] in operations:
            fault("two operations are %s", node["operationId"])
        operations[node["operationId"]] = Operation(method, path, node)

# --- is each route described, with its role? ---

table = open(routes, encoding="utf-8").read()
ROLES = {"0": None, "STORE_INGEST": "ingest", "STORE_READ": "read", "STORE_WRITE": "write", "STORE_ADMIN": "admin"}
rows = re.findall(r'{"(\w+)",\s*"([^"]+)",\s*(\w+),([^{]*)\.handle = ', table)
if len(rows) != table.count(".handle =") or len(rows) == 0:
    fault("the table of routes is not what it was: %d of %d rows", len(rows), table.count(".handle ="))
told = {(o.method, re.sub(r"{\w+}", "*", o.path)): o for o in operations.values()}
for method, path, role, flags in rows:
    operation = told.pop((method, path), None)
    if operation is None:
        fault("%s %s is not described", method, path)
    elif operation.role != ROLES[role] or bool(operation.node.get("x-all-projects")) != ("is_of_all" in flags):
        fault("%s: x-role or x-all-projects is not the route's", operation.id)
for operation in told.values():
    fault("%s: there is no such route", operation.id)

# --- what is asked about ---

run(COLLECTOR, "project", "--data", data, "add", "other")
run(COLLECTOR, "project", "--data", data, "add", "few")
run(COLLECTOR, "project", "--data", data, "--per-minute=1", "limit", "few")
KEYS = {"ingest": INGEST, "read": add_key("read"), "write": add_key("write"), "admin": ADMIN}
WEAKER = {"ingest": KEYS["read"], "read": INGEST, "write": KEYS["read"], "admin": KEYS["write"]}
OTHER = {role: add_key(role, "--project", "other") for role in ROLES.values() if role}
FEW = add_key("ingest", "--project", "few")


os.environ["XDG_CACHE_HOME"] = os.path.abspath("fresh")  # no index of the program is there


def record(phase, program, *options):
    run(SONDE, "run", "-q", "-o", "report", *options, "--", program, "20", phase + ":300", "idle:10")
    return open("report", "rb").read()


run("cp", LOOP, "bare")
run("strip", "bare")
run("objcopy", "--only-keep-debug", LOOP, "debug")
open("rules.ini", "w").write(RULES)
second = record("sleep", os.path.abspath("bare"), "--build", "2")  # nothing has its names yet
first = record("sleep", LOOP, "--build", "1", "--tag", "a=b")
third, audit = record("burn", LOOP), record("sleep", LOOP, "--audit", "rules.ini", "--build", "audited")
other_audit = record("burn", LOOP, "--audit", "rules.ini", "--build", "other")
# Linux has no methods of Objective-C
open("list", "w").write("fstatat\n-[NSURL getResourceValue:forKey:error:]\n")
run(SONDE, "run", "-q", "-o", "report", "--record", "list", "--build", "measured", "--", LOOP, "20", "file:1")
measured = open("report", "rb").read()
BUILD_ID = re.search(r"Build ID: (\w+)", run("readelf", "-n", "bare"))[1]
PARTS = {"project": "default", "group": 1, "report": "0" * 32, "id": BUILD_ID, "build": "audited", "manifest": "App.app"}
ARGUMENTS = {"base": "other"}
REPORT, FORM = "application/x-sonde-report", "application/x-www-form-urlencoded"
at = operations.__getitem__


def wait_for(what, ask):
    for _ in range(600):
        value = ask()
        if value:
            return value
        time.sleep(0.05)
    raise SystemExit("%s: not within 30 seconds" % what)


def groups():
    return at("groups").ask(200)["groups"]


def waiting():
    return [w["build_id"] for w in at("waitingSymbols").ask(200)["waiting"]]


# --- what takes reports and symbols ---

kept = at("addReport").ask(201, body=first, kind=REPORT)
PARTS["report"] = kept["id"]
for body in second, third, audit, other_audit, measured:
    at("addReport").ask(201, body=body, kind=REPORT)
for number in range(8):
    at("addReport").ask(201, body=first, kind=REPORT, headers={"Idempotency-Key": '"%032x"' % (number + 1)})
at("addReport").ask(400, body=first, kind=REPORT, headers={"Idempotency-Key": "x"})
at("addReport").ask(400, body=b"no zstd", kind=REPORT, headers={"Content-Encoding": "zstd"})
at("addReport").ask(413, kind=REPORT, body=b"x", headers={"Content-Length": str(30 << 20)})
at("addReport").ask(415, body=first, kind=REPORT, headers={"Content-Encoding": "br"})
at("addReport").ask(422, body=b"no report", kind="text/plain")
at("addReport").ask(426, body=first, kind=REPORT, headers={"Sonde-Protocol": "0"})
EVENT = {"event_id": "%032x" % 77, "level": "error", "platform": "native", "release": "3", "exception": {"values": [
    {"type": "Oops", "value": "no", "stacktrace": {"frames": [{"function": "work", "filename": "a.c", "in_app": True}]}}]}}
ENVELOPE = "application/x-sentry-envelope"


def envelope(event):
    return ('{"event_id":"%s"}\n{"type":"event"}\n%s\n' % (event["event_id"], json.dumps(event))).encode()


at("addEnvelope").ask(201, body=envelope(EVENT), kind=ENVELOPE)
at("addEnvelope").ask(200, body=b'{}\n{"type":"session"}\n{}\n', kind=ENVELOPE)
at("addEnvelope").ask(400, body=b"no envelope", kind=ENVELOPE)
at("addEnvelope").ask(404, key=OTHER["ingest"], body=envelope(EVENT), kind=ENVELOPE)
at("addEnvelope").ask(413, kind=ENVELOPE, body=b"x", headers={"Content-Length": str(30 << 20)})
at("addEnvelope").ask(415, body=b"", kind=ENVELOPE, headers={"Content-Encoding": "br"})
at("addReport").ask(201, key=FEW, body=first, kind=REPORT)
at("addReport").ask(429, key=FEW, body=second, kind=REPORT)
at("addEnvelope").ask(429, key=FEW, body=envelope(EVENT), kind=ENVELOPE, project="few")
wait_for("what was sent", lambda: b"\nsonde_collector_journal_behind_bytes 0\n" in at("metrics").ask(200))
at("addReport").ask(200, body=first, kind=REPORT)
at("addEnvelope").ask(200, body=envelope(EVENT), kind=ENVELOPE)
if BUILD_ID not in waiting():
    fault("the report without names does not wait for symbols")
if at("lackingSymbols").ask(200, body=(BUILD_ID + "\n").encode(), kind="text/plain")["lacking"] != [BUILD_ID]:
    fault("its symbols are not lacking")
at("lackingSymbols").ask(413, kind="text/plain", body=b"x", headers={"Content-Length": str(30 << 20)})
BYTES = "application/octet-stream"
at("addSymbols").ask(201, body=open("debug", "rb").read(), kind=BYTES)
at("addSymbols").ask(422, body=b"no symbols", kind=BYTES)
at("addSymbols").ask(400, body=b"no symbols", kind=BYTES, query="?id=x")
at("addSymbols").ask(413, kind=BYTES, body=b"x", headers={"Content-Length": str(5 << 30)})
if at("debuginfo").ask(200) != open("debug", "rb").read():
    fault("the debug file is another one")
at("debuginfo").ask(404, id="00")
at("debuginfo").ask(400, id="x")
wait_for("the report that gets names", lambda: BUILD_ID not in waiting())
wait_for("a report without its file",
         lambda: [r for r in at("reports").ask(200, query="?limit=1000")["reports"] if not r["has_file"]])
gone = [r["id"] for r in at("reports").ask(200)["reports"] if not r["has_file"]][0]
for page in "report", "reportOfPage", "exportReport":
    at(page).ask(410, report=gone)
    at(page).ask(404, report="f" * 32)

# --- a baseline ---

at("diff").ask(400)
for form in "build=", "x=y":
    at("setBaseline").ask(400, body=form, kind=FORM)
at("setBaseline").ask(404, body="build=none", kind=FORM)
if not at("setBaseline").ask(200, body="build=other", kind=FORM)["is_baseline"]:
    fault("the baseline is none")
for operation in [o for o in operations.values() if "{build}" in o.path and o.id != "addManifest"]:
    operation.ask(404, build="none")
if at("diff").ask(200)["base"] != "other":
    fault("the baseline is not the base")
at("diff").ask(404, query="?base=1")  # none of its calls were recorded

# --- privacy manifests ---

PLIST = {"NSPrivacyAccessedAPITypes": [{"NSPrivacyAccessedAPIType": "NSPrivacyAccessedAPICategoryDiskSpace",
                                        "NSPrivacyAccessedAPITypeReasons": ["E174.1"]}]}
given = plistlib.dumps(PLIST)
if at("undeclared").ask(200)["has_manifest"]:
    fault("a build has a manifest that was not given")
if at("addManifest").ask(201, body=given, kind=BYTES)["categories"] != ["NSPrivacyAccessedAPICategoryDiskSpace"]:
    fault("the manifest declares something else")
at("addManifest").ask(200, body=plistlib.dumps(PLIST, fmt=plistlib.FMT_BINARY), kind=BYTES)
at("addManifest").ask(200, body=given, kind=BYTES)
at("addManifest").ask(422, body=given[:200], kind=BYTES)
at("addManifest").ask(413, body=b"x" * 131073, kind=BYTES)
at("addManifest").ask(413, kind=BYTES, body=b"x", headers={"Content-Length": str(30 << 20)})
at("addManifest").ask(400, body=given, kind=BYTES, manifest="a%01")
at("addManifest").ask(404, body=given, kind=BYTES, manifest="x" * 128)
for count in range(63):
    at("addManifest").ask(201, body=given, kind=BYTES, manifest="Sdk%%20%d.framework" % count)
at("addManifest").ask(409, body=given, kind=BYTES, manifest="one%20more")
at("removeManifest").ask(404, manifest="one%20more")
at("removeManifest").ask(200, manifest="Sdk%200.framework")
if at("manifest").ask(200) != given or len(at("manifests").ask(200)["manifests"]) != 63:
    fault("the manifests are other ones")
compared = at("undeclared").ask(200, build="measured")
if [c["declared"] for c in compared["calls"]] != ["unknown"] or compared["has_manifest"]:
    fault("without a manifest something is declared")
at("addManifest").ask(201, body=plistlib.dumps({}), kind=BYTES, build="measured")
compared = at("undeclared").ask(200, build="measured")
if compared["undeclared"] != 1 or [c["declared"] for c in compared["calls"]] != ["no"]:
    fault("what is called is declared")

# --- what reads: each argument, at its bounds and beyond ---

for operation in [o for o in operations.values() if o.method == "GET" and "id" not in o.path]:
    operation.ask(200)
    operation.ask(200, method="HEAD")
    for parameter in [p for p in operation.parameters if p["in"] == "query"]:
        schema, name = parameter["schema"], parameter["name"]
        good = schema.get("enum", [schema[k] for k in ("minimum", "maximum") if k in schema] or [ARGUMENTS.get(name, "some one")])
        bad = ["wrong"] if "enum" in schema else [schema["minimum"] - 1, schema["maximum"] + 1, "x"] if "minimum" in schema else []
        for value in good:
            operation.ask(422 if value == "sarif" else 200, query="?%s=%s" % (name, urllib.parse.quote(str(value))))
        for value in bad:
            operation.ask(400, query="?%s=%s" % (name, value))

AUDIT = [g["number"] for g in groups() if g["kind"] == "finding"][0]
log = json.loads(at("exportGroup").ask(200, query="?format=sarif", group=AUDIT))
if [r["ruleId"] for r in log["runs"][0]["results"]] != ["sleeps"]:
    fault("the findings of a group are not its rule's")

# --- what changes groups ---

ONE, TWO = [g["number"] for g in groups() if g["kind"] == "stall"][:2]  # a loaded machine may add some
ERROR = [g["number"] for g in groups() if g["kind"] == "error"][0]
for page, done in ("", 200), ("ByPage", 303):
    change, join, leave = at("changeGroup" + page), at("joinGroup" + page), at("leaveGroup" + page)
    for form in ("state=resolved&build=9", "state=resolved&next=1", "state=ignored&until=2099-12-01T08:00Z&until_count=99",
                 "assignee=ann", "state=open"):
        change.ask(done, body=form, kind=FORM, group=ONE)
        at("group").ask(200, group=ONE)
    for form in "state=wrong", "x=y", "state=ignored&until=never", "state=ignored&until_count=0":
        change.ask(400, body=form, kind=FORM, group=ONE)
    join.ask(400, body="with=x", kind=FORM, group=ONE)
    join.ask(409, body="with=%d" % ERROR, kind=FORM, group=ONE)
    join.ask(done, body="with=%d" % TWO, kind=FORM, group=ONE)
    at("group").ask(200, group=ONE)
    leave.ask(409, group=ERROR)
    leave.ask(done, group=ONE)
for operation in [o for o in operations.values() if "{group}" in o.path]:
    has_form = "requestBody" in operation.node
    operation.ask(404, group=999, **({"body": "with=1&state=open", "kind": FORM} if has_form else {}))
at("actions").ask(200)

# --- filters ---

PARTS["filter"] = at("addFilter").ask(201, body="drops=build=filtered*", kind=FORM)["filter"]
for form in "x=y", "drops=", "drops=build=", "drops=wrong", "drops=sdk=" + "x" * 200:
    at("addFilter").ask(400, body=form, kind=FORM)
at("addFilter").ask(409, body="drops=build=filtered*", kind=FORM)
filtered = at("addReport").ask(201, body=record("sleep", LOOP, "--build", "filtered 1"), kind=REPORT)["id"]
wait_for("what was sent", lambda: b"\nsonde_collector_journal_behind_bytes 0\n" in at("metrics").ask(200))
dropped = at("filters").ask(200)["filters"][0]
if dropped["drops"] != "build=filtered*" or dropped["reports"] != 1 or dropped["events"] == 0 or dropped["total_ns"] == 0:
    fault("the filter dropped something else: %s", dropped)
at("removeFilter").ask(404, filter=dropped["filter"] + 99)
at("removeFilter").ask(200)
if at("filters").ask(200)["filters"]:
    fault("the removed filter is there")

# --- hooks ---


class Receiver(http.server.BaseHTTPRequestHandler):
    """Takes the first message, then is gone."""
    got = []

    def do_POST(self):
        self.got.append((dict(self.headers), json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
        self.send_response(200 if len(self.got) == 1 else 410)
        self.end_headers()

    def log_message(self, *values):
        pass


receiver = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=receiver.serve_forever, daemon=True).start()
ADDRESS = "http://127.0.0.1:%d/" % receiver.server_port
hook = at("addHook").ask(201, body="url=%s&events=new&kinds=error,stall" % ADDRESS, kind=FORM)["hook"]
for form in "x=y", "url=ftp://a", "url=%s&events=old" % ADDRESS, "url=%s&kinds=x" % ADDRESS:
    at("addHook").ask(400, body=form, kind=FORM)
PARTS["hook"] = hook
for number in 1, 2:
    message = at("testHook").ask(202, hook=hook)["message"]
    wait_for("the message of a test", lambda: len(Receiver.got) >= number)
    headers, body = Receiver.got[-1]
    if headers.get("webhook-id") != message or body["type"] != "test":
        fault("the message of a test is another one")
    jsonschema.validate(body, closed({"$ref": "#/components/schemas/Message"}, ""))
wait_for("the hook that is gone", lambda: "disabled" in at("hooks").ask(200)["hooks"][0])
for name in "testHook", "removeHook", "enableHook":
    at(name).ask(404, hook=hook + 99)
at("testHook").ask(404, hook=hook)
at("enableHook").ask(200, hook=hook)
if "disabled" in at("hooks").ask(200)["hooks"][0]:
    fault("the enabled hook is disabled")
at("removeHook").ask(200, hook=hook)
many = [at("addHook").ask(201, body="url=http://127.0.0.1:1/", kind=FORM)["hook"] for _ in range(16)]
at("addHook").ask(409, body="url=http://127.0.0.1:1/", kind=FORM)
for number in many:
    at("removeHook").ask(200, hook=number)

# --- callers without the right key, other methods ---

for operation in [o for o in operations.values() if o.role is not None]:
    operation.ask(401, key="")
    operation.ask(401, key="snt_wrong")
    operation.ask(403, key=WEAKER[operation.role])
    if "{project}" in operation.path:
        operation.ask(404, key=OTHER[operation.role])
    elif operation.node.get("x-all-projects"):
        operation.ask(403, key=OTHER[operation.role])
    if "sentry" in operation.node["security"][0]:
        continue
    for scheme in operation.node["security"]:
        if "browser" in scheme:
            basic = base64.b64encode(("x:" + KEYS[operation.role]).encode()).decode()
            answer, _ = request("GET", "/", None, None, {"Authorization": "Basic " + basic})
            if answer.status != 200:
                fault("/ with a password: %d", answer.status)
for path in {o.path for o in operations.values()}:
    answer, content = request("PUT", re.sub(r"{(\w+)}", lambda m: str(PARTS[m[1]]), path), ADMIN)
    if answer.status != 405 or "error" not in json.loads(content):
        fault("PUT %s: %d", path, answer.status)

# --- was all seen? ---

for operation in operations.values():
    for status in sorted(set(operation.responses) - operation.seen - NOT_ASKED):
        fault("%s: %s is described, and was not seen", operation.id, status)
for member in sorted(members - members_seen):
    fault("%s is described, and was not seen", member)
for line in faults:
    print(line)
print("%d operations, %d statuses, %d members: %d faults" % (
    len(operations), sum(len(o.seen) for o in operations.values()), len(members_seen), len(faults)))
sys.exit(len(faults) != 0)
