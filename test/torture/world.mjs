// world.mjs -- everything around the server: its configuration, the model, the tools, the ledger; starting, killing
// and watching it. A world has one store; processes come and go on it.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { pause, within } from '../lib/check.mjs';
import { ROOT, newFolder, removeFolder } from '../lib/program.mjs';
import { Server } from '../lib/server.mjs';
import { Ledger } from './ledger.mjs';
import { Model } from './model.mjs';
import { AGENT, PEOPLE, rolesOf, rules, terms } from './organisation.mjs';
import { HttpTools } from './tools/http.mjs';
import { McpServers } from './tools/mcp.mjs';

const HERE = import.meta.dirname;
const BIN = process.env.PARLEY_BIN || path.join(ROOT, 'build-asan/parley');
const SILENCE_MS = Number(process.env.SILENCE_MS || 10000);      // no answer from /healthz for so long: the loop stands still
const STALL_MS = 3000, HEALTH_MS = 3000;
const START_MS = 60000, END_MS = 20000;
const LINES_MAX = 600;                  // log lines in one second, beside what the operations of that second explain
const RSS_MAX = 2048 * 1048576;              // at any time: how much is at work at once is the machine's matter, this is without end. At rest: judge.mjs
export const ANSWERS = 16 * 1048576;          // limits.answers: long answers that wait for slow readers, all together
const THREADS_BYTES = 16 * 1048576;          // limits.threads_bytes: what idle conversations may hold together
export const TOOL_SECONDS = 4;

export const OWNERS = ['ada', 'bob', 'cyd'];
// Without sign-in everybody is "local", and who has the start token is the person; all other keys are worth nothing there.
export const ownersOf = (options) => (options.open ? ['local'] : OWNERS);
const TOKEN = 'the-start-token-of-this-world-0123456789';
export const keyOf = (who) => (who === 'local' ? TOKEN : `key-of-${who}-0123456789abcdef`);
const sha = (s) => createHash('sha256').update(s).digest('hex');
// A machine that others use is slow, and that is not the server's fault: bounds are stretched by how many wait for a core.
export const patience = () => Math.max(1, os.loadavg()[0] / (2 * os.cpus().length));

// --- what is guarded -----------------------------------------------------------------------------------

const PAY = { type: 'object', properties: { amount: { type: 'number' }, to: { type: 'string' }, how: { type: 'string' } }, required: ['amount'] };
const ABOVE_100 = { when: { pointer: '/amount', op: '>', value: 100 } };
// The tools with an effect: always | never | above100, idempotent or not. MCP tools by server and name.
export const POLICY = {
    pay: { confirm: 'above100' }, wire_money: { confirm: 'always', high: true }, mail: { confirm: 'never' }, note: { confirm: 'never', low: true }, tick: { confirm: 'never', idempotent: true },
    loose: { confirm: 'always' }, '2fast': { confirm: 'always' }, either: { confirm: 'always' },
    'bank/pay': { confirm: 'always' }, 'bank/ask': { confirm: 'never' }, 'bank/look': { confirm: 'never' }, 'shop/buy': { confirm: 'always' }, 'shop/ask': { confirm: 'never' }, 'shop/shaped': { confirm: 'never' }, 'bank/wide': { confirm: 'never' }, 'fair/buy': { confirm: 'always' }, 'fair/ask': { confirm: 'never' },
    'a/b__pay': { confirm: 'always' }, refund: { confirm: 'always' }, order: { confirm: 'above100' }, reserve: { confirm: 'never' },
};
export const policyOf = (line) => POLICY[line.server ? `${line.server}/${line.tool}` : line.tool];

export class World {
    // options: from the seed, see drawOptions in round.mjs; absent: nobody decides but right after a restart.
    constructor(options, report) {
        Object.assign(this, { options, report, dir: newFolder(), up: false, ended: false, restarts: 0, starts: 0, lines: 0, rss: [], version: 0, versions: [] });
        this.db = path.join(this.dir, 'x.db');
        this.ledger = new Ledger(path.join(this.dir, 'ledger.jsonl'), (l) => this.onEffect?.(l));
        this.model = new Model(this);
        this.tools = new HttpTools(this);
        this.mcp = new McpServers(this);
    }
    violation(rule, text, more = {}) { this.report({ rule, text, ...more }); }

