// program.mjs -- programs and folders of a test. Whatever happens to this process, none is left
// behind.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { within } from './check.mjs';

export const ROOT = path.resolve(import.meta.dirname, '../..');
export const BIN = process.env.PARLEY_BIN || path.join(ROOT, 'build-test/parley');

const children = new Set(), folders = new Set();
process.on('exit', () => {
    for (const c of children) c.kill('SIGKILL');
    for (const d of folders) removeFolder(d);
});
for (const s of ['SIGINT', 'SIGTERM']) process.on(s, () => process.exit(1));

export function newFolder() {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'parley-test-'));
    folders.add(dir);
    return dir;
}
export function removeFolder(dir) {
    fs.rmSync(dir, { recursive: true, force: true });
    folders.delete(dir);
}

// The environment without keys that would choose another model.
export function clean() {
    const ours = ([name]) => !/^(ANTHROPIC|GEMINI|OPENAI|PARLEY)_/.test(name);
    return Object.fromEntries(Object.entries(process.env).filter(ours));
}

// A program that runs: what it said so far is in `out` and `err`, how it ended in `status` (a
// number, or the name of a signal; null while it runs), and `gone` is kept when it has.
export class Program {
    constructor(command, args = [], { input, ...options } = {}) {
        Object.assign(this, { command, args, input, options });
    }
    // A program that has ended may be started again.
    spawn() {
        const stdin = this.input === undefined ? 'ignore' : 'pipe';
        const stdio = [stdin, 'pipe', 'pipe'];
        const child = spawn(this.command, this.args, { stdio, ...this.options });
        this.child = child;
        Object.assign(this, { out: '', err: '', status: null, killed: false });
        children.add(child);
        this.gone = new Promise((yes) => {
            const over = (status) => { children.delete(child); this.status = status; yes(status); };
            child.on('error', (e) => { this.err += e.message; over(e.code); });
            child.on('close', (code, signal) => over(signal || code));
        });
        child.stdout.setEncoding('utf8').on('data', (d) => { this.out += d; this.#heard?.(); });
        child.stderr.setEncoding('utf8').on('data', (d) => { this.err += d; this.#heard?.(); });
        child.stdin?.on('error', () => {});          // it may end without having read it
        if (this.input !== true) child.stdin?.end(this.input || undefined);          // true: it stays open
        return this;
    }
    #heard;
    // Waits until it has said something that matches, on either stream, and gives the match.
    async says(pattern, who = this.command, ms) {
        const match = () => pattern.exec(this.out) ?? pattern.exec(this.err);
        const said = new Promise((yes) => { this.#heard = () => { if (match()) yes(); }; });
        this.#heard();
        await within(Promise.race([said, this.gone]), `${who} to start`, ms);
        if (match()) return match();
        throw new Error(`${who} did not start (${this.status}): ${this.err || this.out}`);
    }
    // As by kill -9. How it ended is then nobody's concern.
    kill() {
        this.killed = true;
        this.child.kill('SIGKILL');
        return within(this.gone, 'the killed program to be gone');
    }
    term() {
        this.child.kill('SIGTERM');
        return within(this.gone, 'the program to end after SIGTERM');
    }
}

// Runs a program to its end: {code, out, err}.
export async function runToEnd(command, args, { ms, ...options } = {}) {
    const p = new Program(command, args, options).spawn();
    try {
        const code = await within(p.gone, `${command} ${args.join(' ')}`, ms);
        return { code, out: p.out, err: p.err };
    } finally { p.child.kill('SIGKILL'); }
}

export function parley(args, { cwd, env, input = '' } = {}) {
    return runToEnd(BIN, args, { cwd, env: { ...clean(), ...env }, input });
}
