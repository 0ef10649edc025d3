// A cable between browser and server that can be pulled, and a network that can be left: nothing comes through, and nobody is told.
import net from 'node:net';

export class Proxy {
  constructor(target) {
    this.target = target;
    this.sockets = new Set();
    this.pulled = false;
    this.frozen = false;
    this.server = net.createServer((client) => this.join(client));
  }

  join(client) {
    if (this.pulled) return client.destroy();
    const upstream = net.connect(this.target.port, '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ]) {
      this.sockets.add(from);
      if (!this.frozen) from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.sockets.delete(from);
        to.destroy();
      });
    }
  }

  async start() {
    await new Promise((done) => this.server.listen(0, '127.0.0.1', done));
    return this;
  }

  get url() {
    return `http://127.0.0.1:${this.server.address().port}`;
  }

  pull() {
    this.pulled = true;
    for (const s of this.sockets) s.destroy();
  }

  /** The connections that are there, and new ones, stay open and silent. */
  freeze() {
    this.frozen = true;
    for (const s of this.sockets) s.unpipe();
  }

  /** New connections work; the old ones never speak again. */
  thaw() {
    this.frozen = false;
  }

  plug() {
    this.pulled = false;
  }

  close() {
    this.pull();
    this.server.close();
  }
}
