// server.mjs -- a real parley on a free port, in a folder of its own: started, asked, killed,
// started again.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { BIN, Program, clean, newFolder, removeFolder } from './program.mjs';
import { Stream, request } from './http.mjs';
import { certificate } from './certificate.mjs';

// PARLEY_TLS=1: every server has a certificate, and everybody talks to it by TLS.
const TLS = !!process.env.PARLEY_TLS;

export const CONFIG = {
    listen: '127.0.0.1:0',
    demo: { token_ms: 0 },
    actions: { apply_schema: { tool: 'apply_schema' } },
};

// Whether programs can be isolated here as the configuration wants it by default; where they cannot
// (a container or a desktop without user namespaces), tests of other things run them with what
// there is.
let isolates;
function isolated() {
    if (isolates !== undefined) return isolates;
    const dir = newFolder(), file = path.join(dir, 'parley.json');
    const tools = { t: { description: 'd', exec: { command: ['sh'] } } };
    fs.writeFileSync(file, JSON.stringify({ tools }));
    const options = { cwd: dir, env: clean(), encoding: 'utf8' };
    const r = spawnSync(BIN, ['check', '--config', file], options);
    removeFolder(dir);
    isolates = !/cannot isolate/.test(r.stderr);
    if (!isolates) console.log(`note: ${r.stderr.slice(r.stderr.indexOf('this machine')).trim()}`);
    return isolates;
}
function withTools(tools) {
    const all = Object.entries(tools ?? {}), runs = ([, tool]) => tool?.exec;
    if (!all.some(runs) || isolated()) return {};
    const eased = (tool) => ({ ...tool, exec: { sandbox: 'best_effort', ...tool.exec } });
    const entries = all.map(([name, tool]) => [name, tool?.exec ? eased(tool) : tool]);
    return { tools: Object.fromEntries(entries) };
}

// A test asks again and again until something is there, and how many requests that makes is up to the
// machine: what one person may ask in a minute is a limit only where a test sets it.
const PATIENT = { per_principal: { requests_per_minute: 1000000 } };

// The tests' own configuration with `config` over it.
export function configured(config = {}) {
    const demo = { ...CONFIG.demo, ...config.demo };
    const limits = config.auth && { limits: { ...PATIENT, ...config.limits } };
    return { ...CONFIG, ...config, ...withTools(config.tools), ...limits, demo };
}

const lines = (text) => text.split('\n').filter(Boolean);

export class Server extends Program {
    // {config}: all of it, written to {file}; {dir}: an earlier server's folder is the same store again; {store}: the
    // file, when it is elsewhere; null: the configuration says where, and {db} beside what its
    // ledger is; {mayFail}: nobody minds how it ends; {wrap}: a command that runs it, as
    // ["prlimit", "--nofile=64"].
    constructor({ config, dir, store = path.join(dir, 'x.db'), db = store, env = {}, args = [],
        file = path.join(dir, 'parley.json'), mayFail = false, wrap = [], bin = BIN }) {
        const options = ['--config', file, ...(store ? ['--store', `sqlite:${store}`] : []), ...args];
        const [command, ...all] = [...wrap, bin, 'serve', ...options];
        super(command, all, { cwd: dir, env: { ...clean(), ...env } });
        Object.assign(this, { dir, db, mayFail, file });
        this.configure(config);
    }
    // What it reads when it starts, or is sent SIGHUP.
    configure(config) {
        this.config = config;
        fs.writeFileSync(this.file, JSON.stringify(TLS && !config.cluster ? { tls: certificate(this.dir), ...config } : config));
    }
    async start() {
        this.spawn();
        await this.listening();
        return this;
    }
    // Until it has said all of its first words, and with them its port. Whoever started it has its
    // token, and sends it.
    async listening(ms) {
        const words = /(https?):\/\/(?:\S*):(\d+)\S*\n[^]*\n {2}data /;
        const [, scheme, port] = await this.says(words, 'the server', ms);
        Object.assign(this, { secure: scheme === 'https', port: Number(port) });
        this.token = this.options.env.PARLEY_TOKEN ?? /#token=(\S+)/.exec(this.out)?.[1];
        return this.port;
    }
    // On the same store and the same port. SIGTERM: an orderly end. SIGKILL: a crash.
    async restart(signal = 'SIGTERM') {
        await (signal === 'SIGKILL' ? this.kill() : this.term());
        if (!this.args.includes('--listen')) this.args.push('--listen', `127.0.0.1:${this.port}`);
        return this.start();
    }
    // At the end of a test a server that nobody killed must end well and have nothing to complain
    // about: under the sanitizers this is where leaks are told.
    async end() {
        if (this.status === null) await this.term().catch(() => this.kill());
        if (this.killed || this.mayFail) return;
        if (this.status === 0 && !this.complaints) return;
        const said = this.complaints.slice(0, 4000) || this.err.slice(-2000);
        throw new Error(`the server ended with ${this.status}: ${said}`);
    }
    get url() { return `http${this.secure ? 's' : ''}://127.0.0.1:${this.port}`; }
    // The log: one JSON object per line. The rest are somebody's last words.
    get log() { return lines(this.err).filter((l) => l.startsWith('{')).map((l) => JSON.parse(l)); }
    get complaints() { return lines(this.err).filter((l) => !l.startsWith('{')).join('\n'); }

    request(method, at, body, headers) { return request(this, method, at, body, headers); }
    get(at, headers) { return request(this, 'GET', at, undefined, headers); }
    post(at, body, headers) { return request(this, 'POST', at, body, headers); }
    open(method, at, body, headers) { return Stream.open(this, method, at, body, headers); }
    // A message to the typed door, as a stream.
    say(message, more = {}) { return this.open('POST', '/v1/chat/stream', { message, ...more }); }
    // The same, read to its end.
    async turn(message, more = {}) { return (await this.say(message, more)).read(); }
    events(thread, after = '0.0', headers) {
        return this.open('GET', `/v1/threads/${thread}/events?after=${after}`, undefined, headers);
    }
    // The payments that really happened.
    ledger() {
        const at = this.db + '.ledger.jsonl';
        if (!fs.existsSync(at)) return [];
        return lines(fs.readFileSync(at, 'utf8')).map((l) => JSON.parse(l));
    }
    async metrics() {
        const { text } = await this.get('/metrics');
        const found = lines(text).map((l) => /^([^#].*) (\S+)$/.exec(l)).filter(Boolean);
        return Object.fromEntries(found.map(([, name, value]) => [name, Number(value)]));
    }
}
