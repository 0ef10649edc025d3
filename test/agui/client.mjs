// client.mjs -- one AG-UI agent without a page around it, and what its client does not look at.
import * as agui1 from 'agui1';
import * as agui0 from 'agui0';
import { check, same } from '../live/lib.mjs';

export const VERSIONS = { '1.0.0': agui1, '0.0.59': agui0 };

// The clients complain on the console about what they had to strip. (That a request was refused or cut
// they say there too; the tests look at that themselves.)
export const warnings = [];
for (const name of ['warn', 'error'])
    console[name] = (...what) => { if (!/^Agent execution failed/.test(what[0])) warnings.push(what.map(String).join(' ')); };

// The events of one answer, held against what the protocol wants and the clients do not check.
export function wire(text) {
    const events = text.split('\n\n').filter((b) => /^data: /m.test(b)).map((b) => JSON.parse(/^data: (.*)$/m.exec(b)[1]));
    same(events[0]?.type, 'RUN_STARTED', 'the first event');
    const last = events.filter((e) => e.type === 'RUN_FINISHED' || e.type === 'RUN_ERROR');
    same(last.length, 1, `one terminal event: ${events.map((e) => e.type).join(' ')}`);
    same(events.at(-1), last[0], 'and it is the last');
    check(!text.includes('\r') && !text.includes('[DONE]'), 'framing');
    const started = new Set(), over = new Set();
    for (const m of events.filter((e) => e.type === 'MESSAGES_SNAPSHOT').flatMap((e) => e.messages))
        for (const c of m.toolCalls ?? []) started.add(c.id);
    for (const e of events) {
        if (e.type === 'TOOL_CALL_START') { check(!started.has(e.toolCallId), `one start of ${e.toolCallId}`); started.add(e.toolCallId); }
        if (e.type === 'TOOL_CALL_RESULT') { check(!over.has(e.toolCallId), `one result of ${e.toolCallId}`); over.add(e.toolCallId); }
    }
    return events;
}

// {thread, messages, page tools as {name: {…definition, run}}, headers}
export function agentOf(t, server, version, { thread = `t-${Math.random().toString(36).slice(2)}`, messages = [], tools = {}, url = '/ag-ui', headers } = {}) {
    const { HttpAgent } = VERSIONS[version], seen = { posts: [], streams: [], errors: [], custom: [] };
    const fetch = async (at, init) => {
        seen.posts.push(JSON.parse(init.body));
        const r = await globalThis.fetch(at, init);
        if (r.status === 200) seen.streams.push(r.clone().text().catch(() => null));
        return r;
    };
    const agent = new HttpAgent({ url: server.url + url, threadId: thread, initialMessages: messages, fetch, headers: headers ?? (server.token && { authorization: `Bearer ${server.token}` }) });
    agent.subscribe({
        onRunErrorEvent: ({ event }) => { seen.errors.push(event); },
        onRunFinishedEvent: ({ event }) => { seen.finished = event; },
        onCustomEvent: ({ event }) => { seen.custom.push(event); },
    });
    const some = () => Math.random().toString(36).slice(2);
    const view = {
        agent, seen, thread,
        // One segment, to its end.
        run: async (more = {}) => {
            seen.errors.length = 0;
            seen.finished = undefined;
            const r = await agent.runAgent({ runId: `run-${some()}`, tools: Object.entries(tools).map(([name, x]) => ({ name, description: x.description ?? name, parameters: x.parameters ?? { type: 'object', properties: {} } })), ...more });
            const text = await seen.streams.at(-1);
            view.events = wire(text);
            return r;
        },
        say: (text, more) => { agent.addMessage({ id: `u-${some()}`, role: 'user', content: text }); return view.run(more); },
        get interrupts() { return agent.pendingInterrupts ?? []; },
        answer: (payload, more) => view.run({ resume: view.interrupts.map((i) => ({ interruptId: i.id, status: 'resolved', payload })), ...more }),
        cancel: () => view.run({ resume: view.interrupts.map((i) => ({ interruptId: i.id, status: 'cancelled' })) }),
        // What a page does with calls that are its own.
        serve: async (more) => {
            const done = new Set(agent.messages.filter((m) => m.role === 'tool').map((m) => m.toolCallId));
            for (const c of agent.messages.flatMap((m) => m.toolCalls ?? []))
                if (!done.has(c.id) && tools[c.function.name])
                    agent.addMessage({ id: `own-${c.id}`, role: 'tool', toolCallId: c.id, content: await tools[c.function.name].run(JSON.parse(c.function.arguments)) });
            return view.run(more);
        },
        get text() { return agent.messages.filter((m) => m.role === 'assistant').map((m) => m.content ?? '').join('\n'); },
        get words() { return agent.messages.filter((m) => m.role === 'assistant').at(-1)?.content ?? ''; },
        get results() { return agent.messages.filter((m) => m.role === 'tool'); },
        get calls() { return agent.messages.flatMap((m) => m.toolCalls ?? []); },
    };
    return view;
}
