"""damage_store.py FILE SHARE -- one amount in one fact of a stopped server's store becomes 77, which nobody ever says, and the
fact's checksum stays as it was; where somebody is asked, if there is such a one. Says whose conversation it was, or null."""
import json
import re
import sqlite3
import sys

db = sqlite3.connect(sys.argv[1])
db.text_factory = bytes
rows = [r for r in db.execute("SELECT fact.rowid, owner, name, body, state FROM fact JOIN thread ON thread.id = fact.thread WHERE kind IN ('step', 'action') ORDER BY fact.thread, fact.seq")
        if re.search(rb'amount\\*":\d+', r[3])]
last = {(r[1], r[2]): r for r in rows if r[4] == b"waiting"}
rows = list(last.values()) or rows
hit = rows[int(float(sys.argv[2]) * len(rows))] if rows else None
if hit:
    body = re.sub(rb'(amount\\*":)\d+', rb"\g<1>77", hit[3], count=1)
    db.execute("UPDATE fact SET body = ? WHERE rowid = ?", (body.decode("utf-8", "surrogateescape"), hit[0]))
    db.commit()
db.close()
print(json.dumps({"owner": hit[1].decode(), "name": hit[2].decode()} if hit else None))
