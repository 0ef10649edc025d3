"""fake_mcp.py MODE -- a server for test_mcp*.c that misbehaves in one way at a time."""
import json
import sys
import time

mode = sys.argv[1]
notes = []
waiting = []


def say(**m):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **m}) + "\n")
    sys.stdout.flush()


def tool(name, **more):
    return {"name": name, "description": more.pop("description", name), "inputSchema": {"type": "object"}, **more}


def text(t, **more):
    return {"content": [{"type": "text", "text": t}], **more}


def read():
    while True:
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        try:
            return json.loads(line)
        except ValueError:
            pass                         # as real servers do


def answer_to(id):
    """Waits for the client's answer to a request of ours."""
    while True:
        m = read()
        if m.get("id") == id and "method" not in m:
            return m


lists = 0


def list_tools(m):
    global lists
    lists += 1
    cursor = m.get("params", {}).get("cursor")
    if mode == "pages":
        n = int(cursor or 0)
        more = {"nextCursor": str(n + 1)} if n < 4 else {}
        return {"tools": [tool(f"t{n}")], **more}
    if mode == "endless":
        return {"tools": [tool("t")], "nextCursor": "again"}
    if mode == "changing":
        return {"tools": [tool("same"), tool("other", description=f"version {lists}")] + ([tool("late")] if lists > 1 else [])}
    if mode == "odd-tools":
        return {"tools": [tool("good"), {"name": "no-schema"}, {"name": "", "inputSchema": {"type": "object"}}, {"inputSchema": {}}, 7,
                          tool("good", description="again"), {"name": "list-schema", "inputSchema": []},
                          tool("destroy", annotations={"destructiveHint": True}), tool("a.b c")]}
    if mode == "misfit":
        return {"tools": [tool("go", outputSchema={"type": "object", "required": ["paid"]})]}
    return {"tools": [tool("go")]}


calls = []


