// A Node tool that needs what Node needs: threads, compiled code, WebAssembly.
import { Worker } from 'node:worker_threads';
let input = '';
for await (const chunk of process.stdin) input += chunk;
const { n } = JSON.parse(input);
const hot = new Function('n', 'let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) | 0; return s;');
for (let i = 0; i < 50; i++) hot(100000);
const wasm = new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 6, 1, 96, 1, 127, 1, 127, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 9, 1, 7, 0, 32, 0, 32, 0, 106, 11)));
const thread = new Worker('require("worker_threads").parentPort.postMessage(1)', { eval: true });
await new Promise((yes, no) => thread.once('message', yes).once('error', no));
console.log(JSON.stringify({ result: wasm.exports.f(n) }));
