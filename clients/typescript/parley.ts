// parley.ts -- a small client for scripts and servers: say something, hear typed events, decide what waits.
//
//     const chat = new Parley('http://127.0.0.1:8000', { key });
//     const run = chat.say('Send 50 dollars to Hanako');
//     for await (const event of run)
//         if (event.type === 'text_delta') process.stdout.write(event.text);
//     for (const id of run.awaiting) await chat.decide(id, true);
//     for await (const event of run.goOn()) …
//
// A connection that breaks is come back to: with the same request when nothing was told yet, else from the
// last place that was told, so that no event is lost or told twice. fetch and nothing else: Node 20, Deno, Bun,
// workers, browsers. For pages there is @parley/client, with reducers, sockets and React components.

export interface Question {
    tool: string; tool_use_id: string; input: unknown; ask: string | null; risk: string | null; expires_at: string | null;
}
export interface ToolOutcome {
    tool_name: string; tool_use_id: string; input: unknown; output: string; ok: boolean; outcome: string; ms: number; value?: unknown; note?: string;
}
export interface Payload {
    message: string; thread_id: string; run_id: string; awaiting?: string[]; tool_history?: ToolOutcome[]; suggested_values?: unknown[];
    suggested_actions?: { label: string; action: string; handler: string; data?: unknown }[]; custom_payload?: unknown;
    usage: { input_tokens: number; output_tokens: number }; finish_reason?: string; continues?: boolean; new_message?: string;
}
type Kinds = {
    status: { message: string };
    text_delta: { text: string };
    reasoning_delta: { text: string };
    intent_confirmation: { message: string; tool: string; tool_use_id: string; timestamp: number };
    tool_confirmation: Question & { confirmation_id: string };
    tool_start: { tool: string; tool_use_id: string; input: unknown; where?: 'client' };
    tool_progress: { tool: string; tool_use_id: string; stage: string | null; message: string | null; progress: number | null; data?: unknown };
    tool_complete: { tool: string; tool_use_id: string; index: number; ok: boolean; outcome: string };
    complete: { payload: Payload };
    error: { message: string; code: string; retryable: boolean };
    cancelled: object;
    step_reset: { message: string };      // the run's text as it stands: put it in place of what you had
    restarting: object;
};
// `id`: the place; absent where nothing can go on from. `raw`: the JSON as it came, with every digit. Pass over
// types that you do not know.
export type ParleyEvent = { [K in keyof Kinds]: { type: K; id?: string; raw: string } & Kinds[K] }[keyof Kinds];

export interface Approval extends Omit<Question, 'tool' | 'tool_use_id'> {
    id: string; thread: string; run: string | null; tool: string | null; tool_use_id: string | null; said: string | null; status: string;
    requested_at: string | null; decided_at: string | null; decided_by: string | null; decided_via: string | null; reason: string | null;
    owner?: string; may?: boolean; voted?: boolean; needed?: number; votes?: { by: string; at: string; via: string }[];
}
export interface Decision {
    id: string; status: string; duplicate: boolean; run_id: string; decided_at?: string; decided_by?: string; needed?: number;
    votes?: { by: string; at: string; via: string }[]; replaced_by?: string;
}
export interface Usage { principal: string; day: string; tokens: number; cost_micro: number; currency: string | null; budgets: unknown[] }
export interface Words { thread?: string; page?: string; when_busy?: 'queue' | 'interrupt'; request_id?: string; reasoning?: boolean }
export interface Options { key?: string; fetch?: typeof fetch; signal?: AbortSignal }

// The server's answer was a refusal: `code` for programs, `message` for people.
export class Refused extends Error {
    constructor(readonly status: number, readonly code: string, message: string, readonly body: unknown) { super(message); this.name = 'Refused'; }
}
// The server did not come back. What was told before is saved there; goOn() tries again.
export class Lost extends Error {
    constructor() { super('the server does not answer'); this.name = 'Lost'; }
}

const TRIES = 12, PAUSE_MS = 250, PAUSE_MAX_MS = 5000;      // about a minute of coming back, between two events
const SILENT_MS = 60_000;                                   // the server says something every 15 s

// The texts of a stream's events with their ids.
async function* read(body: ReadableStream<Uint8Array>): AsyncGenerator<{ id?: string; raw: string }> {
    const reader = body.getReader(), decoder = new TextDecoder();
    let rest = '', id: string | undefined, data: string[] = [];
    try {
        for (;;) {
            let timer: ReturnType<typeof setTimeout> | undefined;
            const silent = new Promise<never>((_, no) => { timer = setTimeout(() => no(new Error('silent')), SILENT_MS); });
            const piece = await Promise.race([reader.read(), silent]).finally(() => clearTimeout(timer));
            if (piece.done) return;
            const lines = (rest + decoder.decode(piece.value, { stream: true })).split(/\r?\n/);
            rest = lines.pop()!;
            for (const line of lines) {
                if (line.startsWith('id:')) id = line.slice(3).trim();
                else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
                else if (line === '' && data.length) {
                    yield { id, raw: data.join('\n') };
                    id = undefined;
                    data = [];
                }
            }
        }
    } finally { await reader.cancel().catch(() => {}); }
}

