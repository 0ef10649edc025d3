// lib.mjs -- several nodes on one PostgreSQL, and everything between them that can break.
//
//     client ─▶ front (each connection to the next node) ─▶ node ─▶ wire ─▶ PostgreSQL ◀─ standby
//                                                             ▲
//                          another node ─▶ wire (cluster.url) ┘
//
// A wire is a dumb TCP proxy: it can be cut, held, cut when so many bytes have passed, or stuck. All nodes
// write their payments into one ledger, which is the judge.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { Skip, check, until, within } from '../lib/check.mjs';
import { BIN, ROOT, clean, newFolder, removeFolder, runToEnd } from '../lib/program.mjs';
import { Server, configured } from '../lib/server.mjs';

// --- wires --------------------------------------------------------------------------------

// `to` gives the port of the moment, or several to be tried in order.
export class Wire {
    constructor(to) { Object.assign(this, { to, pairs: new Set(), open: true, held: false, passed: [0, 0] }); }
    async listen(port = 0) {
        this.server = net.createServer({ allowHalfOpen: true }, (s) => this.take(s)).listen(port, '127.0.0.1');
        await once(this.server, 'listening');
        this.port = this.server.address().port;
        return this;
    }
    take(client) {
        client.on('error', () => {});
        if (!this.open) { client.resetAndDestroy(); return; }
        const pair = { client };
        this.pairs.add(pair);
        client.on('close', () => this.closed(pair, pair.far));
        client.pause();
        this.connect(pair, [this.to()].flat());
    }
    connect(pair, ports) {
        const port = ports.shift();
        if (!port || pair.over) { this.drop(pair, true); return; }
        const far = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
        let stood = false;
        pair.far = far;
        pair.port = port;
        far.on('error', () => { if (!stood) { stood = true; this.connect(pair, ports); } });
        far.on('connect', () => {
            stood = true;
            for (const [a, b, way] of [[pair.client, far, 0], [far, pair.client, 1]]) {
                a.setNoDelay(true);
                a.on('data', (d) => this.pass(pair, a, b, way, d));
                a.on('end', () => { if (!pair.stuck) b.end(); });
            }
            far.on('close', () => this.closed(pair, pair.client));
            pair.client.resume();
            if (this.held) this.hold(true);
        });
    }
    pass(pair, from, to, way, data) {
        this.passed[way] += data.length;
        if (pair.stuck || (way === 0 && this.sticks?.(data))) { this.stick(pair, to, data); return; }
        if (this.limit && this.limit.way === way) {
            const rest = this.limit.left;
            this.limit.left -= data.length;
            if (rest <= data.length) { to.write(data.subarray(0, rest)); this.limit = undefined; this.hits = (this.hits ?? 0) + 1; this.cut(); return; }
        }
        if (!to.write(data)) { from.pause(); to.once('drain', () => { if (!this.held) from.resume(); }); }
    }
    // The last bytes of what was sent never arrive, and nobody tells the server that no more will come: a machine
    // without power. The client hears nothing.
    stick(pair, to, data) {
        if (!pair.stuck) to.write(data.subarray(0, -5));
        this.stuck = (this.stuck ?? 0) + !pair.stuck;
        pair.stuck = pair.over = true;
    }
    // One end is gone: what it said is still told to the other.
    closed(pair, other) {
        if (pair.over) return;
        if (!other) { this.drop(pair); return; }
        pair.over = true;
        this.pairs.delete(pair);
        other.end(() => setTimeout(() => other.destroy(), 1000).unref());
    }
    drop(pair, reset) {
        pair.over = true;
        this.pairs.delete(pair);
        if (reset) pair.client.resetAndDestroy(); else pair.client.destroy();
        pair.far?.destroy();
    }
    // What stands is broken now; new connections are taken unless `open` is false.
    cut(open = true) { this.open = open; for (const p of [...this.pairs]) this.drop(p, true); }
    heal() { this.open = true; }
    // Passes nothing on and closes nothing: a network that swallows.
    hold(held) {
        this.held = held;
        for (const p of this.pairs) for (const s of [p.client, p.far]) if (held) s?.pause(); else s?.resume();
    }
    // Cut once `bytes` more have gone to the server (0) or come from it (1).
    cutAfter(bytes, way) { this.limit = { left: bytes, way }; }
    close() { this.cut(false); this.server.close(); }
}

