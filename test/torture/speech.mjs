// speech.mjs -- what a hostile model says, as data. An operation carries its answers, so that a recorded list
// of operations is all there is to repeat; model.mjs says them on three wires.
//
// answer  {status?, retry?, parts, mix?, end?, stop?, pause?, stay?, usage?}
//   end   ok | cut (connection torn) | hang | error (an error event) | half (the body ends without its end)
//   stay  the same answer as often as it is asked for: a step that restarts interrupt again and again
//   mix   the calls' pieces interleaved, as parallel indexes
// part    {text} | {blank} | {big} | {think, sig?} | {call, args | big | deep, id?, open?, cut?}
//   args  text as it goes out, valid or not; open: its end is never said; cut: in how many pieces it comes
import { few, swarm } from './chance.mjs';
import { CHECK_WORDS } from './tools/http.mjs';

export const TOOLS = {                         // name: how often it is called
    pay: 8, wire_money: 6, refund: 6, order: 5, reserve: 3, mail: 5, note: 5, tick: 3, loose: 4, paint: 3, locate: 2,
    bank__pay: 4, bank__ask: 3, bank__look: 2, bank__wide: 0.5, shop__buy: 4, shop__ask: 2, shop__shaped: 1, fair__buy: 2, fair__ask: 2, a__b__pay: 3,
    '2fast': 1, either: 1, suggest_replies: 2, suggest_actions: 1, present: 1,
    apply_schema: 1, no_such_tool: 3, adk_request_confirmation: 1, process_payment: 1, '': 0.3,
};
// What a tool is told to do, in its arguments: tools/*.
export const HOW = {
    ok: 20, error: 3, die_before: 2, die_after: 4, die_during: 2, exit_after: 3, crash: 1, hang: 2, slow: 3, flood_out: 1, flood_err: 1, flood_progress: 1,
    twice: 2, lie: 2, rubbish: 3, late_error: 2, fork: 1, redirect: 2, refuse: 2, broken: 3, close: 6, close_before: 2, untyped: 2, half: 2, events: 2, empty: 2,
    ask: 3, ask_late: 3, ask_twice: 1, change: 2, pings: 1, version_error: 2, unknown_id: 1, mute: 2,
};
// A program and an address know some of these each; the rest would only be "ok" once more.
const only = (words) => Object.fromEntries(words.split(' ').map((w) => [w, HOW[w]]));
const HOW_EXEC = only('ok error die_before die_after die_during exit_after crash hang slow flood_out flood_err flood_progress twice lie rubbish late_error fork empty');
const HOW_HTTP = only('ok error refuse die_before die_after die_during exit_after crash hang slow flood_out flood_progress twice lie rubbish late_error redirect broken close close_before untyped half events empty');
const EXEC = ['pay', 'note', 'reserve'];
const ITEMS = 30;                    // that are ordered and reserved, once each
// The same for MCP servers: questions, some of them late, and calls that stay open for others' questions to fall into.
const HOW_MCP = { ...HOW, ok: 10, ask: 6, ask_late: 10, hang: 5, mute: 4, slow: 6, version_error: 4, close: 4, deaf: 2 };
// What one round likes.
export const tables = (c) => ({ tools: swarm(c, TOOLS, ['pay', 'mail']), howExec: swarm(c, HOW_EXEC, ['ok']), howHttp: swarm(c, HOW_HTTP, ['ok']), howMcp: swarm(c, HOW_MCP, ['ok']) });
const NAMES = ['amount', 'Amount', 'AMOUNT', 'to', 'To', 'note'];
const WORDS = ['yes', 'Fine.', ' ', '\n', '\t \n', 'é😀', '[[tool:0]]', '\u200b', '</s>', 'data: [DONE]\n\n', '{"a":1}', 'a'.repeat(300), '\u061c\u202e', '\u0000'];

const value = (c) => c.pick([0, 1, 50, 99, 100, 100.5, 101, 5000, -1, 1e300, '5000', '50', null, true, [], {}, [5000], { amount: 5000 }]);

// Arguments that no honest model sends.
function oddArgs(c) {
    return c.pick([
        () => ({ args: c.pick(['null', '[]', '5000', '"x"', 'true', '[{"amount":5000}]', '[5000]', '', ' ', '{', '{"amount":', '{"amount":5000', '{"amount":50}}', '{"amount":50} {"amount":5000}', 'not JSON', '\u0000', '{"amount":NaN}', "{'amount':5}"]) }),
        () => ({ args: `{"amount":${c.pick([50, 5000])},"${c.pick(NAMES)}":${JSON.stringify(value(c))},"${c.pick(NAMES)}":${JSON.stringify(value(c))}}` }),
        () => ({ args: `{"amount":50,"amount":5000,"to":"x"}` }),
        () => ({ args: JSON.stringify({ [c.pick(NAMES)]: value(c), [c.pick(NAMES)]: value(c) }) }),
        () => ({ big: c.pick([1000, 70000, 300000]) }),
        () => ({ deep: c.pick([10, 60, 100, 2000]) }),
    ])();
}

