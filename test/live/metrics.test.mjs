// What operators read: /metrics as Prometheus reads it, the board of examples/grafana, and lines of the log that say whose
// they are.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { cluster } from '../cluster/lib.mjs';
import { ROOT, check, oneProcess, same, settled, skip, test, until } from './lib.mjs';
import { serveModel, startUpstream } from './upstream.mjs';

// The text form 0.0.4, as strictly as it is written down: every family has its help and its type once, before its lines,
// which stand together; no line comes twice; histograms are whole.
const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*', LABEL = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\[\\\\"n])*"';
const LINE = new RegExp(`^(${NAME})(?:\\{(${LABEL}(?:,${LABEL})*)\\})? (-?[0-9]+(?:\\.[0-9]+)?(?:e[+-]?[0-9]+)?|\\+Inf|NaN)$`);

function read(text) {
    const families = new Map(), seen = new Set();
    let now;
    check(text.endsWith('\n'), 'the last line ends');
    for (const line of text.slice(0, -1).split('\n')) {
        const head = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line);
        if (head) {
            const [, what, name, words] = head;
            if (what === 'HELP') { check(!families.has(name), `${name}: one help`); families.set(name, now = { name, help: words, samples: [] }); }
            else { check(now.name === name && !now.type && /^(counter|gauge|histogram)$/.test(words), line); now.type = words; }
            continue;
        }
        const m = LINE.exec(line);
        check(m, `a line of metrics: ${line}`);
        const [, name, inner = '', value] = m, labels = Object.fromEntries([...inner.matchAll(new RegExp(`(?:^|,)(${LABEL})`, 'g'))].map(([, l]) => [l.slice(0, l.indexOf('=')), l.slice(l.indexOf('=') + 2, -1)]));
        const own = now?.type === 'histogram' ? [`${now.name}_bucket`, `${now.name}_sum`, `${now.name}_count`] : [now?.name];
        check(own.includes(name), `${name} stands with its family`);
        check(now.type !== 'counter' || name.endsWith('_total'), `${name}: a counter ends in _total`);
        check(!seen.has(`${name}{${inner}}`), `${line}: once`);
        seen.add(`${name}{${inner}}`);
        now.samples.push({ name, labels, value: Number(value === '+Inf' ? Infinity : value) });
    }
    for (const f of families.values()) if (f.type === 'histogram') whole(f);
    return families;
}

function whole(f) {
    const key = ({ le, ...rest }) => JSON.stringify(rest), groups = new Map();
    for (const s of f.samples) groups.set(key(s.labels), [...(groups.get(key(s.labels)) ?? []), s]);
    for (const [k, all] of groups) {
        const buckets = all.filter((s) => s.name.endsWith('_bucket')), count = all.find((s) => s.name.endsWith('_count'));
        const le = buckets.map((b) => (b.labels.le === '+Inf' ? Infinity : Number(b.labels.le)));
        check(le.at(-1) === Infinity && le.every((x, i) => !i || x > le[i - 1]), `${f.name}${k}: bounds`);
        check(buckets.every((b, i) => !i || b.value >= buckets[i - 1].value), `${f.name}${k}: they add up`);
        same(buckets.at(-1).value, count.value, `${f.name}${k}: the last has all`);
        check(all.some((s) => s.name.endsWith('_sum')), `${f.name}${k}: a sum`);
    }
}

const value = (families, name, labels = {}) => [...families.values()].flatMap((f) => f.samples).find((s) => s.name === name && Object.entries(labels).every(([k, v]) => s.labels[k] === v))?.value;

test('the metrics are what Prometheus reads: approvals, models, tokens, money and tools', async (t) => {
    oneProcess('each counts its own');
    const up = await startUpstream(t);
    const server = await serveModel(t, up, 'openai', { config: { model: ['dead', 'good'], models: { dead: up.model('openai', { model: 'sc-500-no', retries: 0 }), good: up.model('openai', { retries: 0, prices: { input: 3, output: 15, currency: 'EUR' } }) } } });
    await server.turn('hi');
    await server.turn('{{call get_weather {"city":"Oslo"}}}');
    const pay = await server.turn('{{call process_payment {"amount":50,"recipient":"Hanako","currency":"USD"}}}');
    const text = (await server.get('/metrics')).text, m = read(text);
    same([value(m, 'parley_approvals_pending'), m.get('parley_approvals_oldest_seconds').samples.length], [1, 1], 'one waits');
    same(value(m, 'parley_model_seconds_count', { model: 'good' }), 4, 'answers of the model');
    same(value(m, 'parley_model_first_byte_seconds_count', { model: 'good' }), 4);
    check(m.get('parley_model_errors_total').samples.every((s) => s.labels.model === 'dead' && s.labels.code.startsWith('model_')) && m.get('parley_model_errors_total').samples.length === 1, 'and what failed');
    same([value(m, 'parley_tokens_total', { model: 'good', direction: 'input' }), value(m, 'parley_tokens_total', { model: 'good', direction: 'output' })], [80, 48]);
    same(value(m, 'parley_cost_total', { model: 'good' }), 0.00096, '4 answers of 240 millionths');
    same([value(m, 'parley_tool_seconds_count', { tool: 'get_weather' }), value(m, 'parley_tool_seconds_count', { tool: 'process_payment' })], [1, undefined], 'what ran');
    await server.post(`/v1/approvals/${pay.payload.awaiting[0]}`, { confirmed: false });
    await settled(server, pay.thread);
    same(value(read((await server.get('/metrics')).text), 'parley_approvals_pending'), 0);
});

