/* useStick.ts -- stays at the end while the reader is there, and nowhere else.
 *
 * Pinned: every growth of the content puts the view at its end, at once and
 * without animation. The smallest move up unpins; from then on nothing here
 * touches the scroll position until the reader comes back to the end.
 */
import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react';

const near_px = 64;
const byHand_ms = 400;

export interface Stick {
  scroller: RefObject<HTMLDivElement | null>;
  content: RefObject<HTMLDivElement | null>;
  pinned: boolean;
  /** There is something to read below what is seen; empty page, however much of it, is nothing. */
  away: boolean;
  /** Something was added below since the reader left the end. */
  news: boolean;
  toEnd: () => void;
}

/* The newest turn: what comes in above it is no news. */
interface End {
  turn: Element | null;
  height: number;
}

function endOf(content: HTMLElement): End {
  const turn = content.lastElementChild;
  return { turn, height: turn?.getBoundingClientRect().height ?? 0 };
}

function grew(before: End, now: End): boolean {
  return now.turn !== before.turn || now.height > before.height + 4;
}

/* Words or a card stand below what is seen. The newest turn fills the screen, so the page goes on below its last words. */
function goesOn(scroller: HTMLElement, content: HTMLElement): boolean {
  const last = content.lastElementChild?.lastElementChild;
  return !!last && last.getBoundingClientRect().bottom > scroller.getBoundingClientRect().bottom;
}

export function useStick(thread: string | null): Stick {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const isPinned = useRef(true);
  const lastTop = useRef(0);
  const [pinned, setPinned] = useState(true);
  const [away, setAway] = useState(false);
  const [news, setNews] = useState(false);

  const pin = useCallback((on: boolean) => {
    isPinned.current = on;
    setPinned(on);
    if (on) setNews(false);
  }, []);

  const toEnd = useCallback(() => {
    pin(true);
    const el = scroller.current;
    if (el) el.scrollTop = el.scrollHeight;
  }, [pin]);

  useLayoutEffect(() => toEnd(), [thread, toEnd]);

  useEffect(() => {
    const el = scroller.current;
    const inner = content.current;
    if (!el || !inner) return;
    let end = endOf(inner);
    let opened = -Infinity;
    const restOf = () => el.scrollHeight - el.scrollTop - el.clientHeight;
    const look = () => setAway(!isPinned.current && restOf() > near_px && goesOn(el, inner));
    const grown = () => {
      const byHand = performance.now() - opened < byHand_ms;
      if (byHand) {
        // A card the reader opened must stay under the pointer, whatever that does to the end.
        pin(restOf() <= near_px);
      } else if (isPinned.current) el.scrollTop = el.scrollHeight;
      else if (grew(end, endOf(inner))) setNews(true);
      look();
      end = endOf(inner);
    };
    const click = (e: Event) => {
      if (e.target instanceof Element && e.target.closest('[aria-expanded], [aria-pressed], summary')) opened = performance.now();
    };
    inner.addEventListener('click', click, true);
    const seen = new ResizeObserver(grown);
    seen.observe(inner);
    seen.observe(el);
    const moved = () => {
      const rest = restOf();
      const up = el.scrollTop < lastTop.current - 1;
      // Content that shrinks also moves the view up, but leaves it at the end.
      if (up && rest > 2) pin(false);
      else if (!up && rest <= near_px && !isPinned.current) pin(true);
      look();
      lastTop.current = el.scrollTop;
    };
    // A wheel turned up by a hair must count even if the view has not moved a pixel yet.
    const wheel = (e: WheelEvent) => {
      if (e.deltaY < 0 && el.scrollTop > 0) pin(false);
    };
    el.addEventListener('scroll', moved, { passive: true });
    el.addEventListener('wheel', wheel, { passive: true });
    return () => {
      seen.disconnect();
      inner.removeEventListener('click', click, true);
      el.removeEventListener('scroll', moved);
      el.removeEventListener('wheel', wheel);
    };
  }, [pin]);

  return { scroller, content, pinned, away, news, toEnd };
}
