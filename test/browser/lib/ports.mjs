// The addresses of the tests' servers: few, and used again and again. A page from an address that a room has seen before is
// neither read nor compiled anew there, which is a quarter of what it costs.
import net from 'node:net';

// Below those that the system hands out by itself. Whoever listens on the first one of a row has the row.
const first = 24_000;
const row = 100;
const last = 32_000;

const listens = (server, port) =>
  new Promise((done, failed) => {
    server.once('error', (e) => (e.code === 'EADDRINUSE' ? done(false) : failed(e)));
    server.listen(port, '127.0.0.1', () => done(true));
  });

const left = []; // the one that was left last is taken first
let next = 0;

/** Has `server` listen on the first port of a row that nobody has. */
export async function takeRow(server) {
  for (let port = first; port < last; port += row)
    if (await listens(server, port)) return (next = port + 1);
  throw new Error('no port is free');
}

async function free(port) {
  const probe = net.createServer();
  const is = await listens(probe, port);
  if (is) await new Promise((done) => probe.close(done));
  return is;
}

export async function takePort() {
  for (;;) {
    const port = left.pop() ?? next++;
    if (await free(port)) return port;
  }
}

export const leavePort = (port) => left.push(port);