// Each connection goes to another node than the one before; one that refuses is passed over.
export class Front extends Wire {
    constructor(ports, pick) {
        super(() => {
            const all = ports(), first = pick ? Math.floor(pick() * all.length) : this.turn++ % (all.length || 1);
            return [...all.slice(first), ...all.slice(0, first)];
        });
        this.turn = 0;
    }
}

// --- PostgreSQL ---------------------------------------------------------------------------

// scripts/postgres, which ends with us however we end: its input is a pipe of ours.
export class Postgres {
    static start(...settings) { return Postgres.startIn(undefined, ...settings); }
    // {folder}: another than a temporary one; it is kept.
    static async startIn(folder, ...settings) {
        const p = new Postgres();
        const env = { ...process.env, ...(folder && { PARLEY_POSTGRES: folder }) };
        p.child = spawn(path.join(ROOT, 'scripts/postgres'), settings, { env, stdio: ['pipe', 'pipe', 'pipe'] });
        Object.assign(p, { out: '', err: '', lines: [] });
        p.child.stderr.setEncoding('utf8').on('data', (d) => { p.err += d; });
        p.child.stdout.setEncoding('utf8').on('data', (d) => { p.out += d; p.wake?.(); });
        p.gone = new Promise((yes) => { p.child.on('close', yes); });
        p.child.on('close', () => { p.over = true; p.wake?.(); });
        p.url = await p.line('PostgreSQL to start');
        p.child.unref();
        for (const s of p.child.stdio) s.unref?.();
        return p;
    }
    async line(what) {
        let end;
        const found = () => { end = this.out.indexOf('\n'); return end >= 0; };
        await within(new Promise((yes) => { this.wake = () => { if (found() || this.over) yes(); }; this.wake(); }), what, 60000);
        if (end < 0) throw new Error(`${what}: ${this.err || 'it ended'}`);
        const line = this.out.slice(0, end);
        this.out = this.out.slice(end + 1);
        return line;
    }
    // One of stop, start, standby, failover.
    order(word) { this.child.stdin.write(word + '\n'); return this.line(`PostgreSQL to ${word}`); }
    // The servers' ports: one, or two with a standby.
    get ports() { return [...this.url.split('@')[1].split('/')[0].matchAll(/:(\d+)/g)].map((m) => Number(m[1])); }
    async addStandby() { this.url = await this.order('standby'); return this; }
    stop() { this.child.stdin.end(); return within(this.gone, 'PostgreSQL to end'); }
}

const psql = (() => {
    for (const v of fs.existsSync('/usr/lib/postgresql') ? fs.readdirSync('/usr/lib/postgresql').sort((a, b) => b - a) : [])
        if (fs.existsSync(`/usr/lib/postgresql/${v}/bin/psql`)) return `/usr/lib/postgresql/${v}/bin/psql`;
    return 'psql';
})();

// The rows of a statement, a list of texts each.
export async function sql(url, text) {
    const r = await runToEnd(psql, ['-X', '-q', '-A', '-t', '-F', '\t', '-v', 'ON_ERROR_STOP=1', '-d', url, '-c', text], { env: { ...clean(), PGCONNECT_TIMEOUT: '5' } });
    if (r.code !== 0) throw new Error(`${text}: ${r.err}`);
    return r.out.split('\n').filter(Boolean).map((l) => l.split('\t'));
}

// The server that tests of one process share; a store of its own in it for whoever asks.
let shared, schemas = 0;
export async function newStore(pg) {
    pg ??= await (shared ??= Postgres.start());
    const name = `s${++schemas}_${process.pid}`;
    await sql(pg.url, `CREATE SCHEMA ${name}`);
    return { pg, schema: name };
}
// {url}: it is somebody's own. Without a schema: the database's.
export const storeUrl = ({ url, pg, schema }, ports = pg.ports) =>
    url ?? `postgresql://parley:open%20sesame@${ports.map((p) => `127.0.0.1:${p}`).join(',')}/parley${schema ? `?options=-csearch_path%3D${schema}` : ''}`;

