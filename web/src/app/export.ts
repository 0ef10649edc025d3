/* export.ts -- a conversation as a file: Markdown to read, JSON for programs; who said what, with the tools in their places. */
import { wordOf } from '../chat/words';
import type { Call, Message, Part } from '../protocol';
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
  return t.joined(wordOf(call), a?.decidedBy ? t.saved.by(decision, a.decidedBy) : decision);
}

export function saveMarkdown(messages: Message[], title: string | null): void {
  const url = URL.createObjectURL(new Blob([`# ${title ?? t.conversation}\n\n${toMarkdown(messages)}\n`], { type: 'text/markdown' }));
  const a = document.createElement('a');
  a.href = url;
  a.download = `${
    (title ?? t.saved.file)
      .replace(/[^\p{L}\p{N} -]/gu, '')
      .slice(0, 60)
      .trim() || t.saved.file
  }.md`;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
