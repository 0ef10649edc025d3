// clients/: one file each for Python and TypeScript. Their READMEs' programs run, a cut connection loses nothing,
// and a refusal says what it is.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT, check, clean, runToEnd, same, settled, skip, test, until } from './lib.mjs';
import { cutting } from './cutting.mjs';
import { block, lines } from './written.mjs';

const TSC = path.join(ROOT, 'web/node_modules/.bin/tsc');

// {write(name, text), run(name)} in a folder that has the client.
function python(t) {
    if (spawnSync('python3', ['--version']).error) skip('there is no python3 here');
    const dir = t.folder();
    return { readme: ['clients/python/README.md', 'python'],
        run: (program) => { fs.writeFileSync(path.join(dir, 'program.py'), program); return runToEnd('python3', ['program.py'], { cwd: dir, env: { ...clean(), PYTHONPATH: path.join(ROOT, 'clients/python'), PYTHONDONTWRITEBYTECODE: '1' } }); } };
}
// Checked by the compiler in strict mode, then run by Node.
function typescript(t) {
    if (!fs.existsSync(TSC)) skip('the page\'s packages, which have the compiler, are not installed');
    const dir = t.folder();
    return { readme: ['clients/typescript/README.md', 'ts'], run: async (program) => {
        fs.writeFileSync(path.join(dir, 'package.json'), '{"type":"module"}');
        fs.writeFileSync(path.join(dir, 'node.d.ts'), 'declare const process: { stdout: { write(text: string): void }; env: Record<string, string | undefined> };\n');
        fs.copyFileSync(path.join(ROOT, 'clients/typescript/parley.ts'), path.join(dir, 'parley.ts'));
        fs.writeFileSync(path.join(dir, 'program.ts'), program.replace("'./parley'", "'./parley.js'"));
        const options = ['--strict', '--target', 'es2022', '--module', 'nodenext', '--lib', 'es2022,dom,dom.asynciterable', '--types', ''];
        const made = await runToEnd(TSC, [...options, 'program.ts', 'node.d.ts'], { cwd: dir, env: clean(), ms: 120000 });
        same([made.code, made.out], [0, ''], 'the compiler');
        return runToEnd(process.execPath, ['program.js'], { cwd: dir, env: clean() });
    } };
}