    config() {
        const o = this.options, base = `http://127.0.0.1:${this.model.port}`, tool = (name) => ({ url: `http://127.0.0.1:${this.tools.port}/tool/${name}/${this.version}`, allow: ['127.0.0.1'] });
        const exec = (name) => ({ command: ['python3', '-S', '-E', 'pay.py'], cwd: path.join(HERE, 'tools'), network: true, env: { TORTURE_LEDGER: String(this.tools.port), TORTURE_TOOL: name } });
        const model = (provider, at) => ({ provider, model: 'm', api_key: 'text:key', base_url: base + at, retries: 1, timeouts: { connect: 3, first_byte: 5, idle: 5, total: 20, wait: 2 }, ...(o.concurrent && { concurrent: o.concurrent }) });
        const t = (description, more) => ({ description, timeout: TOOL_SECONDS, input_schema: PAY, ...more });
        const { refund, order, reserve } = terms({ url: `http://127.0.0.1:${this.tools.port}/check`, allow: ['127.0.0.1'] });
        return {
            listen: '127.0.0.1:0', log: 'info', system: 'You are tortured.', demo: { tools: !!o.demo },
            models: { a: model('anthropic', ''), o: model('openai', '/v1'), g: model('gemini', '/v1beta') }, model: ['a'],
            pages: { default: { model: o.model ?? 'a' }, anthropic: { model: 'a' }, openai: { model: 'o' }, gemini: { model: 'g' }, many: { model: ['o', 'g', 'a'] }, few: { model: 'o', tools: ['note', 'pay', 'paint'] } },
            actions: { transfer: { tool: 'pay' }, wire: { tool: 'wire_money' }, draw: { tool: 'paint' } },
            approvals: { on_new_message: o.hold ? 'hold' : 'supersede', who: o.approver ? 'approver' : 'owner', expires: o.expires ?? 86400, ...(o.org && { rules: rules(o.org) }) },
            ...(!o.open && { auth: { keys: this.keys() } }), public_url: 'http://127.0.0.1', links: { key: 'text:0123456789abcdef0123456789abcdef' }, mcp: { wait: 1 },
            ...(o.budget && { budgets: [{ for: 'principal', tokens: o.budget }] }),
            limits: { per_principal: { requests_per_minute: 0, runs: o.runs ?? 0 }, threads_in_memory: o.threads ?? 4, threads_bytes: THREADS_BYTES, answers: ANSWERS, ...(o.allRuns && { runs: o.allRuns }) },
            tools: {
                pay: t('Pays.', { confirm: ABOVE_100, exec: exec('pay'), ask: 'Pay {amount} to {to}?', risk: 'high' }),
                note: t('Notes.', { confirm: 'never', risk: 'low', exec: exec('note') }),
                wire_money: t('Sends money.', { confirm: 'always', risk: 'high', http: tool('wire_money'), ask: 'Send {amount} to {to}?' }),
                mail: t('Sends a letter.', { confirm: 'never', http: tool('mail') }),
                tick: t('Ticks.', { confirm: 'never', idempotent: true, http: tool('tick') }),
                loose: { description: 'Takes anything.', timeout: TOOL_SECONDS, http: tool('loose') },
                '2fast': t('Begins with a digit.', { http: tool('2fast') }),
                either: { description: 'One or the other.', timeout: TOOL_SECONDS, http: tool('either'), input_schema: { type: 'object', properties: { left: {}, right: {} }, anyOf: [{ required: ['left'] }, { required: ['right'] }] } },
                refund: t('Refunds.', { ...refund, http: tool('refund') }),
                order: t('Orders.', { ...order, confirm: ABOVE_100, http: tool('order') }),
                reserve: t('Reserves.', { ...reserve, exec: exec('reserve') }),
                paint: { description: 'In the browser.', client: true, timeout: TOOL_SECONDS, input_schema: { type: 'object' } },
                locate: { description: 'In the browser, asked.', client: true, confirm: 'always', timeout: TOOL_SECONDS, input_schema: { type: 'object' } },
            },
            ...(o.mcp !== false && { mcpServers: this.mcp.config() }),
        };
    }

