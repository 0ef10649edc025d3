/* Steps.tsx -- why it did that: the steps of this conversation as the server tells them, each on demand with the exact
 * request to the model (for whoever may see it).
 */
import { useEffect, useState } from 'react';
import { ValueBlock } from '../chat/Json';
import { parseExact } from '../protocol/exact';
import type { Trace, TraceStep } from '../transport/api';
import { t } from '../words';
import { api } from './store';

const settleMs = 400; // after the last event: a step that has just ended is among them

/** `news` changes when something happened. */
export function Steps({ thread, news }: { thread: string | null; news: number }) {
  const [trace, setTrace] = useState<Trace | null>(null);
  const [why, setWhy] = useState('');
  const [open, setOpen] = useState<number | null>(null);
  useEffect(() => {
    if (!thread) return;
    let left = false;
    const read = () =>
      api.trace(thread).then(
        (x) => left || (setTrace(x), setWhy('')),
        (e: Error) => left || setWhy(e.message),
      );
    const timer = setTimeout(() => void read(), settleMs);
    return () => ((left = true), clearTimeout(timer));
  }, [thread, news]);
  const steps = trace?.id === thread ? trace.runs.flatMap((r) => r.steps) : [];
  return (
    <ol className="steps" tabIndex={0} aria-label={t.steps}>
      {why && <li>{why}</li>}
      {!why && steps.length === 0 && <li>{t.noSteps}</li>}
      {steps.map((s) => (
        <li key={s.step}>
          <button type="button" aria-expanded={open === s.step} onClick={() => setOpen(open === s.step ? null : s.step)}>
            <span className="dev-n">{s.step}</span>
            <span className="dev-ms">{s.ms ?? ''}</span>
            <span className="dev-channel">{s.model ?? ''}</span>
            <span className="dev-text">{summary(s)}</span>
            <span className="dev-cursor">{s.failed ?? `${s.input_tokens}+${s.output_tokens}`}</span>
          </button>
          {open === s.step && thread && <Step thread={thread} step={s} />}
        </li>
      ))}
    </ol>
  );
}

function Step({ thread, step }: { thread: string; step: TraceStep }) {
  const [request, setRequest] = useState<unknown>(undefined);
  useEffect(() => {
    api.trace(thread, step.step).then(
      (x) => setRequest(body(x.runs[0]?.steps[0])),
      (e: Error) => setRequest(e.message),
    );
  }, [thread, step.step]);
  return (
    <>
      <ValueBlock label={t.step} value={step} name={String(step.step)} />
      {request !== undefined && <ValueBlock label={t.requestToModel} value={request} name={String(step.step)} />}
    </>
  );
}

/* As the model got it, laid out to be read where it is JSON. */
function body(step: TraceStep | undefined): unknown {
  const text = step?.request?.body;
  if (text === undefined || text === null) return t.requestNotKept;
  try {
    return parseExact(text);
  } catch {
    return text;
  }
}

function summary(s: TraceStep): string {
  const calls = s.calls.map((c) => `${c.tool} (${c.finished?.outcome ?? c.decided?.outcome ?? c.gate})`);
  return [...calls, ...s.said.map((x) => x.text ?? '')].filter(Boolean).join(' · ');
}
