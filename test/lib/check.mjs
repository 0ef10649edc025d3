// check.mjs -- what a test says must be true, and how it waits for that: nothing sleeps for luck,
// everything has a deadline.

// A shared machine may be slow; a hang is longer.
export const WAIT_MS = Number(process.env.WAIT_MS || 20000);

export const pause = (ms) => new Promise((yes) => setTimeout(yes, ms));

// A clock that stands still when the machine does, and is slow when it is: what may not take longer
// than so much is held to this one, in ms.
let ticks = 0;
setInterval(() => { ticks++; }, 50).unref();
export const patience = () => ticks * 50;

export function check(condition, what) { if (!condition) throw new Error(what || 'check failed'); }

export function same(got, want, what = 'value') {
    const a = typeof got === 'string' ? got : JSON.stringify(got);
    const b = typeof want === 'string' ? want : JSON.stringify(want);
    if (a !== b) throw new Error(`${what} differs\n  got:  ${cut(a, b)}\n  want: ${cut(b, a)}`);
}

// Long texts are shown around the first difference.
function cut(a, b) {
    if (a === undefined || a.length < 400) return String(a);
    let i = 0;
    while (i < a.length && b !== undefined && a[i] === b[i]) i++;
    return `...${a.slice(Math.max(0, i - 120), i + 240)}... (at ${i} of ${a.length})`;
}

// Rejects when `promise` takes longer.
export async function within(promise, what, ms = WAIT_MS) {
    let timer;
    const late = new Promise((_, no) => {
        timer = setTimeout(() => no(new Error(`${what}: not within ${ms} ms`)), ms);
    });
    try { return await Promise.race([promise, late]); } finally { clearTimeout(timer); }
}

// Asks again until `ask` gives something true; for states that the outside can only look at. What
// does not come soon is asked for less often: to ask is work for both sides.
export async function until(ask, what, ms = WAIT_MS) {
    const end = Date.now() + ms;
    for (let rest = 5; ; rest = Math.min(rest * 1.3, 30)) {
        const got = await ask();
        if (got) return got;
        if (Date.now() > end) throw new Error(`${what}: not within ${ms} ms`);
        await pause(rest);
    }
}

// A test that cannot be run here says why, and is counted as skipped.
export class Skip extends Error {}
export function skip(why) { throw new Skip(why); }
// A test of what each process has for itself (a limit, a file, what it noticed): with PARLEY_CLUSTER it is left out.
export function oneProcess(why) { if (process.env.PARLEY_CLUSTER) skip(`it is about one process: ${why}`); }

// A failure whose text says it all: where in the test it was thrown is of no interest.
export class Finding extends Error {
    constructor(text) { super(text); this.stack = text; }
}