// --- a cluster -----------------------------------------------------------------------------

export const KEY = 'a key that all nodes of the tests know, and nobody else';
const TOKEN = 'token-of-the-cluster-0123456789abcdef';

// What stands for a server in every test: `port` is the front's, requests go wherever that sends them.
export class Cluster {
    // {nodes, config, dir, env} as for a server; {pg}: other than the shared one; {pick}: which node gets a connection,
    // a function that gives a number below 1; {orders}: nodes take orders (src/base/fault.h); {direct}: no wires to the
    // database, so that a server that is gone refuses (libpq tries no other once it was let in).
    constructor({ nodes = 3, config = {}, dir, env = {}, args = [], mayFail = false, pg, pick, orders = false, direct = false, frontPort = 0, bin = BIN, wrap = [] }) {
        Object.assign(this, { count: nodes, config, dir, env: { ...env }, args, mayFail, given: pg, pick, orders, direct, frontPort, bin, wrap, nodes: [], killed: false });
        this.ledgerAt = config.demo?.ledger ?? path.join(dir, 'x.db.ledger.jsonl');
    }
    async start() {
        this.store = this.store ?? stores.get(this.dir) ?? await newStore(this.given);
        stores.set(this.dir, this.store);
        this.front ??= await new Front(() => this.alive.map((n) => n.port).filter(Boolean), this.pick).listen(this.frontPort);
        this.port = this.front.port;
        // where nobody signs in, all nodes have one token
        this.token = this.env.PARLEY_TOKEN ?? (this.config.auth ? undefined : TOKEN);
        this.killed = false;
        while (this.nodes.length < this.count) await this.add();
        await Promise.all(this.nodes.filter((n) => n.status !== null || !n.child).map((n) => n.start()));
        return this;
    }
    // One node more, not started. {env}, {url}: other than its own.
    async add({ env = {}, url, config = {} } = {}) {
        const i = this.nodes.length, { dir } = this;
        const database = this.direct ? [] : await Promise.all(this.store.pg.ports.map((p) => new Wire(() => p).listen()));
        let node;
        const link = await new Wire(() => node.port).listen();
        const order = this.orders && path.join(dir, `order${i}`);
        node = new Server({
            dir, file: path.join(dir, `parley-${i}.json`), db: path.join(dir, 'x.db'), bin: this.bin, wrap: this.wrap, args: this.args, mayFail: this.mayFail, store: null,
            config: this.configOf(i, link, { url, config }),
            env: { ...(this.token && { PARLEY_TOKEN: this.token }), PARLEY_CLUSTER_KEY: KEY, PARLEY_STORE: storeUrl(this.store, this.direct ? undefined : database.map((w) => w.port)), ...(order && { PARLEY_FAULT_FILE: order }), ...this.env, ...env },
        });
        Object.assign(node, { link, database, name: `node${i}`, cluster: this, orderAt: order, own: { url, config } });
        node.sleep = (yes) => { node.child.kill(yes ? 'SIGSTOP' : 'SIGCONT'); node.stopped = yes; };
        node.cutDatabase = (open) => { for (const w of database) w.cut(open); };
        this.nodes.push(node);
        return node;
    }
    // The configuration of all, with what each has for itself.
    configOf(i, link, { url, config }) {
        return { ...this.config, ...config, listen: config.listen ?? '127.0.0.1:0', store: 'env:PARLEY_STORE', work: path.join(this.dir, `work${i}`),
            demo: { ...this.config.demo, ledger: this.ledgerAt },
            mcp: { link: this.url, ...this.config.mcp },         // where people come in, not this node's own address
            ...(this.count > 1 && { cluster: { url: url ?? `http://127.0.0.1:${link.port}`, key: 'env:PARLEY_CLUSTER_KEY' } }) };
    }
    configure(config) {
        this.config = config;
        this.nodes.forEach((n, i) => n.configure(this.configOf(i, n.link, n.own)));
    }
    // The database of the servers of the moment (after a standby was made anew the ports are the same).
    get url() { return `http://127.0.0.1:${this.port}`; }
    get alive() { return this.nodes.filter((n) => n.status === null && n.child && !n.stopped); }
    sql(text) { return sql(storeUrl(this.store), text); }
    // As `parley nodes` tells it, with our own nodes beside.
    async list() {
        const rows = await this.sql(`SELECT id, url, until > clock_timestamp() FROM parley_node`);
        return rows.map(([id, url, alive]) => ({ id, url, alive: alive === 't', node: this.nodes.find((n) => url === `http://127.0.0.1:${n.link.port}`) }));
    }
    // The node that holds a thread, or undefined.
    async holder(thread) {
        const [row] = await this.sql(`SELECT n.url FROM parley_thread t JOIN parley_node n ON n.id = t.holder AND n.until > clock_timestamp() WHERE t.name = '${thread}'`);
        return row && this.nodes.find((n) => row[0] === `http://127.0.0.1:${n.link.port}`);
    }
    // An order to a node, as in fault/lib.mjs: it was taken, or the node is gone.
    async order(node, text) {
        const taken = () => node.err.split('"fault.order"').length, before = taken();
        fs.writeFileSync(node.orderAt, text);
        node.child.kill('SIGUSR2');
        await until(() => node.status !== null || taken() > before, `the order "${text}" to be taken`);
    }
    get err() { return this.nodes.map((n) => n.err ?? '').join(''); }
    get out() { return this.nodes.map((n) => n.out ?? '').join(''); }
    get log() { return this.nodes.flatMap((n) => n.log); }
    get complaints() { return this.nodes.map((n) => n.complaints).filter(Boolean).join('\n'); }
    get status() { return this.nodes.every((n) => n.status !== null) ? this.nodes[0].status : null; }
    get gone() { return Promise.all(this.nodes.map((n) => n.gone)).then(() => this.status); }
    get child() { throw new Skip('it looks into one process'); }
    get options() { return this.nodes[0].options; }
    get db() { throw new Skip('it looks into the file of its store'); }
    ledger() { return this.nodes[0].ledger(); }
    // Each node counts its own; what is counted is added up.
    async metrics() {
        const all = {};
        for (const m of await Promise.all(this.alive.map((n) => n.metrics())))
            for (const [name, value] of Object.entries(m)) all[name] = (all[name] ?? 0) + value;
        return all;
    }
    async kill() { this.killed = true; await Promise.all(this.alive.map((n) => n.kill())); }
    async term() { await Promise.all(this.alive.map((n) => n.term())); return this.status; }
    async restart(signal = 'SIGTERM') {
        await (signal === 'SIGKILL' ? this.kill() : this.term());
        return this.start();
    }
    async end() {
        const ends = await Promise.allSettled(this.nodes.filter((n) => n.child).map((n) => n.end()));
        this.front?.close();
        for (const n of this.nodes) { n.link.close(); for (const w of n.database) w.close(); }
        const bad = ends.find((e) => e.status === 'rejected');
        if (bad && !this.killed) throw bad.reason;
    }
}
// What a client does with a server, it does with the cluster in the same words.
for (const name of ['request', 'get', 'post', 'open', 'say', 'turn', 'events'])
    Object.defineProperty(Cluster.prototype, name, Object.getOwnPropertyDescriptor(Server.prototype, name));

