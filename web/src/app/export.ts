/* export.ts -- a conversation as a file: Markdown to read, JSON for programs; who said what, with the tools in their places. */
import { alone, called } from '../chat/context';
import { wordOf } from '../chat/words';
import { self, type Call, type Message, type Part } from '../protocol';
import { t } from '../words';

export function toMarkdown(messages: Message[]): string {
  return messages
    .map(
      (m) =>
        `## ${m.role === 'user' ? t.You : t.assistant}\n\n${m.parts
          .map((p) => partText(m, p))
          .filter(Boolean)
          .join('\n\n')}`,
    )
    .join('\n\n');
}

function partText(m: Message, p: Part): string {
  if (p.type === 'text') return p.text.trim();
  if (p.type === 'file') return `(${p.filename ?? p.mediaType})`;
  const call = p.type === 'call' ? m.calls[p.id] : undefined;
  if (!call) return '';
  return `> ${t.saved.tool(call.name, stateOf(call), JSON.stringify(call.input ?? {}))}`;
}

function stateOf(call: Call): string {
  const a = call.approval;
  const decision = a && a.status !== 'pending' ? t.verdict[a.status] : null;
  if (!decision) return wordOf(call);
  return t.joined(wordOf(call), a?.decidedBy ? t.saved.by(decision, called(alone, a.decidedBy)) : decision);
}

/* What is here, in the words of the protocol: roles, parts in their order, calls with their decision and outcome. */
export function toJson(messages: Message[], title: string | null): string {
  const told = messages.map((m) => ({
    role: m.role,
    ...(m.at ? { at: new Date(m.at).toISOString() } : {}),
    status: m.status,
    parts: m.parts.map((p) => (p.type === 'call' ? { type: 'call', ...callJson(m.calls[p.id]) } : p)),
    ...(m.usage ? { usage: m.usage } : {}),
  }));
  return JSON.stringify({ title, saved_at: new Date().toISOString(), messages: told }, null, 2);
}

function callJson(call: Call | undefined): object {
  if (!call) return {};
  const { id, name, status, input, output, error, approval } = call;
  const by = approval?.decidedBy === self ? { decidedBy: 'you' } : {};
  return { id, name, status, input, output, error, ...(approval ? { approval: { ...approval, ...by } } : {}) };
}

export type Kind = 'markdown' | 'json';

export function save(kind: Kind, messages: Message[], title: string | null): void {
  const text = kind === 'json' ? toJson(messages, title) : `# ${title ?? t.conversation}\n\n${toMarkdown(messages)}`;
  const type = kind === 'json' ? 'application/json' : 'text/markdown';
  saveText(`${fileName(title ?? '') || t.saved.file}.${kind === 'json' ? 'json' : 'md'}`, type, `${text}\n`);
}

export function saveText(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const a = document.createElement('a');
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

function fileName(title: string): string {
  return title
    .replace(/[^\p{L}\p{N} -]/gu, '')
    .slice(0, 60)
    .trim();
}
