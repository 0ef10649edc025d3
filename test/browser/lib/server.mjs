// The real server, on a free port, in a folder of its own.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const binary = resolve(process.env.PARLEY_BIN ?? join(import.meta.dirname, '../../../build/parley'));

export class Server {
  constructor(config) {
    this.folder = mkdtempSync(join(tmpdir(), 'parley-browser-'));
    writeFileSync(join(this.folder, 'parley.json'), JSON.stringify({ listen: '127.0.0.1:0', ...config }));
  }

  /** Starts and waits for the line that names the address. The first start chooses the port, later ones keep it. */
  async start() {
    const listen = this.port ? ['--listen', `127.0.0.1:${this.port}`] : [];
    const env = { PATH: process.env.PATH, HOME: this.folder };
    this.process = spawn(binary, ['serve', ...listen], { cwd: this.folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.output = '';
    this.gone = new Promise((done) => this.process.once('exit', (code, signal) => done(signal ?? code)));
    const port = await new Promise((found, failed) => {
      const hear = (bytes) => {
        this.output += bytes;
        const m = /http:\/\/127\.0\.0\.1:(\d+).*\n/.exec(this.output); // whole: the token is written after the port
        if (m) found(Number(m[1]));
      };
      this.process.stdout.on('data', hear);
      this.process.stderr.on('data', hear);
      this.gone.then((why) => failed(new Error(`the server did not start (${why}):\n${this.output}`)));
    });
    this.port = port;
    return this;
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  /** SIGTERM: an orderly end. SIGKILL: a crash. */
  async stop(signal = 'SIGTERM') {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill(signal);
    return this.gone;
  }

  async restart(signal = 'SIGTERM') {
    await this.stop(signal);
    await this.start();
  }

  async remove() {
    await this.stop('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }

  async json(path, init) {
    const response = await fetch(
      this.url + path,
      init && { method: 'POST', ...init, body: JSON.stringify(init.body), headers: { 'content-type': 'application/json' } },
    );
    return response.json();
  }

  /** The payments that really happened. */
  ledger() {
    try {
      return readFileSync(join(this.folder, 'parley.db.ledger.jsonl'), 'utf8')
        .trim()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line));
    } catch {
      return [];
    }
  }
}
