// run.mjs -- AG-UI's own clients against the door they talk to.
//
// `@ag-ui/client` of protocol 1.0 and the last one from before it, their HttpAgent with verifier and
// reducer on, and `@copilotkit/core`, which is CopilotKit without its components. What they do not
// check (section "order" of the protocol) is checked on the wire beside them, and a warning of theirs
// fails the test.
//     node test/agui/run.mjs [WORD...]
// Installs its packages when they are missing; without a registry it is skipped.
import { suite } from '../lib/test.mjs';

process.env.DO_NOT_TRACK = '1';         // CopilotKit counts its users otherwise
await suite(import.meta.dirname, { packages: true });
