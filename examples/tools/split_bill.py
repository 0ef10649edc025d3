#!/usr/bin/env python3
"""A tool in Python. stdin: {"total": 90.0, "people": ["Ada", "Bob"], "tip_percent": 10}"""
import json
import sys


def say(**line):
    print(json.dumps(line), flush=True)


args = json.load(sys.stdin)
people = args["people"]
if not people:
    say(error="Nobody is there to pay.")
    sys.exit(0)

cents = round(args["total"] * (100 + args.get("tip_percent", 0)))
share, rest = divmod(cents, len(people))
say(progress=0.5, stage="dividing", message=f"{cents / 100:.2f} between {len(people)}")
# The first ones pay the cents that cannot be divided.
say(result={name: (share + (i < rest)) / 100 for i, name in enumerate(people)})
