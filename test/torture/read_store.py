"""read_store.py FILE -- what stands in a stopped server's store, as JSON. Works on a copy: the file, its log and
its lock stay as the dead process left them."""
import json
import os
import shutil
import sqlite3
import sys
import tempfile

path = sys.argv[1]
with tempfile.TemporaryDirectory() as folder:
    copy = os.path.join(folder, "x.db")
    for end in ("", "-wal"):
        if os.path.exists(path + end):
            shutil.copy(path + end, copy + end)
    db = sqlite3.connect(copy)
    db.text_factory = lambda b: b.decode("utf-8", "replace")
    db.row_factory = sqlite3.Row
    out = {"check": [r[0] for r in db.execute("PRAGMA integrity_check")]}
    for table in ("thread", "approval", "request"):
        out[table] = [dict(r) for r in db.execute("SELECT * FROM " + table)]
    # place: rows are numbered as they were committed, of all threads together.
    out["fact"] = [dict(r) for r in db.execute("SELECT rowid AS place, * FROM fact")]
    json.dump(out, sys.stdout, default=bytes.hex)
