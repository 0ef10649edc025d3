// node test/trace/run.mjs: the way of one gated message through the files. PRINT=1 shows it;
// TRACE_BIN=FILE follows it in another program (an older one, to compare).
import { suite } from '../lib/test.mjs';

await suite(import.meta.dirname);
