// run.mjs -- stock clients of OpenAI's shapes against /v1: the `openai` package (majors 6 and 7), the
// AI SDK's provider (under `ai` 6 and 7), LangChain's ChatOpenAI, and the cases of the Open Responses
// compliance suite; and docs/openapi.json, by a validator, against the doors it describes.
//     node test/openai/run.mjs [WORD...]
// Installs its packages when they are missing; without a registry it is skipped.
import { suite } from '../lib/test.mjs';

await suite(import.meta.dirname, { packages: true });
