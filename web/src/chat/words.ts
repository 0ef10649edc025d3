/* words.ts -- how states, times and values are said. The same word everywhere. */
import type { Call, CallStatus } from '../protocol';
import { firstOf, isObject, outputOf } from '../protocol';
import type { IconName } from './icons';
import { locale, number, t } from '../words';

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
  replaced: 'edit',
  unknown: 'question',
};

export function wordOf(call: Call): string {
  if (call.status === 'offered' && call.claim) return call.claim === 'mine' ? t.runsHere : t.runsElsewhere;
  return firstOf(call) ? t.doneBefore : t.state[call.status];
}

/** One line about a call: what it does now, or what it brought. */
export function summaryOf(call: Call): string {
  if (firstOf(call)) return inputLine(call.input); // of what the same was done
  if (call.approval?.settledBy) return ''; // its own line says it
  if (call.status === 'failed') return firstLine(call.error ?? '');
  if (call.status === 'running' || call.status === 'preparing' || call.status === 'queued' || call.status === 'offered') {
    return call.progress?.message ?? call.progress?.stage ?? call.intent ?? inputLine(call.input);
  }
  // A record has the sentence and the arguments: only what is new is said beside it.
  if (call.approval?.ask) return call.status === 'done' ? saidBy(outputOf(call)) : '';
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

export function seconds(s: number, digits = 0): string {
  return t.unit.s(number(s, { minimumFractionDigits: digits, maximumFractionDigits: digits }));
}

export function duration(ms: number): string {
  if (ms < 1000) return t.unit.ms(number(Math.round(ms)));
  if (ms < 60_000) return seconds(ms / 1000, 1);
  return `${t.unit.min(number(Math.floor(ms / 60_000)))} ${seconds(Math.round((ms % 60_000) / 1000))}`;
}

export function clock(at: number | string): string {
  return new Date(at).toLocaleTimeString(locale, { hour: '2-digit', minute: '2-digit' });
}

export function fullTime(at: number | string): string {
  return new Date(at).toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'short' });
}

/** A day of the calendar, "2026-11-18", as people write it. */
export function dayOf(day: string): string {
  return new Date(`${day}T00:00:00Z`).toLocaleDateString(locale, { dateStyle: 'medium', timeZone: 'UTC' });
}

export function ago(at: number, now: number): string {
  const s = Math.max(0, Math.round((now - at) / 1000));
  if (s < 60) return t.now;
  if (s < 3600) return t.unit.min(number(Math.floor(s / 60)));
  if (s < 86_400) return t.unit.h(number(Math.floor(s / 3600)));
  if (s < 7 * 86_400) return t.unit.d(number(Math.floor(s / 86_400)));
  return new Date(at).toLocaleDateString(locale, { day: 'numeric', month: 'short' });
}

/** "23 h 59 min" until a moment; empty when it has passed. */
export function left(until: string, now: number): string {
  const s = Math.floor((Date.parse(until) - now) / 1000);
  if (Number.isNaN(s) || s <= 0) return '';
  if (s < 60) return seconds(s);
  if (s < 3600) return `${t.unit.min(number(Math.floor(s / 60)))} ${seconds(s % 60)}`;
  if (s < 2 * 86_400) return `${t.unit.h(number(Math.floor(s / 3600)))} ${t.unit.min(number(Math.floor((s % 3600) / 60)))}`;
  return t.days(Math.floor(s / 86_400));
}

/* Doors that people take for one. */
const chats = ['live', 'ws', 'typed', 'toolcalls', 'seed-000'];

/** By which way an answer came. */
export function wayOf(via: string): string {
  return t.via[chats.includes(via) ? 'chat' : via] ?? t.viaOther(via);
}

/** "get_location" for people: "Get location". */
export function humanName(name: string): string {
  // What has no vowel is an abbreviation: "bgm", "csv".
  const words = name.replace(/[._-]+/g, ' ').trim().replace(/\b[b-df-hj-np-tv-xz]{2,5}\b/g, (w) => w.toUpperCase());
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
