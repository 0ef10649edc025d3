// Frames that no browser sends, on both sockets: the families of RFC 6455 as tables of cases. Each case is bytes in and either
// the close code that must come back, or "open": the socket lives, and answers the ping that follows.
import { check, same, test } from './lib.mjs';
import { Ws } from './ws.mjs';

const DOORS = ['/live', '/api/chat/ws'];
const MESSAGE_MAX = 64 * 1024;

// --- making frames -----------------------------------------------------------------------------

const TEXT = 1, BINARY = 2, MORE = 0, CLOSE = 8, PING = 9, PONG = 10;

// {fin, rsv, mask: false, form: 0 | 2 | 8 (bytes of the length), says: the length it claims}
function frame(op, payload = '', { fin = true, rsv = 0, mask = true, form, says } = {}) {
    const data = Buffer.from(payload), n = says ?? data.length, bytes = form ?? (n < 126 ? 0 : n < 65536 ? 2 : 8);
    const head = [(fin ? 0x80 : 0) | rsv << 4 | op, (mask ? 0x80 : 0) | (bytes === 0 ? n : bytes === 2 ? 126 : 127)];
    for (let i = bytes - 1; i >= 0; i--) head.push(Number(BigInt(n) >> BigInt(8 * i) & 255n));
    const key = mask ? [0x37, 0xfa, 0x21, 0x3d] : [];
    return Buffer.concat([Buffer.from([...head, ...key]), mask ? data.map((b, i) => b ^ key[i % 4]) : data]);
}
const hex = (text) => Buffer.from(text.replace(/ /g, ''), 'hex');
const closing = (code, reason = '') => frame(CLOSE, Buffer.concat([Buffer.from([code >> 8, code & 255]), Buffer.from(reason)]));
// Texts that both doors take and answer without closing.
const json = (more = '') => `{"type":"dance","x":"${more}"}`;
const sized = (n) => json('x'.repeat(n - json().length));
const parts = (text, cuts) => {
    const b = Buffer.from(text), at = [0, ...cuts, b.length];
    return at.slice(1).map((end, i) => frame(i ? MORE : TEXT, b.subarray(at[i], end), { fin: end === b.length && i === cuts.length }));
};
const bytewise = (text) => parts(text, Array.from({ length: Buffer.from(text).length - 1 }, (_, i) => i + 1));

const cases = (rows) => rows.map(([name, bytes, want, more]) => ({ name, bytes: Buffer.concat([bytes].flat()), want, ...more }));

