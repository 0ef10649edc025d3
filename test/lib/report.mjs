// report.mjs -- a reporter for node:test that says what scripts/test reads: "FAILED: file: name"
// with the reason below it, "skipped: ...", and at the end "N passed, N failed[, N skipped]". A
// test that has parts is its parts.
//
// It ends the process: what a test forgot to close must not keep a suite from its end.

const SHOWN = 5;           // failures of one test's parts that are told in full
const count = { passed: 0, failed: 0, skipped: 0 }, told = new Map();

// `of`: the test whose part it was.
function fail(name, error) {
    count.failed++;
    const cause = error.cause ?? error, title = cause.of ?? name, n = (told.get(title) ?? 0) + 1;
    told.set(title, n);
    if (n > SHOWN) return;
    const text = `${cause.of ? `${name}\n` : ''}${cause.stack || cause.message || cause}`;
    console.log(`FAILED: ${title}\n${text.replace(/^/gm, '    ')}`);
}

function skip(name, why) {
    count.skipped++;
    console.log(`skipped: ${name} (${why})`);
}

function pass(name, ms) {
    count.passed++;
    if (process.env.VERBOSE) console.log(`ok ${Math.round(ms)} ms ${name}`);
}

function end() {
    const { passed, failed, skipped } = count, none = !passed && !failed && !skipped;
    if (none) console.log('there is no such test');
    console.log(`${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`);
    process.exit(none || failed || process.exitCode ? 1 : 0);
}

// Results come in the order in which the tests were begun, those of parts before their test's.
export default async function* report(source) {
    const results = [];          // how many at each depth since the last one above it
    for await (const { type, data } of source) {
        if (type !== 'test:pass' && type !== 'test:fail') continue;
        const { name, nesting: depth, details } = data, { error } = details;
        const parts = results[depth + 1];
        results[depth] = (results[depth] ?? 0) + 1;
        results[depth + 1] = 0;
        const suite = depth === 0;
        if (error && error.failureType !== 'subtestsFailed') fail(name, error);
        else if (data.skip !== undefined && !suite) skip(name, data.skip);
        else if (!parts && !suite) pass(name, details.duration_ms);
        if (suite) end();
    }
}
