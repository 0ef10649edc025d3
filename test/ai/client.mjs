// client.mjs -- one chat of the AI SDK without a page around it: the state a page
// would keep, and counters on what it sends.
import * as ai6 from 'ai6';
import * as ai7 from 'ai7';
import { WebSocket as UndiciWebSocket } from 'undici';
import { until } from '../live/lib.mjs';

export const MAJORS = { 6: ai6, 7: ai7 };
const WebSocket = globalThis.WebSocket ?? UndiciWebSocket;

class State {
    constructor(messages) { this.status = 'ready'; this.error = undefined; this.messages = messages; }
    pushMessage = (m) => { this.messages = this.messages.concat(m); };
    popMessage = () => { this.messages = this.messages.slice(0, -1); };
    replaceMessage = (at, m) => { this.messages = [...this.messages.slice(0, at), structuredClone(m), ...this.messages.slice(at + 1)]; };
    snapshot = (thing) => structuredClone(thing);
}

// {door: '/api/chat' | '/stream' | 'ws', tools: {name: (input) => output}}
export function chatOf(t, server, major, { door = '/api/chat', id = `chat-${major}-${Math.random().toString(36).slice(2)}`, messages = [], tools = {} } = {}) {
    const ai = MAJORS[major], count = { posts: 0, gets: 0, toolCalls: [], data: [], errors: [] };
    const fetch = (url, init) => { count[(init?.method ?? 'GET') === 'POST' ? 'posts' : 'gets']++; return globalThis.fetch(url, init); };
    const transport = door === 'ws'
        ? new ai.WebSocketChatTransport({ url: `${server.url}/api/chat/ws`, webSocket: WebSocket, prepareSendMessagesRequest: (o) => { count.posts++; return { ...o }; } })
        : new ai.DefaultChatTransport({ api: server.url + door, fetch });
    class Chat extends ai.AbstractChat {}
    const chat = new Chat({
        id, transport, state: new State(messages),
        sendAutomaticallyWhen: (o) => ai.lastAssistantMessageIsCompleteWithToolCalls(o) || ai.lastAssistantMessageIsCompleteWithApprovalResponses(o),
        onToolCall: async ({ toolCall }) => {
            count.toolCalls.push(toolCall.toolName);
            const tool = tools[toolCall.toolName];
            if (tool) chat.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: await tool(toolCall.input) });
        },
        onData: (d) => count.data.push(d),
        onError: (e) => count.errors.push(e),
    });
    t.defer(async () => { await chat.stop(); if (door === 'ws') transport.close(); });
    const view = {
        chat, count, id, transport,
        get last() { return chat.messages.at(-1); },
        get tools() { return view.last.parts.filter((p) => p.type.startsWith('tool-')); },
        get text() { return view.last.parts.filter((p) => p.type === 'text').map((p) => p.text).join('\n'); },
        tool(name) { return view.tools.find((p) => p.type === `tool-${name}`); },
        // A person waits until the page is quiet: nothing streams and nothing is about to be sent.
        quiet: async () => {
            await until(() => chat.status === 'ready' || chat.status === 'error', 'the client to be ready');
            await new Promise((yes) => setImmediate(yes));
            if (chat.status !== 'ready' && chat.status !== 'error') await view.quiet();
        },
        say: async (text) => { await chat.sendMessage({ text }); await view.quiet(); },
        approve: async (part, approved, reason) => {
            if (part.type === 'tool-adk_request_confirmation') await chat.addToolOutput({ tool: 'adk_request_confirmation', toolCallId: part.toolCallId, output: { confirmed: approved, ...(reason && { reason }) } });
            else await chat.addToolApprovalResponse({ id: part.approval.id, approved, ...(reason && { reason }) });
            await view.quiet();
        },
        get asked() {
            return view.tools.filter((p) => p.state === 'approval-requested' || (p.type === 'tool-adk_request_confirmation' && p.state === 'input-available'));
        },
    };
    return view;
}
