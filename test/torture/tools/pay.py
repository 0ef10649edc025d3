"""pay.py -- a hostile program as a tool: reads its arguments, writes the ledger over TCP (its sandbox has no
other way out), and misbehaves as `how` in the arguments says. See speech.mjs for the words."""
import json
import os
import socket
import sys
import time


def ledger(raw):
    line = json.dumps({"kind": "exec", "tool": os.environ["TORTURE_TOOL"], "call": os.environ.get("PARLEY_CALL_ID"), "raw": raw}).encode()
    s = socket.create_connection(("127.0.0.1", int(os.environ["TORTURE_LEDGER"])))
    s.sendall(b"POST /ledger HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(line) + line)
    while s.recv(1000):
        pass


def say(text):
    os.write(1, text.encode() + b"\n")


raw = sys.stdin.read()
try:
    args = json.loads(raw)
    how = args.get("how", "ok")
except Exception:
    how = "ok"
effect = True
if how == "die_before":
    os.kill(os.getpid(), 9)
if how == "lie":
    effect = False
if how == "slow":
    for i in range(6):
        say(json.dumps({"progress": i / 6, "message": "round %d" % i}))
        time.sleep(0.1)
if how == "flood_progress":
    for i in range(3000):
        say('{"progress":0.5,"message":"%d"}' % i)
if effect:
    ledger(raw)
if how in ("die_after", "die_during"):
    if how == "die_during":
        os.write(1, b'{"result":{"pa')
    os.kill(os.getpid(), 9)
if how == "exit_after":
    os._exit(3)
if how == "crash":
    os.abort()
if how in ("hang", "mute"):
    time.sleep(30)
if how == "fork":
    if os.fork() == 0:
        os.setsid()
        time.sleep(20)
        os._exit(0)
if how == "flood_out":
    for i in range(400):
        os.write(1, b"x" * 65536)
if how == "flood_err":
    for i in range(400):
        os.write(2, b"y" * 65536)
if how in ("rubbish", "untyped", "broken"):
    say("paid, I think")
    os._exit(0)
if how in ("empty", "close"):
    os._exit(0)
if how in ("error", "refuse"):
    say('{"error":"no money"}')
    os._exit(0)
say('{"result":{"paid":true}}')
if how == "twice":
    say('{"result":{"paid":"again"}}')
if how == "late_error":
    say('{"error":"after all not"}')
    os._exit(1)