// Arguments as the tools want them. The same ones now and then: few amounts, few names.
export function soundArgs(c, t, tool, who) {
    const args = { amount: c.pick([5, 50, 50, 100, 101, 500]), to: c.pick(['ann', 'bo']), who };
    const how = c.weighted(tool.includes('__') ? t.howMcp : EXEC.includes(tool) ? t.howExec : t.howHttp);
    if (how !== 'ok') args.how = how;
    if (tool === 'either') return JSON.stringify({ left: 1 });
    if (tool === 'bank__wide') return JSON.stringify({ list: Array.from({ length: c.pick([30, 3000]) }, (_, i) => i) });
    if (['order', 'reserve'].includes(tool)) args.item = `i-${c.int(ITEMS)}${c.maybe(0.15) ? c.pick([' ', '\u200b', '\ufeff']) : ''}`;
    if (['order', 'refund'].includes(tool) && c.maybe(0.4)) args.check = c.pick(CHECK_WORDS);
    if (tool.includes('__')) args.ref = c.int(1e6);               // MCP servers do not hear our call id: the arguments tell calls apart
    if (c.maybe(0.1)) args.note = c.pick(WORDS);
    return JSON.stringify(args);
}

function call(c, t, who) {
    const name = c.weighted(t.tools);
    const part = { call: name, ...(c.maybe(0.75) ? { args: soundArgs(c, t, name, who) } : oddArgs(c)) };
    if (c.maybe(0.08)) part.open = true;
    if (c.maybe(0.12)) part.id = c.pick(['same', '', 'call_1', 'x'.repeat(300), 'é"\\']);
    if (c.maybe(0.3)) part.cut = c.between(2, 9);
    return part;
}

function part(c, t, who) {
    return {
        text: () => ({ text: c.maybe(0.6) ? c.pick(['Let me see.', 'One moment.', 'Here it is: **done**.']) : c.pick(WORDS) }),
        big: () => ({ big: c.pick([2000, 66000, 200000]) }),
        think: () => ({ think: c.pick(['Hm.', '', ' ', 'I should pay.']), ...(c.maybe(0.6) && { sig: c.pick(['c2ln', '', 'x']) }) }),
        call: () => call(c, t, who),
    }[c.weighted({ text: 4, big: 0.3, think: 1.5, call: 6 })]();
}

function answer(c, t, who) {
    if (c.maybe(0.03)) {                        // one call many times in a step
        const one = call(c, t, who);
        return { parts: Array.from({ length: 32 }, () => ({ ...one })) };
    }
    if (c.maybe(0.05)) return { parts: Array.from({ length: 16 }, (_, i) => ({ text: `Word ${i} of a long answer. ` })), pause: 150, stay: true };
    if (c.maybe(0.07)) return { status: c.pick([400, 401, 404, 413, 429, 429, 500, 503, 529, 200, 302]), ...(c.maybe(0.5) && { retry: c.pick(['0', '1', '2', '3600', '-1', 'soon', 'Wed, 21 Oct 2015 07:28:00 GMT']) }), parts: [] };
    const parts = Array.from({ length: 1 + few(c, 3, c.maybe(0.03) ? 40 : 8) }, () => part(c, t, who)), a = { parts };
    if (c.maybe(0.08)) parts.push({ ...parts.at(-1) });                // the very same twice
    if (c.maybe(0.2)) a.mix = true;
    if (c.maybe(0.14)) a.end = c.pick(['cut', 'cut', 'half', 'error', 'hang']);
    if (c.maybe(0.15)) a.stop = c.pick(['length', 'refusal', 'stop', 'calls', 'strange', null]);
    if (c.maybe(0.25)) a.pause = c.pick([1, 10, 50, 200]);
    if (c.maybe(0.05)) a.usage = c.pick([null, -5, 1e18, 'many', {}]);
    return a;
}

// The answers to one message, in order; after them the model says that it is done.
export function draw(c, t, who) {
    if (c.maybe(0.15)) return [];
    if (c.maybe(0.4)) {                         // an honest model: one sound call, then words
        const tool = c.weighted(t.tools);
        return [{ parts: [...(c.maybe(0.5) ? [{ text: 'I will.' }] : []), { call: tool, args: soundArgs(c, t, tool, who) }] }];
    }
    return Array.from({ length: c.between(1, 3) }, () => answer(c, t, who));
}
