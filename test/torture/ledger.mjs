// ledger.mjs -- what really happened: every tool writes a line at its effect, before it says anything. The judge
// believes this and nothing else. A line: {kind: exec|http|mcp, tool, server?, call?, raw (the arguments as they came)}.
import fs from 'node:fs';

export class Ledger {
    constructor(file, onLine) { Object.assign(this, { file, onLine, lines: [] }); }
    add(line) {
        const l = { ...line, at: Date.now() };
        try { l.args = JSON.parse(line.raw); } catch { /* then there are none */ }
        this.lines.push(l);
        fs.appendFileSync(this.file, `${JSON.stringify({ ...l, args: undefined })}\n`);
        this.onLine?.(l);
    }
    of(call) { return this.lines.filter((l) => l.call === call); }
}

// Arguments as they are understood; undefined: not at all.
export function meaning(text) { try { return canonical(JSON.parse(text)); } catch { return undefined; } }
// The same arguments, however they are spelled.
export function canonical(v) {
    if (Array.isArray(v)) return `[${v.map(canonical).join(',')}]`;
    if (v !== null && typeof v === 'object') return `{${Object.keys(v).sort().map((k) => `${JSON.stringify(k)}:${canonical(v[k])}`).join(',')}}`;
    return JSON.stringify(v);
}
