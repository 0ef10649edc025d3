// node test/wire/run.mjs [--record] [WORD...]: recorded conversations, compared byte for byte, as
// recorded.test.mjs says.
import { suite } from '../lib/test.mjs';

await suite(import.meta.dirname);