const stores = new Map();                 // a folder given again is the same store again

// A cluster for one test: t.defer closes it.
export async function cluster(t, options = {}) {
    const c = new Cluster({ ...options, config: configured(options.config), dir: options.dir ?? t.folder() });
    t.defer(() => c.end());
    return c.start();
}

// --- what was told --------------------------------------------------------------------------

// The events of a thread as every node tells them: the same bytes, from the beginning and from any cursor.
export async function sameEverywhere(c, thread, ends, pick = Math.random) {
    let first;
    for (const node of c.alive) {
        let s;
        // A node that slept for longer than its lease tells what it heard, and takes it back when it has read the log.
        do {
            s = await node.events(thread, '0.0');
            await s.wait(() => ends(s) || s.over, `the end of ${thread} as ${node.name} tells it`);
            await s.close();
        } while (s.events.some((e) => e.data?.type === 'step_reset'));
        const told = s.events.filter((e) => e.id).map((e) => `${e.id} ${e.raw}`);
        first ??= told;
        check(told.join('\n') === first.join('\n'), `${node.name} tells ${thread} otherwise:\n${told.join('\n').slice(0, 3000)}\n---\n${first.join('\n').slice(0, 3000)}`);
        const at = Math.floor(pick() * (told.length - 1)), rest = await node.events(thread, told[at].split(' ')[0]);
        await rest.wait(() => rest.events.filter((e) => e.id).length >= told.length - at - 1 || rest.over, `${thread} from ${told[at].split(' ')[0]} on ${node.name}`);
        await rest.close();
        check(rest.events.filter((e) => e.id).map((e) => `${e.id} ${e.raw}`).join('\n') === told.slice(at + 1).join('\n'), `${node.name} goes on otherwise from ${told[at].split(' ')[0]}`);
    }
    return first;
}

