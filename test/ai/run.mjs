// run.mjs -- the AI SDK's own clients against the doors they talk to.
//
// `ai` 6 and `ai` 7, class AbstractChat without a page, both stock helpers of
// sendAutomaticallyWhen on. Every conversation asserts what is on the screen and how
// often the client sent: a shape that loops or stalls shows in that number.
//     node test/ai/run.mjs [WORD...]      the tests whose name contains one of the words
// Installs its packages when they are missing; without a registry it is skipped.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));

function installed() {
    if (fs.existsSync(path.join(here, 'node_modules/ai7/package.json'))) return true;
    const npm = spawnSync('npm', ['ci', '--ignore-scripts', '--silent'], { cwd: here, encoding: 'utf8', timeout: 240000 });
    if (npm.status === 0) return true;
    fs.rmSync(path.join(here, 'node_modules'), { recursive: true, force: true });
    return false;
}
if (!installed()) {
    console.log('skipped: the AI SDK clients cannot be installed: no npm registry is reached');
    console.log('0 passed, 0 failed, 1 skipped');
    process.exit(0);
}

const { run } = await import('./conversations.mjs');
process.exit(await run() ? 0 : 1);
