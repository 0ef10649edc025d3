// habits.mjs -- what people do alike on every door: how they read an answer, and what they say.
import * as speech from './speech.mjs';

export const THREADS = 4;                    // of each owner that have a name from the beginning
const PAGES = { anthropic: 5, openai: 6, gemini: 5, many: 1, few: 1.5, '': 2, nowhere: 0.6 };

export function reading(c) {
    if (c.maybe(0.12)) return { cut: c.pick([0, 1, 30, 200, 1000, 5000]) };
    if (c.maybe(0.06)) return { slow: true, stay: 3000 };
    if (c.maybe(0.04)) return { half: c.share() };
    return c.maybe(0.3) ? { stay: c.pick([20, 100, 400]) } : {};
}

// What is said: its words, the answers it will get, and how.
export function words(c, who, t) {
    const o = { script: speech.draw(c, t, who) };
    const page = c.weighted(PAGES);
    if (page) o.page = page;
    if (c.maybe(0.08)) o.text = c.pick([' ', '', '\u0000', 'x'.repeat(100000), '[[tool:0]]', '\ud800', 'é']);
    return o;
}
