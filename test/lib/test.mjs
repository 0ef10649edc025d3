// test.mjs -- tests, what each of them is handed, and a suite of them on node:test.
//
//     test('a sentence that is true', async (t) => { const server = await t.serve(); ... });
//
// Whatever a test opens through `t` is closed when it ends, also when it fails.
//
// A suite is a folder with *.test.mjs and a run.mjs that calls suite(). The words on its command
// line choose: only tests whose "file: name" contains one of them run, and none that contains a
// -WORD. It ends with "N passed, N failed[, N skipped]" and a matching status (report.mjs); a file
// that cannot be loaded and a suite without a test fail it. VERBOSE=1 tells every test and how long
// it took, JOBS=n how many run at once.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import node from 'node:test';
import { Skip, skip, within } from './check.mjs';
import { Program, ROOT, newFolder, removeFolder } from './program.mjs';
import { Server, configured } from './server.mjs';

const CLUSTER = Number(process.env.PARLEY_CLUSTER || 0);
async function clustered({ store, ...options }) {
    if (store) skip('it names the file of its store');
    if (options.env?.PARLEY_CLOCK_FILE) skip('nodes go by the clock of their database');
    if (options.config.store) skip('it names its database');
    if (/^fsync/.test(options.env?.PARLEY_FAULT)) skip('it has the disk of a file fail');
    if (options.config.tls) skip('a node has no certificate: the balancer has it');
    const { Cluster } = await import('../cluster/lib.mjs');
    return new Cluster({ nodes: CLUSTER, ...options });
}

// --- a test --------------------------------------------------------------------------------

const tests = [];
let file = '';

// Options: {timeout_ms} other than the suite's, 0 for none; {parts}: how many parts of it may run
// at once.
export function test(name, run, options = {}) { tests.push({ name, run, file, ...options }); }

// What every test is handed. A suite may have a class of its own that can do more.
export class Context {
    constructor(title, node) { Object.assign(this, { title, node, closers: [] }); }
    defer(close) { this.closers.push(close); return close; }
    folder() {
        const dir = newFolder();
        this.defer(() => removeFolder(dir));
        return dir;
    }
    // A running server. Options as in server.mjs, but {config} is merged over the tests' own.
    // With PARLEY_CLUSTER=n it is n nodes on one database, and every connection goes to another
    // one than the connection before.
    async serve({ config, dir = this.folder(), ...more } = {}) {
        const options = { config: configured(config), dir, ...more };
        return this.start(await (CLUSTER ? clustered(options) : new Server(options)));
    }
    async start(server) {
        this.defer(() => server.end());
        return server.start();
    }
    // A program that is killed at the end.
    program(command, args, options) {
        const p = new Program(command, args, options).spawn();
        this.defer(() => p.kill());
        return p;
    }
    // A part that is counted and told by itself, with a context of its own. True when it passed.
    async part(name, work) {
        let passed = false;
        await this.node.test(name, async (n) => {
            try { await perform(new this.constructor(name, n), work); } catch (e) {
                throw Object.assign(e, { of: this.title });
            }
            passed = true;
        });
        return passed;
    }
    async close() {
        for (const close of this.closers.splice(0).reverse()) {
            try { await close(); } catch (e) { this.trouble ??= e; }
        }
        if (this.trouble) throw this.trouble;
    }
    // What must hold after a test that went well, and what is looked at after one that did not.
    async check() {}
    async autopsy() {}
}

// A test's own end and the end of what it opened both count. Its deadline is ours and not
// node:test's, which would keep to itself what the closing finds: a server that crashed is why the
// test waited in vain.
async function perform(t, work, ms) {
    let trouble;
    try {
        await (ms ? within(work(t), 'the test', ms) : work(t));
        await t.check();
    } catch (e) { trouble = e; }
    const failed = trouble && !(trouble instanceof Skip);
    if (failed) await t.autopsy();
    try { await t.close(); } catch (e) {
        const both = `${trouble?.stack}\n  and: ${e.message}`;
        trouble = failed ? new AggregateError([trouble, e], both) : e;
    }
    if (trouble instanceof Skip) t.node.skip(trouble.message);
    else if (trouble) throw trouble;
}

// --- a suite ----------------------------------------------------------------------------------

// The reporter is chosen on node's own command line: this process starts the one that has it, and
// ends as that does. The channel between them tells the child that we are gone, however we went.
const REPORTER = `--test-reporter=${path.join(import.meta.dirname, 'report.mjs')}`;
function inChild() {
    const args = [...process.execArgv, REPORTER, '--test-reporter-destination=stdout'];
    const child = spawn(process.execPath, [...args, ...process.argv.slice(1)],
        { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
    for (const s of ['SIGINT', 'SIGTERM']) process.removeAllListeners(s).on(s, () => child.kill(s));
    return new Promise(() => { child.on('close', (code) => process.exit(code ?? 1)); });
}

function uncaught(e) {
    process.exitCode = 1;
    console.log(`note: nobody caught ${e?.stack ?? e}`);
}

// Runs `body` with a context whose parts are the tests, `jobs` at once. The reporter ends the
// process.
export async function run(name, jobs, body) {
    if (!process.execArgv.includes(REPORTER)) return inChild();
    process.on('disconnect', () => process.exit(1));
    const over = node(name, { concurrency: jobs }, (n) => body(new Context(undefined, n)));
    // A promise nobody waits for any more must not fail the others. An error nobody catches fails
    // its test, and the suite when that test is over.
    process.removeAllListeners('unhandledRejection').on('unhandledRejection', () => {});
    process.on('uncaughtException', uncaught);
    return over;
}

const words = process.argv.slice(2).filter((w) => !w.startsWith('-'));
const without = process.argv.slice(2).filter((w) => /^-[^-]/.test(w)).map((w) => w.slice(1));
const wanted = (x) => x.always || ((!words.length || words.some((w) => x.title.includes(w)))
    && !without.some((w) => x.title.includes(w)));

async function load(folder) {
    for (const name of fs.readdirSync(folder).filter((n) => n.endsWith('.test.mjs')).sort()) {
        file = name.replace('.test.mjs', '');
        try { await import(path.join(folder, name)); } catch (e) {
            test('the file can be loaded', () => { throw e; }, { always: true });
        }
    }
}

// All tests of a folder. {packages}: it needs those of its package.json, and is skipped when they
// cannot be had; {alone}: which tests run before the others and one at a time; {context}: what
// tests are handed; {before, after}: around all of them.
export function suite(folder, { jobs = Number(process.env.JOBS || 3), timeout_ms = 60000,
    context: Kind = Context, packages = false, alone = () => false, before, after } = {}) {
    const name = path.basename(folder);
    return run(name, jobs, async (all) => {
        if (packages && spawnSync(path.join(ROOT, 'scripts/packages'), [folder]).status !== 0)
            return all.part(`the packages of ${name}`, () => skip('no npm registry is reached'));
        await load(folder);
        const titled = tests.map((x) => ({ timeout_ms, ...x, title: `${x.file}: ${x.name}` }));
        // The long ones first, so that none is left alone at the end.
        const todo = titled.filter(wanted).sort((a, b) => b.timeout_ms - a.timeout_ms);
        const one = (x) => all.node.test(x.title, { concurrency: x.parts },
            (n) => perform(new Kind(x.title, n), x.run, x.timeout_ms));
        if (todo.length) await before?.();
        try {
            for (const x of todo.filter(alone)) await one(x);
            await Promise.all(todo.filter((x) => !alone(x)).map(one));
        } finally { if (todo.length) await after?.(); }
    });
}
