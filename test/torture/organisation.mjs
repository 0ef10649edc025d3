// organisation.mjs -- an organisation as the configuration has it, and as the judge reads it for himself: who has which role,
// who has to say yes to what, what a grant may be worth at most, and which calls are the same deed.
//
// Nothing here asks the server. What it says about a question is read from its arguments, the people's roles and the clock.
import { canonical } from './ledger.mjs';

export const PEOPLE = { ada: ['user'], bob: ['user'], cyd: ['user', 'finance'], max: ['user', 'approver'], root: ['admin'],
    fay: ['finance'], fin: ['user', 'finance'], fox: ['finance'], cleo: ['chief'], bot: ['notifier'] };
export const DECIDERS = ['fay', 'fin', 'fox', 'cleo', 'cyd'];            // who answers questions of others, where rules ask them
// With every other move of the world (world.move) somebody loses a role: what it was worth is worth nothing from then on.
export const rolesOf = (who, version = 0) => (who === 'fox' && version % 2 ? ['user'] : PEOPLE[who] ?? []);
// A program's key: it calls tools in its owner's name and decides nothing.
export const AGENT = 'ada.agent';

const OFFERED = { for: 20, count: 4, sum: '/amount', max: 300, same: ['/to'] };
export const GRANT = { count: OFFERED.count, max: OFFERED.max, for: OFFERED.for };
export const EDITABLE = ['amount', 'note'];
export const CHECK_TRIES = 3;

// What the world's tools have beyond their runner; `check`: the address that knows what became of a call.
export const terms = (check) => ({
    refund: { confirm: 'always', ask: 'Refund {amount} to {to}?', grant: OFFERED, edit: EDITABLE.map((m) => `/${m}`), check: { http: check, timeout: 1, tries: CHECK_TRIES, pause: 1 } },
    order: { ask: 'Order {item}?', effect: 'order:{item}', check: { http: check, timeout: 1, tries: CHECK_TRIES, pause: 1 } },
    reserve: { confirm: 'never', effect: 'seat:{item}', effect_scope: 'owner' },
});

const MANY = 400;                  // from here on two of finance
export const rules = (escalate) => [
    { tool: 'pay', when: { pointer: '/amount', op: '>', value: MANY }, from: { role: 'finance', count: 2, not_requester: true }, escalate: [{ after: escalate, to: 'chief' }] },
    { tool: 'wire_money', from: { role: 'finance', not_requester: true } },
    { tool: 'refund', from: 'finance' },
    { tool: '*', from: 'owner' },
];

// --- as the judge reads it ---------------------------------------------------------------------------------

// Is some amount in these arguments, however its name is spelled, above `limit`; or is it not to be known?
export function above(args, limit) {
    if (args === null || typeof args !== 'object' || Array.isArray(args)) return true;
    const amounts = Object.entries(args).filter(([k]) => k.toLowerCase() === 'amount').map(([, v]) => v);
    return amounts.length === 0 || amounts.some((v) => typeof v !== 'number' || v > limit);
}
const level = (v) => (typeof v === 'string' ? { role: v, count: 1 } : { count: 1, ...v });

// Who has to say yes to this call, from when on: [{role, count, not_requester, after}].
export function levels(options, tool, args) {
    if (!options.org) return [{ role: options.approver ? 'approver' : 'owner', count: 1, after: 0 }];
    const rule = rules(options.org).find((r) => (r.tool === '*' || r.tool === tool) && (!r.when || above(args, r.when.value)));
    return [{ ...level(rule.from), after: 0 }, ...(rule.escalate ?? []).map((e) => ({ ...level(e.to), after: e.after }))];
}
export const fits = (l, who, owner, version) => (l.role === 'owner' ? who === owner : rolesOf(who, version).includes(l.role)) && !(l.not_requester && who === owner);
// May this person have a say in it, now or later?
export const concerns = (options, who, owner, tool, args, version = 0) => levels(options, tool, args).some((l) => fits(l, who, owner, version));
// May they hear of it? Where a rule's condition can be read in two ways (an amount spelled twice, or otherwise), the strictest asks.
const twofold = (args) => Object.keys(args ?? {}).some((k) => k !== 'amount' && k.toLowerCase() === 'amount');
export const mayHear = (options, who, owner, tool, args, version) => concerns(options, who, owner, tool, args, version) || (twofold(args) && concerns(options, who, owner, tool, null, version));

// Under which name a call's deed is known; undefined: it has none.
export function deed(tool, args, owner) {
    if (!['order', 'reserve'].includes(tool) || typeof args?.item !== 'string') return undefined;
    const item = args.item.replace(/[\u200b\ufeff]/g, '').trim();
    return tool === 'order' ? `order:${item}` : `seat:${item} of ${owner}`;
}

// Does an edit stay within what may be edited?
export function editAllowed(before, after) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].every((k) => EDITABLE.includes(k) || canonical(before[k] ?? null) === canonical(after[k] ?? null));
}