def call(m):
    id, name = m["id"], m["params"]["name"]
    calls.append(name)
    if mode == "count":
        return say(id=id, result=text(" ".join(calls)))
    if mode == "asks-late":              # about the first call, when that was given up and another one is open
        waiting.append(id)
        if len(waiting) > 1:
            if len(waiting) == 2:
                say(id="q", method="elicitation/create", params={"message": "Pay for the first one?", "requestedSchema": {"type": "object"}})
                say(id=id, result=text(answer_to("q")["result"]["action"]))
            else:
                say(id=id, result=text("unasked"))
        return
    if mode == "asks-on":                # a question for each call, one after the other
        say(id="q" + str(id), method="elicitation/create", params={"message": "Sure?", "requestedSchema": {"type": "object"}})
        return say(id=id, result=text(answer_to("q" + str(id))["result"]["action"]))
    if mode == "asks-by-token":          # for the first of two calls, and says so
        waiting.append(m)
        if len(waiting) == 2:
            token = waiting[0]["params"]["_meta"]["progressToken"]
            say(id="q", method="elicitation/create", params={"message": "Sure?", "requestedSchema": {"type": "object"}, "_meta": {"progressToken": token}})
            action = answer_to("q")["result"]["action"]
            for w in waiting:
                say(id=w["id"], result=text(action))
        return
    if mode == "deaf":                   # pings as fast as it can, and never reads again
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}) + "\n"
        while True:
            sys.stdout.write(line * 1000)
    if mode == "asleep":                 # does not read any more
        time.sleep(600)
    if mode in ("silent-call", "mute"):
        return
    if mode == "late":
        time.sleep(0.3)
    if mode == "ask-all":
        out = []
        for method in ("ping", "roots/list", "sampling/createMessage", "nonsense/x"):
            say(id=f"s-{method}", method=method, params={})
            a = answer_to(f"s-{method}")
            out.append("ok" if "result" in a else str(a["error"]["code"]))
        say(id="s-url", method="elicitation/create", params={"mode": "url", "url": "https://x", "message": "m"})
        out.append(str(answer_to("s-url")["error"]["code"]))
        return say(id=id, result=text(" ".join(out)))
    if mode == "two-questions":
        for n in (1, 2):
            say(id=n, method="elicitation/create", params={"message": f"Question {n}?", "requestedSchema": {
                "type": "object", "properties": {"n": {"type": "integer"}}}})
        got = [answer_to(1)["result"], answer_to(2)["result"]]
        return say(id=id, result=text(json.dumps(got)))
    if mode == "asks-at-two":            # with two calls open it asks something, and does not say for whom
        waiting.append(id)
        if len(waiting) == 2:
            say(id="q", method="elicitation/create", params={"message": "Whose?", "requestedSchema": {"type": "object"}})
            action = answer_to("q")["result"]["action"]
            for i in waiting:
                say(id=i, result=text(action))
        return
    if mode == "error":
        return say(id=id, error={"code": -32602, "message": "out of \u001b[31mpaper"})
    if mode == "strange-result":
        return say(id=id, result={"resultType": "mystery"})
    if mode.startswith("error:"):
        return say(id=id, error={"code": int(mode[6:]), "message": "because"})
    if mode.startswith("result:"):
        return say(id=id, result=json.loads(mode[7:]))
    if mode == "both":
        return say(id=id, result=text("paid"), error={"code": -32602, "message": "not paid"})
    if mode == "result-error":
        say(id=id, result=text("paid"))
        return say(id=id, error={"code": -32602, "message": "not paid"})
    if mode == "error-result":
        say(id=id, error={"code": -32602, "message": "not paid"})
        return say(id=id, result=text("paid"))
    if mode == "is-error":
        return say(id=id, result=text("no money", isError=True))
    if mode == "misfit":
        return say(id=id, result=text("paid", structuredContent={"other": 1}))
    if mode == "dies":
        sys.exit(3)
    if mode == "modern-wants":
        return say(id=id, result={"resultType": "input_required", "inputRequests": {"k": {"method": "sampling/createMessage", "params": {}}}})
    if mode == "modern-asks":
        return say(id=id, result={"resultType": "input_required", "requestState": "s", "inputRequests": {"k": {
            "method": "elicitation/create", "params": {"message": "Sure?", "requestedSchema": {"type": "object"}}}}})
    if mode == "other-ids":
        say(id=9999, result=text("not yours"))
        say(id=str(id), result=text("another type"))
        say(id=None, result=text("nobody's"))
        say(method="notifications/progress", params={"progressToken": "777", "progress": 1})
        say(method="notifications/unknown")
        return say(id=id, result=text("yours"))
    if mode == "changing":
        say(method="notifications/tools/list_changed")
    if mode == "restless":
        say(method="notifications/tools/list_changed")
        return say(id=id, result=text(str(lists)))
    say(id=id, result=text(" ".join(notes) or "done"))


if mode == "noise":
    for i in range(30):
        print("this is not JSON", flush=True)
if mode == "endless-line":
    chunk = "x" * 1000000
    for i in range(18):
        sys.stdout.write(chunk)
    sys.stdout.flush()
    time.sleep(30)

while True:
    m = read()
    method = m.get("method")
    if method == "server/discover":
        if mode == "silent":
            continue
        if mode in ("slow", "modern-slow"):
            waiting = m
            continue
        if mode.startswith("modern"):
            say(id=m["id"], result={"capabilities": {"tools": {}}, "supportedVersions": ["2026-07-28"]})
            continue
        say(id=m["id"], error={"code": -32601, "message": "no"})
    elif method == "initialize" and mode == "modern-slow":
        say(id=waiting["id"], result={"capabilities": {"tools": {}}, "supportedVersions": ["2026-07-28"]})
        say(id=m["id"], error={"code": -32601, "message": "no"})
    elif method == "initialize":
        if mode == "slow":
            say(id=waiting["id"], error={"code": -32601, "message": "no"})
        version = "1999-01-01" if mode == "old" else "2024-11-05"
        say(id=m["id"], result={"protocolVersion": version, "capabilities": {"tools": {"listChanged": True}}, "serverInfo": {"name": "f", "version": "1"}})
    elif method == "tools/list" and mode == "listless":
        pass
    elif method == "tools/list":
        say(id=m["id"], result=list_tools(m))
    elif method == "tools/call":
        call(m)
    elif method == "notifications/cancelled":
        notes.append("cancelled")
        mode = mode if mode in ("mute", "asks-late") else "after"
