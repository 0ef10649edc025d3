// The HTTP cases of the Open Responses compliance suite, as tests of our own: what each of them
// sends, and what it looks at.
import { check, same, test } from '../live/lib.mjs';
import { respond, sound, textOf, whole } from '../live/openai.mjs';

const PIXEL = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const WEATHER = { type: 'function', name: 'get_weather', description: 'The weather of a place', parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] } };
const user = (content) => ({ type: 'message', role: 'user', content });

const CASES = {
    'a basic text': { input: [user('Say hello in exactly 3 words.')] },
    'a system prompt': { input: [{ type: 'message', role: 'system', content: 'You are a pirate.' }, user('Say hello.')] },
    'a developer\'s prompt': { input: [{ role: 'developer', content: 'Be brief.' }, { role: 'user', content: 'Hello' }] },
    'an image': { input: [user([{ type: 'input_text', text: 'What do you see in this image?' }, { type: 'input_image', image_url: PIXEL }])] },
    'a file': { input: [user([{ type: 'input_text', text: 'What is in it?' }, { type: 'input_file', filename: 'a.txt', file_data: 'data:text/plain;base64,aGVsbG8=' }])] },
    'several turns': { input: [user('My name is Alice.'), { type: 'message', role: 'assistant', content: 'Hello Alice!' }, user('What is my name?')] },
    'items of phases': { input: [user('Hello'), { type: 'message', role: 'assistant', phase: 'commentary', content: [{ type: 'output_text', text: 'Hm.' }] }, user('Thanks')] },
};

for (const [what, body] of Object.entries(CASES))
    for (const streamed of [false, true])
        test(`${what}${streamed ? ', streamed' : ''}`, async (t) => {
            const server = await t.serve();
            if (!streamed) {
                const r = await respond(server, { model: 'parley', ...body });
                same([r.object, r.status, r.output.length > 0], ['response', 'completed', true]);
                return;
            }
            const s = await server.open('POST', '/v1/responses', { model: 'parley', ...body, stream: true }, { accept: 'application/json' });
            await s.read();
            same(sound(s.events).status, 'completed');
        });

test('a tool call, and the way there and back', async (t) => {
    const server = await t.serve();
    const r = await respond(server, { input: [user('What\'s the weather like in San Francisco?')], tools: [WEATHER] });
    const call = r.output.find((x) => x.type === 'function_call');
    same(call.name, 'get_weather', 'the client\'s own takes the place of ours, which never asks');
    const done = await respond(server, { input: [user('What\'s the weather like in San Francisco?'), call, { type: 'function_call_output', call_id: call.call_id, output: 'Sunny, 18 degrees' }], tools: [WEATHER] });
    check(/Sunny/.test(textOf(done)), textOf(done));
    same(done.conversation.id, r.conversation.id);
});

test('the response before', async (t) => {
    const server = await t.serve();
    const first = await respond(server, { input: 'Hello', store: true });
    const second = await respond(server, { input: 'Thanks', previous_response_id: first.id });
    same([second.previous_response_id, whole(second).conversation.id], [first.id, first.conversation.id]);
});
