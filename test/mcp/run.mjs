// node test/mcp/run.mjs [WORD...]: parley's MCP client against real servers, its door against
// real clients, and both against the conformance suite. Installs its packages when they are missing; without a registry it is skipped.
import { suite } from '../lib/test.mjs';
import { conformanceEnds } from './conformance.mjs';

await suite(import.meta.dirname, { timeout_ms: 180000, packages: true, after: conformanceEnds });