// The installed one, or the one that scripts/setup test took out of Debian's package.
const promtool = () => ['promtool', path.join(ROOT, '.tools/promtool')].find((p) => !spawnSync(p, ['--version']).error) ?? skip('no promtool; scripts/setup test fetches it');

test('promtool reads them and has nothing to say', async (t) => {
    const tool = promtool(), up = await startUpstream(t);
    const server = await serveModel(t, up, 'openai', { config: { model: ['dead', 'good'], models: { dead: up.model('openai', { model: 'sc-500-no', retries: 0 }), good: up.model('openai', { retries: 0, prices: { input: 3, output: 15, currency: 'EUR' } }) } } });
    await server.turn('{{call get_weather {"city":"Oslo"}}}');
    await server.turn('{{call process_payment {"amount":50,"recipient":"Hanako","currency":"USD"}}}');
    const lint = (input) => { const r = spawnSync(tool, ['check', 'metrics'], { input, encoding: 'utf8' }); return [r.status, r.stdout + r.stderr]; };
    const { text } = await server.get('/metrics');
    same(lint(text), [0, '']);
    same(lint(text.replace('# HELP parley_approvals_pending ', '# HLP '))[0], 3, 'it would have said so');
});

test('every number that the board asks for is there', async (t) => {
    const board = JSON.parse(fs.readFileSync(path.join(ROOT, 'examples/grafana/parley.json'), 'utf8'));
    const up = await startUpstream(t), server = await serveModel(t, up, 'openai', {});
    await server.turn('hi');
    const [node] = (await cluster(t, { nodes: 2 })).nodes;          // has what only those have who have others
    const m = new Map();
    for (const x of [server, node]) for (const [name, f] of read((await x.get('/metrics')).text)) m.set(name, f);
    const asked = new Set(board.panels.flatMap((p) => p.targets.flatMap((x) => x.expr.match(/parley_[a-z_]+/g))));
    const told = new Set([...m.values()].flatMap((f) => [f.name, ...(f.type === 'histogram' ? [`${f.name}_bucket`, `${f.name}_sum`, `${f.name}_count`] : [])]));
    same([...asked].filter((x) => !told.has(x)), [], 'asked for and not told');
    same(new Set(board.panels.map((p) => p.id)).size, board.panels.length, 'panels have ids of their own');
});

test('lines of the log say of which conversation, run, person and call they are; numbers are numbers', async (t) => {
    const up = await startUpstream(t), server = await serveModel(t, up, 'openai', {});
    const s = await server.turn('{{call process_payment {"amount":50,"recipient":"Hanako","currency":"USD"}}}');
    const [id] = s.payload.awaiting;
    same((await server.post(`/v1/approvals/${id}`, { confirmed: true })).status, 200);
    await settled(server, s.thread);
    const lines = await until(() => { const l = server.log.filter((x) => x.thread === s.thread); return l.some((x) => x.event === 'run.ended') && l; }, 'the end in the log');
    same(lines.map((l) => l.event), ['model.answered', 'approval.asked', 'approval.decided', 'tool.started', 'tool.finished', 'model.answered', 'run.ended']);
    const [answered, asked, decided, started, finished, , ended] = lines, run = ended.run;
    check(lines.every((l) => l.run === run && l.principal === ended.principal && l.principal), 'one run, one person');
    check(/^run_/.test(run) && [asked, decided, started, finished].every((l) => /^call-/.test(l.call) && l.call === asked.call && l.tool === 'process_payment'), JSON.stringify(lines));
    same([asked.id, decided.id, decided.outcome, finished.outcome, ended.outcome], [id, id, 'approved', 'done', 'complete']);
    check(decided.by && decided.via && decided.waited_ms >= 0, JSON.stringify(decided));
    for (const [l, keys] of [[answered, ['attempt', 'status', 'first_byte_ms', 'ms', 'bytes', 'input_tokens', 'output_tokens']], [finished, ['ms']], [ended, ['input_tokens', 'output_tokens']]])
        for (const k of keys) same([k, typeof l[k]], [k, 'number']);
    check(!server.err.includes('Hanako'), 'and none has words of the conversation in it');
});
