// chance.mjs -- everything drawn by lot comes from here: a stream of numbers per seed and name, so that
// each actor has its own and one more draw of somebody does not change what the others do.
export class Chance {
    constructor(seed, name = '') {
        let h = 2166136261 ^ Number(seed);
        for (const c of String(name)) h = Math.imul(h ^ c.charCodeAt(0), 16777619);
        this.a = h >>> 0;
        for (let i = 0; i < 4; i++) this.next();          // seeds that differ by one bit soon differ in all
    }
    next() {                                               // mulberry32
        this.a = (this.a + 0x6d2b79f5) >>> 0;
        let t = Math.imul(this.a ^ (this.a >>> 15), this.a | 1);
        t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    }
    int(below) { return Math.floor(this.next() * below); }
    between(low, high) { return low + this.int(high - low + 1); }
    maybe(p) { return this.next() < p; }
    pick(list) { return list[this.int(list.length)]; }
    share() { return Math.round(this.next() * 1e6) / 1e6; }       // short enough to be read in a recorded list
    // A key of {word: weight}.
    weighted(table) {
        let at = this.next() * Object.values(table).reduce((a, b) => a + b, 0);
        for (const [word, weight] of Object.entries(table)) if ((at -= weight) < 0) return word;
        return Object.keys(table).at(-1);
    }
}

// Small numbers are usual, large ones happen.
export const few = (c, usual, most) => (c.maybe(0.9) ? c.int(usual + 1) : c.int(most + 1));
// The item of `list` that a share in [0, 1) points at; undefined when there is none.
export const at = (list, share) => list[Math.floor(share * list.length)];
// The table of one round: some things more often, some never (a round that does everything does nothing thoroughly).
export const swarm = (c, table, always = []) => Object.fromEntries(Object.entries(table).map(([k, w]) => [k, w * (c.pick([0, 0.3, 1, 1, 1, 4]) || (always.includes(k) ? 1 : 0))]));
