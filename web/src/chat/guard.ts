/* guard.ts -- a click decides only where it was meant to.
 *
 * A click that lands on what has just appeared was meant for what stood there before; so was one of
 * a row of impatient clicks after a decision, when the next request has come up under the same hand.
 * A click that is not taken begins the wait anew: whoever goes on clicking is not reading.
 */
import { useCallback, useEffect, useRef, useState } from 'react';

const guard_ms = 450;
const rest_ms = 1500;
const left_px = 12;

/* The hand that decided last, on this page, until it has gone elsewhere. */
let hand: { at: number; x: number; y: number } | null = null;
let pointer = { x: 0, y: 0 };
const watchers = new Set<() => void>();

function changed(to: typeof hand): void {
  hand = to;
  watchers.forEach((f) => f());
}

function moves(e: PointerEvent): void {
  pointer = { x: e.clientX, y: e.clientY };
  if (hand && Math.hypot(pointer.x - hand.x, pointer.y - hand.y) > left_px) changed(null);
}

if (typeof window !== 'undefined') {
  // A finger does not move from one place to another: it comes down there.
  for (const type of ['pointermove', 'pointerdown'] as const) window.addEventListener(type, moves, { capture: true, passive: true });
}

function rest(since: number): number {
  return Math.max(since + guard_ms, hand ? hand.at + rest_ms : 0) - performance.now();
}

export interface Guard {
  armed: boolean;
  /** Whether a click that came now counts; one that does not makes it wait longer. */
  ready(): boolean;
  /** Something was decided by it. */
  decided(): void;
}

export function useGuard(): Guard {
  const [armed, setArmed] = useState(false);
  const since = useRef(Infinity);
  useEffect(() => {
    since.current = performance.now();
    let timer: ReturnType<typeof setTimeout>;
    const look = () => {
      clearTimeout(timer);
      const wait = rest(since.current);
      setArmed(wait <= 0);
      if (wait > 0) timer = setTimeout(look, wait);
    };
    watchers.add(look);
    look();
    return () => {
      watchers.delete(look);
      clearTimeout(timer);
    };
  }, []);
  const ready = useCallback(() => {
    if (rest(since.current) <= 0) return true;
    since.current = performance.now();
    changed(hand && { ...hand, at: since.current });
    return false;
  }, []);
  const decided = useCallback(() => changed({ at: performance.now(), ...pointer }), []);
  return { armed, ready, decided };
}

/** A key that is held down presses a button once. (In a text it types.) */
export function isHeld(e: { repeat: boolean; target: EventTarget }): boolean {
  return e.repeat && e.target instanceof HTMLButtonElement;
}
