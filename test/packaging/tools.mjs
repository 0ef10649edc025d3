// tools.mjs -- what the packaging tests share: running a program to its end, and what parley --help offers.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { BIN, ROOT, skip, test } from '../live/lib.mjs';

export const BUILD = path.dirname(BIN);

// A program to its end: {status, out, err}. With {must} anything but status 0 is an error that shows what it said.
export function run(command, args, { must = true, ...options } = {}) {
    const r = spawnSync(command, args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 << 20, ...options });
    if (r.error) throw r.error;
    if (must && r.status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${r.status ?? r.signal}:\n${(r.stdout + r.stderr).slice(-3000)}`);
    return { status: r.status, out: r.stdout, err: r.stderr };
}

// The same without holding up this process: its servers go on answering.
export function runAside(command, args, options = {}) {
    return new Promise((yes, no) => {
        const child = spawn(command, args, { cwd: ROOT, ...options });
        let said = '';
        child.stdout.setEncoding('utf8').on('data', (d) => { said += d; });
        child.stderr.setEncoding('utf8').on('data', (d) => { said += d; });
        child.on('error', no).on('close', (status) => (status === 0 ? yes(said) : no(new Error(`${command} ${args.join(' ')} ended with ${status}:\n${said.slice(-3000)}`))));
    });
}

export function need(...programs) {
    for (const p of programs) if (spawnSync('sh', ['-c', 'command -v "$0"', p]).status !== 0) skip(`${p} is not here; scripts/setup packaging installs it`);
}

// Every file below a folder, relative to it.
export function filesIn(dir) {
    return fs.readdirSync(dir, { recursive: true, withFileTypes: true }).filter((e) => !e.isDirectory())
        .map((e) => path.relative(dir, path.join(e.parentPath ?? e.path, e.name))).sort();
}

// What --help offers: {commands: {name: {options, words}}, globals}. Read here with other means than scripts/manual's.
export function offered() {
    const commands = {}, globals = [];
    for (const [, usage] of run(BIN, ['--help']).out.matchAll(/^ {2}parley (.+?)(?: {2,}.*)?$/gm)) {
        const [name, ...rest] = usage.split(' ');
        if (name.startsWith('-')) { globals.push(name); continue; }
        const c = (commands[name] ??= { options: [], words: [] });
        for (const option of usage.match(/--[a-z-]+/g) ?? []) if (!c.options.includes(option)) c.options.push(option);
        for (const word of rest) { if (!/^[a-z]+$/.test(word)) break; if (!c.words.includes(word)) c.words.push(word); }
    }
    return { commands, globals };
}

// A test that builds packages and installs them; only with ALL=1.
export function long(name, work) {
    if (process.env.ALL) test(name, work, { timeout_ms: 1800000 });
}
