"""report.py -- figures become a table, docs/performance.md and its chart.

The page's own words are kept: only what stands between the two marks is rewritten, and docs/performance.svg.
    bench/report.py               once more from the figures of the last run
"""
import json, os, platform, re, subprocess, sys, textwrap, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "performance.md")
CHART = os.path.join(ROOT, "docs", "performance.svg")
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
NAMES = {"parley": "parley", "nginx": "nginx", "node": "Node relay", "aisdk": "AI SDK"}

# name, what it is, unit, targets: (peer or None, "<=" or ">=", factor or limit)
ROWS = [
    ("blast_100", "Burst, 100 streams: tokens per CPU second", "count", []),
    ("blast_1000", "Burst, 1,000 streams: tokens per CPU second", "count", [("nginx", ">=", 0.5), ("aisdk", ">=", 80)]),
    ("blast_5000", "Burst, 5,000 streams: tokens per CPU second", "count", []),
    ("blast_long", "Burst of 1,000-token answers, 1,000 streams: tokens per CPU second", "count", []),
    ("ws_blast_1000", "Burst, 1,000 WebSockets: tokens per CPU second", "count", []),
    ("paced_cpu_us", "1,000 streams × 20 tokens/s: CPU per token", "us", [("nginx", "<=", 1.3), ("aisdk", "<=", 0.1)]),
    ("paced_carried", "… of the tokens carried", "share", []),
    ("paced_p50_us", "… added latency, half of the tokens", "us", []),
    ("paced_p99_us", "… added latency, 99 % of the tokens", "us", []),
    ("ws_paced_cpu_us", "… over WebSocket: CPU per token", "us", []),
    ("paced_100_cpu_us", "100 streams × 20 tokens/s: CPU per token", "us", []),
    ("paced_100_carried", "… of the tokens carried", "share", []),
    ("first_event_us", "200 streams × 20 tokens/s: question to first event", "us", [("nginx", "<=", 2)]),
    ("first_token_us", "… question to first token", "us", []),
    ("first_plain_us", "… at the plain door, question to first event", "us", []),
    ("first_named_us", "… and with a request id", "us", []),
    ("active_bytes", "Memory of an active stream (1,000)", "bytes", [(None, "<=", 24 * 1024)]),
    ("idle_sse_bytes", "Memory of an idle event stream (10,000)", "bytes", [(None, "<=", 2 * 1024)]),
    ("idle_ws_bytes", "Memory of an idle WebSocket (10,000)", "bytes", [(None, "<=", 3 * 1024)]),
    ("turns_per_s", "Tool turns per second", "count", [("aisdk", ">=", 30)]),
    ("turns_per_cpu_s", "Tool turns per CPU second", "count", []),
    ("turns_exec", "… with a process started for each call", "count", []),
    ("turns_mcp", "… with a call to an MCP server over stdio", "count", []),
    ("sqlite_turns", "Tool turns per CPU second of parley, one file (beside an idle PostgreSQL)", "count", []),
    ("pg_turns", "… and PostgreSQL", "count", []),
    ("turns_pg_share", "… as a share", "share", [(None, ">=", 0.6)]),
    ("turns_pg_appends_64", "PostgreSQL on all cores: appends per second, 64 under way", "count", [(None, ">=", 20000)]),
    ("turns_pg_appends_256", "… 256 under way", "count", [(None, ">=", 20000)]),
    ("nodes_follow_us", "Three nodes: an event on another node than the holder, later by", "us", [(None, "<=", 1000)]),
    ("nodes_command_us", "… a message through another node, longer by", "us", [(None, "<=", 1500)]),
    ("nodes_takeover_us", "… silence after kill -9 of the holder", "us", [(None, "<=", 4e6)]),
    ("nodes_restart_us", "… silence when the holder is restarted", "us", [(None, "<=", 3e5)]),
    ("curve_turns_first_us", "A tool turn of a conversation of 625: CPU", "us", []),
    ("curve_turns_last_us", "… of 5,000", "us", []),
    ("curve_turns_growth", "… as many times (8 times the length)", "×", [(None, "<=", 9)]),
    ("curve_readers_first_us", "A reader of an output of 0.25 MB: CPU", "us", []),
    ("curve_readers_last_us", "… of 4 MB", "us", []),
    ("curve_readers_growth", "… as many times (16 times the length)", "×", [(None, "<=", 18)]),
    ("approval_us", "Approval to the first event that follows", "us", [("aisdk", "<=", 1)]),
    ("mcp_added_us", "An ungated call through /mcp: added time, half of the calls", "us", [(None, "<=", 300)]),
    ("mcp_disk_us", "… of that the disk's: two syncs of as many bytes", "us", []),
    ("mcp_memory_us", "… with a store in memory", "us", []),
    ("cold_ms", "Cold start to the first event", "ms", [(None, "<=", 30)]),
    ("idle_mb", "Memory after the start", "MB", [(None, "<=", 12)]),
    ("binary_mb", "Binary, page inside", "MB", [(None, "<=", 5)]),
]