// What was said and becomes of it; iterating tells its events up to where it ends or waits.
export class Run implements AsyncIterable<ParleyEvent> {
    payload?: Payload;                                      // of the last `complete`
    constructor(private client: Parley, private body: object | undefined, public thread?: string, public place?: string) {}

    // Ids of requests, and of calls that a client has to run.
    get awaiting(): string[] { return this.payload?.awaiting ?? []; }
    get message(): string { return this.payload?.message ?? ''; }
    // The rest, after decisions.
    goOn(): Run { return new Run(this.client, undefined, this.thread, this.place); }

    private open(): Promise<Response> {
        if (this.body && this.place === undefined) return this.client.send('POST', '/v1/chat/stream', this.body);
        return this.client.send('GET', `/v1/threads/${this.thread}/events?after=${this.place ?? '0.0'}`);
    }
    private async* events(): AsyncGenerator<ParleyEvent> {
        const answer = await this.open();
        this.thread = answer.headers.get('parley-thread') ?? this.thread;
        for await (const { id, raw } of read(answer.body!)) {
            this.place = id ?? this.place;
            yield { ...JSON.parse(raw), id, raw };
        }
    }
    async* [Symbol.asyncIterator](): AsyncGenerator<ParleyEvent> {
        for (let tries = 0; tries < TRIES; tries++) {
            const events = this.events();
            for (;;) {
                let next: IteratorResult<ParleyEvent>;
                try { next = await events.next(); } catch (why) {
                    if (this.client.options.signal?.aborted) throw why;
                    if (why instanceof Refused && (why.status !== 503 || !tries)) throw why;
                    break;
                }
                if (next.done) break;
                tries = 0;
                const event = next.value;
                if (event.type === 'complete') this.payload = event.payload;
                if (event.type === 'complete' || event.type === 'error' || event.type === 'cancelled') {
                    await events.return(undefined);
                    yield event;
                    return;
                }
                yield event;
            }
            await new Promise((yes) => setTimeout(yes, Math.min(PAUSE_MS * 2 ** tries, PAUSE_MAX_MS)));
        }
        throw new Lost();
    }
}

export class Parley {
    readonly url: string;
    constructor(url = 'http://127.0.0.1:8000', readonly options: Options = {}) { this.url = url.replace(/\/+$/, ''); }

    async send(method: string, path: string, body?: unknown): Promise<Response> {
        const headers: Record<string, string> = { 'content-type': 'application/json' };
        if (this.options.key) headers.authorization = `Bearer ${this.options.key}`;
        const answer = await (this.options.fetch ?? fetch)(this.url + path, { method, headers, signal: this.options.signal, body: body === undefined ? undefined : JSON.stringify(body) });
        if (answer.ok) return answer;
        const text = await answer.text();
        let what: any = text;
        try { what = JSON.parse(text); } catch { /* then it is words */ }
        throw new Refused(answer.status, what?.error?.code ?? '', what?.error?.message ?? text, what);
    }
    // Any other door of docs/openapi.json: its answer.
    async ask<T = any>(method: string, path: string, body?: unknown): Promise<T> {
        const text = await (await this.send(method, path, body)).text();
        return (text ? JSON.parse(text) : undefined) as T;
    }

    // Without `thread` a new conversation: run.thread names it with the first event.
    say(message: string, { thread, ...more }: Words = {}): Run {
        return new Run(this, { message, request_id: crypto.randomUUID(), ...more, ...(thread && { thread_id: thread }) }, thread);
    }
    // Follows a conversation from a place on; '0.0' is its beginning.
    resume(thread: string, place = '0.0'): Run { return new Run(this, undefined, thread, place); }

    // Status 'pending': it was a vote, and more are needed.
    decide(request: string, confirmed: boolean, more: { reason?: string; payload?: unknown; grant?: object; input?: object } = {}): Promise<Decision> {
        return this.ask('POST', `/v1/approvals/${encodeURIComponent(request)}`, { confirmed, ...more });
    }
    // All of them, newest first.
    async* approvals(query: { status?: string; thread?: string; limit?: number } = {}): AsyncGenerator<Approval> {
        const search = new URLSearchParams(Object.entries(query).map(([k, v]) => [k, String(v)]));
        for (;;) {
            const page = await this.ask<{ approvals: Approval[]; next: string | null }>('GET', `/v1/approvals?${search}`);
            yield* page.approvals;
            if (page.next === null) return;
            search.set('before', page.next);
        }
    }
    // Tokens by day and person; for administrators.
    /** What one has used today. */
    usage(): Promise<Usage> { return this.ask<Usage>('GET', '/v1/usage'); }
    async stop(thread: string): Promise<boolean> { return (await this.ask<{ stopped: boolean }>('POST', `/v1/threads/${thread}/stop`, {})).stopped; }
}