const FAMILIES = {
    'framing and lengths': cases([
        ...[0, 1, 125, 126, 127, 128, 65535].map((n) => [`a pong of no interest, then a text of ${n} bytes or more`, [frame(PONG), frame(TEXT, sized(Math.max(n, 30)))], 'open']),
        ['a text of 65535 bytes', frame(TEXT, sized(65535)), 'open'],
        ['a text of 65536 bytes', frame(TEXT, sized(65536)), 'open'],
        ['a frame without a mask', frame(TEXT, json(), { mask: false }), 1002],
        ['an empty frame without a mask', frame(TEXT, '', { mask: false }), 1002],
        ['a ping without a mask', frame(PING, '', { mask: false }), 1002],
        ['a close without a mask', frame(CLOSE, '', { mask: false }), 1002],
        ['a short length in two bytes', frame(TEXT, json(), { form: 2 }), 1002],
        ['a short length in eight bytes', frame(TEXT, json(), { form: 8 }), 1002],
        ['125 in two bytes', frame(TEXT, 'x'.repeat(125), { form: 2 }), 1002],
        ['65535 in eight bytes', frame(TEXT, 'x'.repeat(65535), { form: 8 }), 1002],
        ['a length of zero in eight bytes', frame(TEXT, '', { form: 8 }), 1002],
        ['a length with the highest bit', hex('81ff 8000000000000000 00000000'), 1002],
        ['the largest length there is', hex('81ff 7fffffffffffffff 00000000'), 1009],
        ['a length of 4 GiB', hex('81ff 0000000100000000 00000000'), 1009],
        ['a mask of zeros', Buffer.concat([hex('81'), Buffer.from([0x80 | json().length]), hex('00000000'), Buffer.from(json())]), 'open'],
        ['two texts in one packet', [frame(TEXT, json()), frame(TEXT, json())], 'open'],
    ]),
    'pings and pongs': cases([
        ...[0, 1, 8, 125].map((n) => [`a ping of ${n} bytes`, frame(PING, 'p'.repeat(n)), 'open', { pongs: 1 }]),
        ['a ping of every byte there is', frame(PING, Buffer.from(Array.from({ length: 125 }, (_, i) => 255 - i))), 'open', { pongs: 1 }],
        ['a ping of 126 bytes', frame(PING, 'p'.repeat(126)), 1002],
        ['a ping of 65536 bytes', frame(PING, 'p'.repeat(65536)), 1002],
        ['ten pings in one packet', Array.from({ length: 10 }, (_, i) => frame(PING, `p${i}`)), 'open', { pongs: 10 }],
        ['a pong nobody asked for', frame(PONG), 'open', { pongs: 0 }],
        ['a pong with a payload', frame(PONG, 'x'.repeat(125)), 'open', { pongs: 0 }],
        ['a pong of 126 bytes', frame(PONG, 'x'.repeat(126)), 1002],
        ['a pong, a ping, a pong', [frame(PONG, 'a'), frame(PING, 'b'), frame(PONG, 'c')], 'open', { pongs: 1 }],
        ['a fragmented ping', [frame(PING, 'a', { fin: false }), frame(MORE, 'b')], 1002],
        ['a fragmented pong', [frame(PONG, 'a', { fin: false }), frame(MORE, 'b')], 1002],
    ]),
    'reserved bits': cases([1, 2, 3, 4, 5, 6, 7].flatMap((rsv) => [
        [`bits ${rsv} on a text`, frame(TEXT, json(), { rsv }), 1002],
        [`bits ${rsv} on a ping`, frame(PING, 'x', { rsv }), 1002],
        [`bits ${rsv} on a close`, frame(CLOSE, '', { rsv }), 1002],
        [`bits ${rsv} on a continuation`, [frame(TEXT, 'a', { fin: false }), frame(MORE, 'b', { rsv })], 1002],
    ])),
    opcodes: cases([3, 4, 5, 6, 7, 11, 12, 13, 14, 15].flatMap((op) => [
        [`opcode ${op}`, frame(op, 'x'), 1002],
        [`opcode ${op}, empty and after a text`, [frame(TEXT, json()), frame(op)], 1002],
        [`opcode ${op} between fragments`, [frame(TEXT, 'a', { fin: false }), frame(op, 'x'), frame(MORE, 'b')], 1002],
    ])),
    fragments: cases([
        ['a text in two', parts(json(), [5]), 'open'],
        ['a text in a frame per byte', bytewise(json('é')), 'open'],
        ['a text of empty frames and one that is not', [frame(TEXT, '', { fin: false }), frame(MORE, '', { fin: false }), frame(MORE, json())], 'open'],
        ['a ping between fragments', [parts(json(), [5])[0], frame(PING, 'x'), parts(json(), [5])[1]], 'open', { pongs: 1 }],
        ['ten pings between fragments', [parts(json(), [5])[0], ...Array.from({ length: 10 }, () => frame(PING, 'x')), parts(json(), [5])[1]], 'open', { pongs: 10 }],
        ['a close between fragments', [frame(TEXT, 'a', { fin: false }), closing(1000)], 1000],
        ['a continuation of nothing', frame(MORE, 'x'), 1002],
        ['a continuation of nothing that goes on', frame(MORE, 'x', { fin: false }), 1002],
        ['a continuation after a whole text', [frame(TEXT, json()), frame(MORE, 'x')], 1002],
        ['a continuation after a finished message', [...parts(json(), [5]), frame(MORE, 'x')], 1002],
        ['a text inside a text', [frame(TEXT, 'a', { fin: false }), frame(TEXT, 'b')], 1002],
        ['a binary inside a text', [frame(TEXT, 'a', { fin: false }), frame(BINARY, 'b')], 1002],
        ['a text inside a binary', [frame(BINARY, 'a', { fin: false }), frame(TEXT, 'b')], 1002],
        ['a fragmented close', [frame(CLOSE, '', { fin: false }), frame(MORE, '')], 1002],
        ['a thousand empty fragments', [frame(TEXT, '', { fin: false }), ...Array.from({ length: 1000 }, () => frame(MORE, '', { fin: false })), frame(MORE, json())], 'open'],
    ]),
    'UTF-8': cases([
        ...['κόσμε', '\u0000', '\u007f', '\u0080', '߿', 'ࠀ', '￿', '\u{10000}', '\u{10ffff}', '\ud7ff', '\ue000', '\ufffd', '\ufdd0', '\ufeff', '\u2028'].map((c) =>
            [`U+${c.codePointAt(0).toString(16)} in one frame`, frame(TEXT, JSON.stringify({ type: 'dance', x: c })), 'open']),
        ['a character in four frames', bytewise(json('😀')), 'open'],
        ['a character around a ping', [parts(json('é'), [Buffer.from(json('é')).indexOf(0xc3) + 1])[0], frame(PING, 'x'), parts(json('é'), [Buffer.from(json('é')).indexOf(0xc3) + 1])[1]], 'open', { pongs: 1 }],
        ...['80', 'bf', 'c0', 'c080', 'c1bf', 'c2', 'c241', 'e08080', 'e09fbf', 'e28200', 'e282', 'eda080', 'edbfbf', 'eda081edb080', 'f0808080', 'f08fbfbf', 'f09f98', 'f4908080', 'f5808080', 'f888808080', 'fc8480808080', 'fe', 'ff', 'fffe'].flatMap((bad) => [
            [`${bad} in a text`, frame(TEXT, Buffer.concat([Buffer.from('{"x":"'), hex(bad), Buffer.from('"}')])), 1007],
            [`${bad} at the end of a text`, frame(TEXT, Buffer.concat([Buffer.from('x'), hex(bad)])), 1007],
            [`${bad} in a frame per byte`, [frame(TEXT, '', { fin: false }), ...[...hex(bad)].map((b) => frame(MORE, Buffer.from([b]), { fin: false })), frame(MORE, '')], 1007],
            [`${bad} in a close reason`, frame(CLOSE, Buffer.concat([Buffer.from([3, 232]), hex(bad)])), 1007],
        ]),
        ['half a character, then another message', [frame(TEXT, hex('c3')), frame(TEXT, hex('a9'))], 1007],
        ['bad bytes are told before the frame is whole', frame(TEXT, hex('ff'), { says: 60000, form: 2 }), 1007],
        ['bad bytes are told before the message is whole', frame(TEXT, hex('eda0'), { fin: false }), 1007],
    ]),
    'close codes': cases([
        ['an empty close', frame(CLOSE), 1005],
        ['half a code', frame(CLOSE, 'x'), 1002],
        ...[1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999].map((c) => [`code ${c}`, closing(c, 'bye'), c]),
        ...[0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 1999, 2000, 2999, 5000, 65535].map((c) => [`code ${c}`, closing(c, 'bye'), 1002]),
        ['a reason of 123 bytes', closing(1000, 'r'.repeat(123)), 1000],
        ['a reason of 124 bytes', closing(1000, 'r'.repeat(124)), 1002],
        ['texts after the close are not looked at', [closing(1000), frame(TEXT, hex('ff')), frame(15, 'x')], 1000],
        ['pings after the close are not answered', [closing(1000), frame(PING, 'x')], 1000, { pongs: 0 }],
        ['two closes', [closing(1000), closing(1001)], 1000],
    ]),
    limits: cases([
        ['the largest text', frame(TEXT, sized(MESSAGE_MAX)), 'open'],
        ['the largest text in fragments', parts(sized(MESSAGE_MAX), [1000, 30000]), 'open'],
        ['one byte more', frame(TEXT, sized(MESSAGE_MAX + 1)), 1009],
        ['one byte more, told before it comes', frame(TEXT, '', { says: MESSAGE_MAX + 1, form: 8 }), 1009],
        ['one byte more, in fragments', parts(sized(MESSAGE_MAX + 1), [1000, 30000]), 1009],
        ['one byte more, bytes', frame(BINARY, 'x'.repeat(MESSAGE_MAX + 1)), 1009],
        ['ten mebibytes announced', frame(TEXT, '', { says: 10 * 1024 * 1024, form: 8 }), 1009],
        ['ten thousand small fragments', [frame(TEXT, 'x', { fin: false }), ...Array.from({ length: MESSAGE_MAX }, () => frame(MORE, 'xx', { fin: false }))], 1009],
    ]),
};

