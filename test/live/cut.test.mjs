// Sockets that are full in the middle of a message: what is begun is made whole before anything else is said, whatever
// becomes of the request, the conversation or the tool meanwhile.
import fs from 'node:fs';
import path from 'node:path';
import { check, same, settled, test } from './lib.mjs';
import { Ws } from './ws.mjs';

const BIG = 12_000_000;           // more than the buffers of both ends of a loopback socket take

// A tool that begins when the test says go(): by then somebody follows its run.
function waiting(t, script, limits) {
    const dir = t.folder(), file = path.join(dir, 'go');
    const command = ['/bin/sh', '-c', `read x; while [ ! -e ${file} ]; do sleep 0.02; done; ${script}`];
    return { tool: { input_schema: { type: 'object' }, confirm: 'never', exec: { command, read: [dir], limits } }, go: () => fs.writeFileSync(file, '') };
}

// A socket that follows a run and reads nothing, so that its output is half out; the run itself is over.
async function stalled(t, door) {
    const { tool, go } = waiting(t, `printf '{"result":"'; head -c ${BIG} /dev/zero | tr '\\0' x; printf '"}\\n'`, { output: 4 * BIG });
    const server = await t.serve({ config: { tools: { big: tool }, actions: { go: { tool: 'big' } } } });
    const id = (await server.post('/v1/threads', {})).json.id;
    const ws = await Ws.open(t, server, door === '/live' ? `/live?thread=${id}` : door);
    if (door === '/live') same(JSON.parse(await ws.next()).type, 'hello');
    same((await server.post(`/v1/threads/${id}/actions`, { action: 'go', data: {} })).status, 202);
    if (door !== '/live') ws.send({ type: 'resume', requestId: 'r1', id });
    await ws.next();
    ws.socket.pause();
    go();
    await settled(server, id);
    return { server, id, ws };
}
const types = (ws) => ws.texts.map((x) => JSON.parse(x)).filter((m) => m.requestId === 'r1').map((m) => m.chunk?.type ?? m.type);

test('/api/chat/ws: an aborted request whose output is half out costs the others nothing', async (t) => {
    const { server, ws } = await stalled(t, '/api/chat/ws');
    const other = (await server.post('/v1/threads', {})).json.id;
    ws.send({ type: 'abort', requestId: 'r1' });
    ws.send({ type: 'resume', requestId: 'r2', id: other });
    same((await server.get('/healthz')).status, 200);
    ws.socket.resume();
    const answered = (id) => ws.wait(() => ws.texts.some((x) => x.length < 200 && JSON.parse(x).requestId === id) || undefined, `the answer to ${id}`);
    await answered('r2');
    ws.send({ type: 'resume', requestId: 'r3', id: other });
    await answered('r3');
    check(!ws.partial && !ws.closed, 'no message is left open');
    same(JSON.parse(ws.texts.find((x) => x.length > BIG)).chunk.output.length, BIG);
    same(types(ws).slice(-2).join(), 'tool-output-available,finish-step', 'nothing follows of it');
    ws.send({ type: 'resume', requestId: 'r1', id: other });
    await ws.wait(() => types(ws).includes('no-active') || undefined, 'its id to be free again');
});

for (const door of ['/live', '/api/chat/ws'])
    test(`${door}: a conversation that is deleted while its output is half out closes the socket and says so`, async (t) => {
        const { server, id, ws } = await stalled(t, door);
        same((await server.request('DELETE', `/v1/threads/${id}`)).status, 204);
        ws.socket.resume();
        await ws.ended();
        same([ws.code, ws.reason], [4404, 'the conversation was deleted']);
        check(!ws.texts.some((x) => x.length > 100000), 'no half text is taken for a whole one');
    });

// --- reports of a tool at work ---------------------------------------------------------------------------------------------

// Reports are no facts: one that does not fit in a connection's buffer cannot be told in two parts, and is left out.
const LARGE = 65450;
const REPORTS = `for i in 1 2 3; do
        printf '{"progress":0.1,"message":"large","data":"'; head -c ${LARGE} /dev/zero | tr '\\0' x; printf '"}\\n'; sleep 0.25
        printf '{"progress":0.1,"message":"small","data":"y"}\\n'; sleep 0.25
    done
    printf '{"result":"ok"}\\n'`;

for (const door of ['/live', '/api/chat/ws'])
    test(`${door}: a report that is larger than a connection's buffer is left out, and the numbers have no gap`, async (t) => {
        const { tool, go } = waiting(t, REPORTS);
        const server = await t.serve({ config: { tools: { reporting: tool }, actions: { go: { tool: 'reporting' } } } });
        const id = (await server.post('/v1/threads', {})).json.id;
        const ws = await Ws.open(t, server, door === '/live' ? `/live?thread=${id}` : door, { protocols: door === '/live' ? ['parley.json.v1'] : [] });
        same((await server.post(`/v1/threads/${id}/actions`, { action: 'go', data: {} })).status, 202);
        if (door !== '/live') ws.send({ type: 'resume', requestId: 'r1', id });
        const parsed = () => ws.texts.map((x) => JSON.parse(x));
        await ws.wait(() => parsed().some((m) => m.event ?? m.chunk) || undefined, 'the run to be told');
        go();
        await ws.wait(() => parsed().some((m) => m.done || m.type === 'end') || undefined, 'the end');
        const outputs = parsed().map((m) => m.event ?? m.chunk).filter((c) => c?.type === 'tool-output-available');
        same([...new Set(outputs.map((c) => (c.preliminary ? c.output.message : 'result')))].join(), 'small,result');
        const numbers = parsed().filter((m) => m.type === 'chunk').map((m) => m.sequence);
        same(numbers.join(), [...numbers.keys()].join());
    });
