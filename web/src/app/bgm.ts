/* bgm.ts -- the background music: two tracks, made here, no files.
 *
 * Track 0 is "BGM 1", a slow pad; track 1 is "BGM 2", a light arpeggio. Notes are
 * scheduled a little ahead of the audio clock. Browsers keep audio silent until
 * the person has clicked something; the indicator then offers to play.
 */
import { useSyncExternalStore } from 'react';

export interface BgmState {
  /** null: nobody has asked for music yet. */
  track: 0 | 1 | null;
  playing: boolean;
}

let state: BgmState = { track: null, playing: false };
const listeners = new Set<() => void>();

function set(next: BgmState): void {
  state = next;
  listeners.forEach((f) => f());
}

export function useBgm(): BgmState {
  return useSyncExternalStore(
    (f) => (listeners.add(f), () => listeners.delete(f)),
    () => state,
  );
}

interface Track {
  beat: number; // seconds per step
  wave: OscillatorType;
  length: number; // seconds a note sounds
  gain: number;
  steps: number[][]; // MIDI notes of each step
}

const tracks: [Track, Track] = [
  {
    beat: 2.4,
    wave: 'sine',
    length: 3.2,
    gain: 0.05,
    steps: [
      [48, 55, 64, 71],
      [45, 52, 60, 67],
      [41, 48, 57, 64],
      [43, 50, 59, 62],
    ],
  },
  {
    beat: 0.22,
    wave: 'triangle',
    length: 0.5,
    gain: 0.06,
    steps: [
      60, 64, 67, 72, 76, 72, 67, 64, 57, 60, 64, 69, 72, 69, 64, 60, 53, 57, 60, 65, 69, 65, 60, 57, 55, 59, 62, 67, 71, 67, 62, 59,
    ].map((n) => [n]),
  },
];

let audio: AudioContext | null = null;
let out: GainNode | null = null;
let timer: ReturnType<typeof setInterval> | null = null;
let step = 0;
let due = 0;

function note(midi: number, at: number, t: Track): void {
  if (!audio || !out) return;
  const osc = audio.createOscillator();
  const env = audio.createGain();
  osc.type = t.wave;
  osc.frequency.value = 440 * 2 ** ((midi - 69) / 12);
  env.gain.setValueAtTime(0, at);
  env.gain.linearRampToValueAtTime(t.gain, at + Math.min(0.4, t.length / 4));
  env.gain.exponentialRampToValueAtTime(0.0001, at + t.length);
  osc.connect(env).connect(out);
  osc.start(at);
  osc.stop(at + t.length + 0.05);
}

const ahead_s = 0.4;

function pump(): void {
  if (!audio || state.track === null) return;
  const t = tracks[state.track];
  while (due < audio.currentTime + ahead_s) {
    for (const midi of t.steps[step % t.steps.length]!) note(midi, Math.max(due, audio.currentTime), t);
    step++;
    due += t.beat;
  }
}

export function changeTrack(track: 0 | 1): void {
  set({ ...state, track });
  play();
}

export function play(): void {
  if (state.track === null) return;
  try {
    audio ??= new AudioContext();
  } catch {
    return; // no audio on this machine: the choice still counts
  }
  // The old track fades out instead of breaking off.
  const old = out;
  if (old) {
    old.gain.linearRampToValueAtTime(0, audio.currentTime + 0.2);
    setTimeout(() => old.disconnect(), 400);
  }
  out = audio.createGain();
  out.connect(audio.destination);
  step = 0;
  due = audio.currentTime + 0.1;
  void audio.resume().catch(() => undefined);
  if (timer) clearInterval(timer);
  timer = setInterval(pump, 100);
  pump();
  set({ ...state, playing: true });
}

export function pause(): void {
  if (timer) clearInterval(timer);
  timer = null;
  out?.disconnect();
  out = null;
  set({ ...state, playing: false });
}