    keys() {
        // Words that no rule names are no roles.
        const known = (roles) => { const some = roles.filter((r) => this.options.org || !['finance', 'chief'].includes(r)); return some.length ? some : ['user']; };
        const key = (name, principal, roles) => ({ sha256: sha(keyOf(name)), principal, roles: known(roles) });
        return [...Object.keys(PEOPLE).map((who) => key(who, who, rolesOf(who, this.version))), key(AGENT, AGENT.split('.')[0], ['agent'])];
    }

    async open() {
        await this.model.open();
        await this.tools.open();
        await this.start();
        this.watch();
    }
    async close() {
        this.ended = true;
        await this.server?.kill();
        this.model.close();
        this.tools.close();
        removeFolder(this.dir);
    }

    // --- the process --------------------------------------------------------------------------------

    // The HTTP tools are at other addresses from the next start on: what was asked before must not run there.
    move() { this.version++; }
    // Where they were at that time.
    versionAt(ms) { return this.versions.findLast((v) => v.at <= ms)?.version; }

    get child() { return this.server?.child; }
    get err() { return this.server.err; }
    get said() { return this.server.complaints; }

    // fault: an order as in src/base/fault.h; the process may then end by itself, as by kill -9.
    async start(fault) {
        this.versions.push({ at: Date.now(), version: this.version });
        const env = { ...(fault && { PARLEY_FAULT: fault }), ...(this.options.open && { PARLEY_TOKEN: TOKEN }), HOME: this.dir, LANG: 'C.UTF-8', TORTURE_LEDGER: String(this.tools.port),
            ASAN_OPTIONS: 'detect_leaks=1:abort_on_error=0:exitcode=99:quarantine_size_mb=24:malloc_context_size=12:allocator_release_to_os_interval_ms=500',
            UBSAN_OPTIONS: 'halt_on_error=1:print_stacktrace=1:exitcode=99', LSAN_OPTIONS: 'exitcode=98' };
        const server = this.server = new Server({ bin: BIN, dir: this.dir, store: this.db, config: this.config(), env }).spawn();
        Object.assign(this, { meant: false, crashed: false, fault, served: false });
        this.starts++;
        server.child.stderr.on('data', (d) => { this.lines += d.split('\n').length - 1; });
        server.child.on('exit', () => server.child.stderr.resume());
        server.gone.then(() => { if (server === this.server) this.wentAway(); });
        try { this.port = await server.listening(START_MS * patience()); } catch (e) {
            if (server.status === null) { this.violation('start', `the server did not begin to listen: ${e.message}`, { key: '' }); await server.kill(); }
            return false;
        }
        this.heard = Date.now();
        this.up = this.served = server.status === null;
        return this.up;
    }
    // A process that nobody ended is a finding; so is what a sanitizer says at any end.
    wentAway() {
        this.up = false;
        if (this.ended) return;
        const { status } = this.server, report = sanitizer(this.said);
        const ordered = this.fault && this.meant !== 'kill' && (status === 'SIGKILL' || (!this.served && !report));        // a start may fail when memory or disk do
        if (ordered) { this.crashed = true; return; }
        if (report) this.violation('sanitizer', report.text, { key: report.key });
        else if (!this.meant || (this.meant === 'term' && status !== 0))
            this.violation('crash', `the server ended with ${status}${this.meant ? ' after SIGTERM' : ''}: ${this.said.slice(-1500) || this.err.slice(-600)}`, { key: `${status} ${/(assert|must|failed)[^\n]*/i.exec(this.said)?.[0] ?? ''}` });
        this.crashed = !this.meant;
    }
    async kill() {
        this.meant = 'kill';
        this.up = false;
        await this.server.kill();
    }
    async term() {
        this.meant = 'term';
        this.up = false;
        this.child.kill('SIGTERM');
        try { await within(this.server.gone, 'the end', END_MS * patience()); } catch {
            this.violation('shutdown', `SIGTERM did not end the server within ${END_MS} ms`);
            await this.kill();
        }
    }
    // Until there is a process that listens; false when it has to be started by somebody.
    async ready() {
        for (const end = Date.now() + START_MS * patience(); Date.now() < end && !this.ended && !this.crashed; await pause(20)) if (this.up) return true;
        return false;
    }