// --- trying them ---------------------------------------------------------------------------------

async function one(t, server, door, c, step) {
    const ws = await Ws.open(t, server, door), what = `${door}: ${c.name}${step ? ` in pieces of ${step}` : ''}`;
    for (let at = 0; at < c.bytes.length; at += step || c.bytes.length) ws.socket.write(c.bytes.subarray(at, at + (step || c.bytes.length)));
    if (c.want !== 'open') {
        await ws.ended();
        same([what, ws.code], [what, c.want]);
        if (c.pongs !== undefined) same([what, ws.pongs], [what, c.pongs]);
        return;
    }
    ws.socket.write(frame(PING, 'still here?'));
    const want = (c.pongs ?? 0) + 1;
    await ws.wait(() => ws.pongs >= want || ws.closed, what);
    same([what, ws.code, ws.pongs], [what, undefined, want]);
    ws.drop();
}

for (const [family, list] of Object.entries(FAMILIES))
    test(`${list.length} cases of ${family} on ${DOORS.length} sockets, whole and in small pieces, end as RFC 6455 says`, async (t) => {
        const server = await t.serve({ config: { limits: { message: MESSAGE_MAX } } });
        for (const door of DOORS)
            for (const c of list) {
                await one(t, server, door, c, 0);
                if (c.bytes.length < 400) await one(t, server, door, c, 3);
            }
        check((await server.get('/healthz')).status === 200, 'alive');
        console.log(`note: ${list.length} hostile cases of ${family}`);
    });

