// node test/live/run.mjs [WORD...]: conversations with the real server, at every door.
import { suite } from '../lib/test.mjs';

await suite(import.meta.dirname);