    // Whoever reads the log stops reading: long enough for the watchdog to notice a server that waits for it.
    stall() {
        const { child } = this;
        child.stderr.pause();
        setTimeout(() => child.stderr.resume(), SILENCE_MS * patience() + STALL_MS).unref();
    }

    // --- watching -------------------------------------------------------------------------------------

    async watch() {
        let lines = 0, many = 0, then = Date.now();
        while (!this.ended) {
            await pause(250);
            if (!this.up) { this.heard = Date.now(); lines = this.lines; continue; }
            const child = this.child;
            const ok = await get(this.port, '/healthz', HEALTH_MS * patience());
            if (this.child !== child || !this.up || this.ended) continue;
            if (ok) this.heard = Date.now();
            else if (Date.now() - this.heard > SILENCE_MS * patience()) {
                this.violation('silence', `/healthz gave no answer for ${Math.round((Date.now() - this.heard) / 1000)} s`, { key: '' });
                this.heard = Date.now();
            }
            const rss = memory(child.pid);
            this.rss.push(rss);
            if (rss > RSS_MAX) this.violation('memory', `the server has ${Math.round(rss / 1048576)} MiB`, { key: 'at once' });
            const now = Date.now(), rate = (this.lines - lines) / (now - then) * 1000;
            many = rate > LINES_MAX ? many + 1 : 0;
            if (many === 4) this.violation('log', `${Math.round(rate)} log lines a second: ${this.err.slice(-300)}`, { key: '' });
            lines = this.lines;
            then = now;
        }
    }
}

// Programs that tools of this world left behind.
export function orphans(world) {
    const mine = `TORTURE_LEDGER=${world.tools.port}`, out = [];
    for (const pid of fs.readdirSync('/proc').filter((p) => /^\d+$/.test(p))) {
        try { if (fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('pay.py') && fs.readFileSync(`/proc/${pid}/environ`, 'utf8').includes(mine)) out.push(pid); } catch { /* gone meanwhile */ }
    }
    return out;
}
export function descriptors(pid) { try { return fs.readdirSync(`/proc/${pid}/fd`).length; } catch { return 0; } }

export function memory(pid) {
    try { return Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024; } catch { return 0; }
}

function get(port, at, ms) {
    return new Promise((yes) => {
        const q = http.get({ host: '127.0.0.1', port, path: at, agent: false, timeout: ms }, (r) => { r.resume(); r.on('end', () => yes(true)); r.on('error', () => yes(false)); });
        q.on('timeout', () => q.destroy());
        q.on('error', () => yes(false));
    });
}

// The report and what tells it from others: its kind and the first of our own frames.
function sanitizer(said) {
    const at = said.search(/ERROR: (Address|Leak)Sanitizer|runtime error:|ERROR: UndefinedBehavior/);
    if (at < 0) return undefined;
    const text = said.slice(said.lastIndexOf('\n', at) + 1), kind = /(?:Sanitizer: ([\w-]+(?: [\w-]+)?))|runtime error: ([^\n]*)/.exec(text);
    const frames = [...text.matchAll(/#\d+ 0x[0-9a-f]+ in (\w+) [^\n]*?(?:src\/)([\w/.]+)/g)].map((m) => m[1]);
    return { text: text.slice(0, 6000), key: `${kind?.[1] ?? kind?.[2] ?? ''} ${frames.slice(0, 2).join(' < ')}` };
}
