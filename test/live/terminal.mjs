// terminal.mjs -- parley in a terminal of its own, made by script(1): what it shows in `shown`, typed by type(), ended with its status in
// `gone`. "exec": a shell in between, where $SHELL is none that does so by itself, would take each Ctrl-C as its own end.
import { spawn } from 'node:child_process';
import { BIN, until } from './lib.mjs';

export function terminal(t, args, env = {}) {
    const child = spawn('script', ['-qec', `exec ${BIN} ${args.join(' ')}`, '/dev/null'], { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'inherit'] });
    const screen = { shown: '', gone: new Promise((yes) => child.on('close', yes)) };
    child.stdout.setEncoding('utf8').on('data', (d) => { screen.shown += d; });
    t.defer(() => child.kill('SIGKILL'));
    screen.type = (text) => child.stdin.write(text);
    screen.shows = (pattern) => until(() => pattern.test(screen.shown), `${pattern} on the screen: ${screen.shown}`);
    return screen;
}