// --- handshakes ------------------------------------------------------------------------------------

test('handshakes that are not quite right are refused before anything is a socket', async (t) => {
    const server = await t.serve();
    const bad = [
        [426, { Upgrade: 'h2c' }], [426, { Upgrade: 'websocketx' }], [426, { Upgrade: '' }],
        [426, { 'Sec-WebSocket-Version': '8' }], [426, { 'Sec-WebSocket-Version': '13, 8' }], [426, { 'Sec-WebSocket-Version': '' }],
        [400, { Connection: 'keep-alive' }], [400, { 'Sec-WebSocket-Key': 'short' }], [400, { 'Sec-WebSocket-Key': 'x'.repeat(24) }],
        [400, { 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ= =' }], [400, { 'Content-Length': '5' }], [400, { 'Transfer-Encoding': 'chunked' }],
        [421, { Host: 'evil.example' }], [403, { Origin: 'https://evil.example' }], [403, { Origin: 'null' }],
    ];
    for (const door of DOORS)
        for (const [status, headers] of bad) {
            const e = await Ws.open(t, server, door, { headers }).catch((x) => x);
            same([door, JSON.stringify(headers), e.status], [door, JSON.stringify(headers), status]);
        }
    console.log(`note: ${bad.length * DOORS.length} hostile handshakes`);
});
