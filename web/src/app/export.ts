/* export.ts -- a conversation as a Markdown file: who said what, with the tools in their places. */
import type { Message, Part } from '../protocol';

export function toMarkdown(messages: Message[]): string {
  return messages
    .map(
      (m) =>
        `## ${m.role === 'user' ? 'You' : 'Assistant'}\n\n${m.parts
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
  const decided = call.approval ? `, ${call.approval.status}${call.approval.decidedBy ? ` by ${call.approval.decidedBy}` : ''}` : '';
  return `> Tool \`${call.name}\` (${call.status}${decided}): \`${JSON.stringify(call.input ?? {})}\``;
}

export function saveMarkdown(messages: Message[], title: string | null): void {
  const url = URL.createObjectURL(new Blob([`# ${title ?? 'Conversation'}\n\n${toMarkdown(messages)}\n`], { type: 'text/markdown' }));
  const a = document.createElement('a');
  a.href = url;
  a.download = `${
    (title ?? 'conversation')
      .replace(/[^\p{L}\p{N} -]/gu, '')
      .slice(0, 60)
      .trim() || 'conversation'
  }.md`;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
