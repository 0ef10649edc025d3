// cutting.mjs -- a way to a server that breaks: each connection after `bytes` of the answer, the first `times` of them.
import net from 'node:net';

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