# measurements that a machine may lack something for
LEFT_OUT = {"database": "turns and appends with PostgreSQL", "nodes": "three nodes"}


def figure(value, unit):
    if value is None:
        return "–"
    if unit == "count":
        return f"{value / 1e6:.2f} M" if value >= 1e6 else f"{value / 1e3:.0f} k" if value >= 1e4 else f"{value:,.0f}"
    if unit == "us":
        return f"{value / 1e6:.1f} s" if value >= 1e6 else f"{value / 1000:.1f} ms" if value >= 1000 else f"{value:.0f} µs" if value >= 100 else f"{value:.1f} µs"
    if unit == "bytes":
        return f"{value / 1024:.1f} kB"
    if unit == "share":
        return f"{value * 100:.0f} %"
    return f"{value:.1f} {unit}"


def judge(row, results):
    """What each target says: (text, met or None when a side is missing)."""
    name, _, unit, targets = row
    ours, said = results.get("parley", {}).get(name), []
    for peer, sign, limit in targets:
        theirs = results.get(peer, {}).get(name) if peer else None
        value = ours / theirs if peer and ours is not None and theirs else None if peer else ours
        want = f"{'≤' if sign == '<=' else '≥'} " + (f"{limit:g} × {NAMES[peer]}" if peer else figure(limit, unit))
        met = None if value is None else value <= limit if sign == "<=" else value >= limit
        said.append((f"{want}" + (f": {value:.3g} ×" if peer and value is not None else ""), met))
    return said


def cells(row, results):
    name, what, unit, _ = row
    values = [figure(results.get(c, {}).get(name), unit) for c in NAMES]
    said = [f"{text} {'yes' if met else '**missed**' if met is False else '?'}" for text, met in judge(row, results)]
    return [what, *values, "; ".join(said)]


def rows_with_figures(results):
    return [r for r in ROWS if any(results.get(c, {}).get(r[0]) is not None for c in NAMES)]


def not_measured(data):
    return [(NAMES[c], why) for c, why in data["absent"].items()] + [(LEFT_OUT[m], why) for m, why in data["left_out"].items()]


def table(data):
    """For the terminal."""
    lines = [["", *NAMES.values(), "target"]] + [cells(r, data["results"]) for r in rows_with_figures(data["results"])]
    widths = [max(len(line[i]) for line in lines) for i in range(6)]
    out = ["  ".join([line[0].ljust(widths[0])] + [line[i].rjust(widths[i]) for i in range(1, 5)] + [line[5]]).rstrip() for line in lines]
    out += [f"{what}: not measured, {why}" for what, why in not_measured(data)]
    errors = [f"{NAMES[c]} {k[:-7]}: {int(v)} errors" for c, r in data["results"].items() for k, v in r.items() if k.endswith("_errors") and v]
    return "\n".join(out + errors)


# --- the page --------------------------------------------------------------------------------------------

def version(command, pattern):
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return None
    found = re.search(pattern, done.stdout + done.stderr)
    return found.group(1) if found else None