// A psql that stays, for whoever asks often or holds a lock: the rows of a statement, a list of texts each.
export class Session {
    constructor(url) {
        this.child = spawn(psql, ['-X', '-q', '-A', '-t', '-F', '\t', '-d', url], { env: { ...clean(), PGCONNECT_TIMEOUT: '5' }, stdio: ['pipe', 'pipe', 'ignore'] });
        this.text = '';
        this.child.stdin.on('error', () => {});
        this.child.stdout.setEncoding('utf8').on('data', (d) => { this.text += d; this.wake?.(); });
        this.child.on('close', () => { this.over = true; this.wake?.(); });
    }
    // undefined: the database is away.
    async ask(sql) {
        this.text = '';
        this.child.stdin.write(`${sql};\n\\echo .\n`);
        await new Promise((yes) => { this.wake = () => { if (this.over || /^\.$/m.test(this.text)) yes(); }; this.wake(); });
        return this.over ? undefined : this.text.split('\n').slice(0, -2).map((l) => l.split('\t'));
    }
    end() { this.child.stdin.end(); this.child.kill(); }
}

const UNHELD = `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8, t.name
    FROM (SELECT) x LEFT JOIN parley_thread t ON state = 'running' AND EXISTS (SELECT FROM parley_node WHERE until > clock_timestamp())
    AND (holder IS NULL OR NOT EXISTS (SELECT FROM parley_node n WHERE n.id = t.holder AND n.until > clock_timestamp()))`.replace(/\s+/g, ' ');

// Looks four times a second for threads that run though nobody alive holds them, while anybody is alive who could.
// The times are the database's: however long we had to wait for a processor, or psql for one, is in none of them.
// `over()` gives the longest time.
export function watchHolders(c) {
    const since = new Map();
    let worst = 0, stopped = false, session;
    const look = async () => {
        if (!session || session.over) session = new Session(storeUrl(c.store));
        const rows = await session.ask(UNHELD);
        if (!rows?.length) { since.clear(); return; }    // the database is away: nobody can hold anything
        const now = Number(rows[0][0]), names = new Set(rows.map((r) => r[1]).filter(Boolean));
        for (const n of since.keys()) if (!names.has(n)) since.delete(n);
        for (const n of names) { if (!since.has(n)) since.set(n, now); worst = Math.max(worst, now - since.get(n)); }
    };
    const loop = (async () => {
        while (!stopped) { await look(); await new Promise((yes) => setTimeout(yes, 250)); }
        session?.end();
    })();
    return { over: async () => { stopped = true; await loop; return worst; }, reset: () => since.clear() };
}

export { removeFolder, newFolder, until };
