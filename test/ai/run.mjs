// run.mjs -- the AI SDK's own clients against the doors they talk to.
//
// `ai` 6 and `ai` 7, class AbstractChat without a page, both stock helpers of
// sendAutomaticallyWhen on. Every conversation asserts what is on the screen and how
// often the client sent: a shape that loops or stalls shows in that number.
//     node test/ai/run.mjs [WORD...]
// Installs its packages when they are missing; without a registry it is skipped.
import { suite } from '../lib/test.mjs';

await suite(import.meta.dirname, { packages: true });
