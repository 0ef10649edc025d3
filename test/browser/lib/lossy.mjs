// A network on which what is asked arrives, and what is answered does not.
import { Proxy } from './proxy.mjs';

export class Lossy extends Proxy {
  muted = false;

  join(client) {
    if (!this.muted) return super.join(this.leaky(client));
    client.write = () => true; // also what begins now is heard by nobody
    super.join(client);
  }

  /* Until it is muted it is an ordinary connection. */
  leaky(client) {
    const write = client.write.bind(client);
    client.write = (...args) => this.muted || write(...args);
    return client;
  }

  /** From now on only the server hears anything. */
  mute() {
    this.muted = true;
  }

  /** Every connection breaks; new ones fail until `plug`. */
  pull() {
    super.pull();
    this.muted = false;
  }
}

export async function lossy(t, server) {
  const proxy = await new Lossy(server).start();
  t.closing.push(() => proxy.close());
  return proxy;
}
