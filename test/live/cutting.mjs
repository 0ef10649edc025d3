// cutting.mjs -- ways to a server that break.
import net from 'node:net';

// Each connection after `bytes` of the answer, the first `times` of them.
export async function cutting(t, server, bytes, times) {
    const way = { cuts: 0 };
    const proxy = net.createServer((near) => {
        const far = net.connect(server.port, '127.0.0.1');
        let passed = 0;
        far.on('data', (d) => {
            near.write(d);
            if ((passed += d.length) > bytes && way.cuts < times) { way.cuts++; near.destroy(); far.destroy(); }
        }).on('close', () => near.destroy()).on('error', () => near.destroy());
        near.on('data', (d) => far.write(d)).on('close', () => far.destroy()).on('error', () => far.destroy());
    });
    await new Promise((yes) => proxy.listen(0, '127.0.0.1', yes));
    t.defer(() => proxy.close());
    way.url = `http://127.0.0.1:${proxy.address().port}`;
    return way;
}

// A fetch that hangs up after `n` events of an answer; `cut` says whether it came to that.
export function cutAfter(n) {
    const it = async (at, init) => {
        const r = await globalThis.fetch(at, init), reader = r.body.getReader();
        let left = n, text = '';
        const body = new ReadableStream({
            async pull(c) {
                const { done, value } = await reader.read();
                if (done) { c.close(); return; }
                text += Buffer.from(value).toString('latin1');
                while (text.includes('\n\n')) {
                    const block = text.slice(0, text.indexOf('\n\n') + 2);
                    text = text.slice(block.length);
                    if (left-- <= 0) { it.cut = true; await reader.cancel(); c.error(new Error('cut')); return; }
                    c.enqueue(Buffer.from(block, 'latin1'));
                }
            },
        });
        return new Response(body, { status: r.status, headers: r.headers });
    };
    return it;
}