def machine():
    cpu = version(["cat", "/proc/cpuinfo"], r"model name\s*:\s*(.+)") or platform.machine()
    memory = version(["cat", "/proc/meminfo"], r"MemTotal:\s*(\d+)")
    return f"{os.cpu_count()} cores of {cpu}, {int(memory) / 1048576:.0f} GB, Linux {platform.release().split('-')[0]}"


def contenders():
    nginx = version(["/usr/sbin/nginx", "-v"], r"nginx/([\d.]+)") or version(["nginx", "-v"], r"nginx/([\d.]+)")
    with open(os.path.join(ROOT, "bench", "peers", "package.json")) as f:
        ai = json.load(f)["dependencies"]["ai"]
    node = version(["node", "-v"], r"v([\d.]+)")
    return f"nginx {nginx or '(absent)'}, Node {node or '(absent)'}, AI SDK {ai}"


def markdown(data):
    results = data["results"]
    about = (f"{time.strftime('%Y-%m-%d')}, {machine()}. {contenders()}. "
             f"One core for the server, one for upstream and clients; best of {data['reps']}.")
    lines = [textwrap.fill(about, 100), "",
             "| | " + " | ".join(NAMES.values()) + " | target |", "|---|" + "---:|" * len(NAMES) + "---|"]
    lines += ["| " + " | ".join(cells(r, results)) + " |" for r in rows_with_figures(results)]
    lines += [""] + [f"Not measured: {what}, because {why}.\n" for what, why in not_measured(data)]
    return "\n".join(lines + ["![The figures as bars, each beside the others](performance.svg)"])


def write_page(data):
    with open(PAGE) as f:
        text = f.read()
    head, rest = text.split(BEGIN)
    with open(PAGE, "w") as f:
        f.write(head + BEGIN + "\n" + markdown(data) + "\n" + END + rest.split(END)[1])
    with open(CHART, "w") as f:
        f.write(chart(data["results"]))


# --- the chart: one group of bars per figure, on a scale of tenfold steps ------------------------------------

CHARTED = ["paced_cpu_us", "blast_1000", "turns_per_s", "first_event_us", "approval_us", "active_bytes", "cold_ms"]
COLOURS = {"parley": "#2563eb", "nginx": "#16a34a", "node": "#a3a3a3", "aisdk": "#f59e0b"}
BAR, GAP, LEFT, WIDTH = 16, 34, 8, 720


def chart(results):
    import math
    parts, y = [], 40
    x = LEFT
    for c in NAMES:
        parts.append(f'<rect x="{x}" y="8" width="12" height="12" fill="{COLOURS[c]}"/><text x="{x + 18}" y="18">{NAMES[c]}</text>')
        x += 110
    for name in CHARTED:
        _, what, unit, _ = next(r for r in ROWS if r[0] == name)
        values = {c: results.get(c, {}).get(name) for c in NAMES}
        values = {c: v for c, v in values.items() if v}
        if not values:
            continue
        better = "more is better" if unit == "count" else "less is better"
        parts.append(f'<text x="{LEFT}" y="{y + 12}" font-weight="600">{what}</text><text x="{WIDTH}" y="{y + 12}" text-anchor="end" fill="#737373">{better}</text>')
        y += 20
        low, high = math.log10(min(values.values())) - 0.5, math.log10(max(values.values()))
        for c, v in values.items():
            w = (WIDTH - 130) * (math.log10(v) - low) / (high - low)
            parts.append(f'<rect x="{LEFT}" y="{y}" width="{w:.0f}" height="{BAR - 3}" rx="2" fill="{COLOURS[c]}"/>'
                         f'<text x="{LEFT + w + 6:.0f}" y="{y + 11}">{figure(v, unit)}</text>')
            y += BAR
        y += GAP - BAR
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + 8} {y + 16}" font-family="system-ui, sans-serif" font-size="12">\n'
            f'<rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(parts) +
            f'\n<text x="{LEFT}" y="{y + 6}" fill="#737373">Lengths are logarithmic: a bar half a step longer is about three times as much.</text>\n</svg>\n')


if __name__ == "__main__":
    with open(os.path.join(ROOT, "build-bench", "results.json")) as f:
        last = json.load(f)
    print(table(last))
    write_page(last)
