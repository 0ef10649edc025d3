/* words.ts -- how states, times and values are said. The same word everywhere. */
import type { Call, CallStatus } from '../protocol';
import { isObject } from '../protocol';
import type { IconName } from './icons';

export const stateWord: Record<CallStatus, string> = {
  preparing: 'Preparing',
  asking: 'Waiting for approval',
  queued: 'Queued',
  running: 'Running',
  offered: 'Waiting for your browser',
  done: 'Completed',
  failed: 'Failed',
  denied: 'Denied',
  cancelled: 'Cancelled',
  expired: 'Expired',
  unknown: 'Outcome unknown',
};

/* No two alike: the word and the colour may be overlooked. */
export const stateIcon: Record<CallStatus, IconName> = {
  preparing: 'dots',
  asking: 'shield',
  queued: 'clock',
  running: 'play',
  offered: 'browser',
  done: 'check',
  failed: 'warning',
  denied: 'cross',
  cancelled: 'stop',
  expired: 'hourglass',
  unknown: 'question',
};

export function wordOf(call: Call): string {
  if (call.status === 'offered' && call.claim) return call.claim === 'mine' ? 'Running in this tab' : 'Running in another tab';
  return stateWord[call.status];
}

/** One line about a call: what it does now, or what it brought. */
export function summaryOf(call: Call): string {
  if (call.status === 'failed') return firstLine(call.error ?? '');
  if (call.status === 'running' || call.status === 'preparing' || call.status === 'queued' || call.status === 'offered') {
    return call.progress?.message ?? call.progress?.stage ?? call.intent ?? inputLine(call.input);
  }
  // A record has the sentence and the arguments: only what is new is said beside it.
  if (call.approval?.ask) return call.status === 'done' ? saidBy(call.output) : '';
  if (call.status === 'done') return outputLine(call.output) || inputLine(call.input);
  return inputLine(call.input);
}

/* The tool's own sentence about what it did, if it has one. */
function saidBy(v: unknown): string {
  if (typeof v === 'string') return firstLine(v);
  if (!isObject(v)) return '';
  const words = ['message', 'summary', 'title', 'status', 'result'].map((key) => v[key]).find((x) => typeof x === 'string' && x);
  return firstLine((words as string | undefined) ?? '');
}

function outputLine(v: unknown): string {
  if (typeof v === 'string' || !isObject(v) || saidBy(v)) return saidBy(v);
  const counted = Object.entries(v).find(([, x]) => Array.isArray(x));
  return counted ? `${(counted[1] as unknown[]).length} ${counted[0]}` : inputLine(v);
}

/* Ids say nothing to a person. */
const idName = /(^|[_-])id$|Id$/;

function inputLine(v: unknown): string {
  if (!isObject(v)) return '';
  return Object.entries(v)
    .filter(([k, x]) => !idName.test(k) && ['string', 'number', 'boolean'].includes(typeof x))
    .slice(0, 3)
    .map(([k, x]) => `${k}: ${firstLine(String(x))}`)
    .join(', ');
}

function firstLine(s: string): string {
  const line = s.trim().split('\n')[0] ?? '';
  return line.length > 140 ? `${line.slice(0, 139)}…` : line;
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

export function clock(at: number | string): string {
  return new Date(at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
}

export function fullTime(at: number | string): string {
  return new Date(at).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
}

export function ago(at: number, now: number): string {
  const s = Math.max(0, Math.round((now - at) / 1000));
  if (s < 60) return 'now';
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h`;
  if (s < 7 * 86_400) return `${Math.floor(s / 86_400)} d`;
  return new Date(at).toLocaleDateString([], { day: 'numeric', month: 'short' });
}

/** "23 h 59 min" until a moment; empty when it has passed. */
export function left(until: string, now: number): string {
  const s = Math.floor((Date.parse(until) - now) / 1000);
  if (Number.isNaN(s) || s <= 0) return '';
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 2 * 86_400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86_400)} days`;
}

const ways: Record<string, string> = {
  chat: 'in the chat',
  live: 'in the chat',
  ws: 'in the chat',
  typed: 'in the chat',
  'seed-000': 'in the chat',
  action: 'by a suggested action',
  rest: 'through the API',
  cli: 'on the command line',
  'ag-ui': 'in an AG-UI app',
  mcp: 'in an MCP client',
};

/** By which way an answer came, to go behind a time. */
export function wayOf(via: string | undefined): string {
  return via ? `, ${ways[via] ?? `by ${via}`}` : '';
}

/** "get_location" for people: "Get location". */
export function humanName(name: string): string {
  const words = name.replace(/[._-]+/g, ' ').trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const scripts: [RegExp, string][] = [
  [/[\p{Script=Hiragana}\p{Script=Katakana}]/u, 'ja'],
  [/\p{Script=Hangul}/u, 'ko'],
  [/\p{Script=Han}/u, 'zh'],
  [/\p{Script=Thai}/u, 'th'],
  [/\p{Script=Hebrew}/u, 'he'],
  [/\p{Script=Greek}/u, 'el'],
];

/** The language of a text where its letters tell it (and most of them do): voices and glyphs depend on it. */
export function languageOf(text: string): string | undefined {
  const letters = text.slice(0, 400).match(/\p{L}/gu) ?? [];
  const found = scripts.find(([script]) => letters.some((l) => script.test(l)));
  const foreign = letters.filter((l) => !/\p{Script=Latin}/u.test(l)).length;
  return found && foreign * 2 > letters.length ? found[1] : undefined;
}