const PYTHON = (url, way) => `
import json
from parley import *
chat = Parley("${url}")
run = Parley("${way}").say("Find articles about CRISPR", page="default")
words = "".join(e.text for e in run if isinstance(e, TextDelta))
said = [e for e in chat.resume(run.thread) if isinstance(e, (Intent, ToolStart, ToolComplete))]
paid = chat.say("Send 50 dollars to Hanako", thread=run.thread)
question = [e for e in paid if isinstance(e, ToolConfirmation)][0]
waiting = [a["id"] for a in chat.approvals(status="pending", limit=1)]
no = chat.decide(question.confirmation_id, False, reason="not today")
rest = [type(e).__name__ for e in paid.go_on()]
codes = []
for wrong in (lambda: chat.decide("confirmation-none", True), lambda: list(chat.say("")), lambda: list(chat.say("hi", page="nowhere"))):
    try: wrong()
    except Refused as e: codes.append([e.status, e.code, bool(e.message)])
try: chat.decide(question.confirmation_id, "true")
except TypeError: codes.append("TypeError")
print(json.dumps({"words": words, "message": run.message, "thread": run.thread, "said": [type(e).__name__ for e in said], "input": question.input, "asked": waiting == [question.confirmation_id],
  "no": [no["status"], no["duplicate"]], "rest": [r for r in rest if r.startswith("Tool") or r == "Complete"], "codes": codes, "usage": chat.usage()["tokens"] > 0, "stopped": chat.stop(run.thread)}, default=str))
`;
const TYPESCRIPT = (url, way) => `
import { Parley, Refused, type ParleyEvent } from './parley.js';
const chat = new Parley('${url}');
const all = async (run: AsyncIterable<ParleyEvent>) => { const out: ParleyEvent[] = []; for await (const e of run) out.push(e); return out; };
const names: Record<string, string> = { intent_confirmation: 'Intent', tool_start: 'ToolStart', tool_complete: 'ToolComplete', complete: 'Complete' };
const told = (events: ParleyEvent[], last: boolean) => events.map((e) => names[e.type]).filter((n) => n && (last ? n !== 'Intent' : n !== 'Complete'));
const run = new Parley('${way}').say('Find articles about CRISPR', { page: 'default' });
let words = '';
for await (const e of run) if (e.type === 'text_delta') words += e.text;
const said = told(await all(chat.resume(run.thread!)), false);
const paid = chat.say('Send 50 dollars to Hanako', { thread: run.thread });
const question = (await all(paid)).find((e) => e.type === 'tool_confirmation')!;
if (question.type !== 'tool_confirmation') throw new Error('no question');
const waiting: string[] = [];
for await (const a of chat.approvals({ status: 'pending', limit: 1 })) waiting.push(a.id);
const no = await chat.decide(question.confirmation_id, false, { reason: 'not today' });
const rest = told(await all(paid.goOn()), true), codes: unknown[] = [];
for (const wrong of [() => chat.decide('confirmation-none', true), () => all(chat.say('')), () => all(chat.say('hi', { page: 'nowhere' }))])
    await wrong().catch((e: unknown) => { if (e instanceof Refused) codes.push([e.status, e.code, !!e.message]); });
console.log(JSON.stringify({ words, message: run.message, thread: run.thread, said, input: question.input, asked: waiting.join() === question.confirmation_id,
    no: [no.status, no.duplicate], rest, codes: [...codes, 'TypeError'], usage: (await chat.usage()).tokens > 0, stopped: await chat.stop(run.thread!) }));
`;

for (const [name, make, program] of [['Python', python, PYTHON], ['TypeScript', typescript, TYPESCRIPT]]) {
    test(`${name}: the README's program talks, asks and pays once`, async (t) => {
        const client = make(t), server = await t.serve(), [page, lang] = client.readme;
        check(lines(page) <= 40, 'a short page');
        const r = await client.run(block(page, lang, { 'http://127.0.0.1:8000': server.url }));
        same(r.code, 0, r.err);
        check(/Let me prepare that payment\.[^]*Send 50 USD to Hanako\?[^]*Hanako[^]*Done: 50 USD went to Hanako/.test(r.out), r.out);
        await until(() => server.ledger().length === 1, 'the payment');
        same((await server.get('/v1/approvals')).json.approvals[0].reason, 'agreed on the phone');
    });

    test(`${name}: typed events over cut connections, a no, lists, and refusals with their codes`, async (t) => {
        const client = make(t), server = await t.serve({ config: { demo: { token_ms: 5 } } }), way = await cutting(t, server, 900, 4);
        const r = await client.run(program(server.url, way.url));
        same(r.code, 0, r.err || r.out);
        const got = JSON.parse(r.out);
        check(way.cuts >= 2, `${way.cuts} cuts`);
        same(got.words, got.message, 'every word, once');
        check(/5 relevant articles/.test(got.words), got.words);
        same(got.said, ['Intent', 'ToolStart', 'ToolComplete']);
        same([got.input, got.asked, got.no, got.rest], [{ amount: 50, currency: 'USD', recipient: 'Hanako' }, true, ['denied', false], ['ToolComplete', 'Complete']]);
        same(got.codes.map((c) => (Array.isArray(c) ? c.slice(1) : c)), [['unknown_confirmation', true], ['bad_field', true], ['unknown_page', true], 'TypeError']);
        same([got.usage, got.stopped, server.ledger(), (await settled(server, got.thread)).messages.length], [true, false, [], 4]);
    });
}
