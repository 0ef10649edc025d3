/* turns.ts -- texts that wait to be drawn, as many characters per task as this machine draws in a moment.
 *
 * A conversation that is opened may hold a hundred thousand words, and reading and drawing them at once would be one long
 * task. The last one that came goes first: it stands at the end, where the reader is. The first few are drawn before
 * anything is painted, so that an ordinary conversation is there at once.
 */
import { flushSync } from 'react-dom';

/** Draws up to `max` characters more. */
type Draw = (max: number) => { took: number; more: boolean };

/* How many, found out on the way: the first ones are slow, a phone always is. */
const [fewest, most] = [500, 2000]; // characters
const [quick_ms, slow_ms] = [5, 10];
let turnMax = fewest;
const waiting: Draw[] = [];
let soon = false;

/** Until it has nothing more, or what is returned is called. */
export function waitForTurn(draw: Draw): () => void {
  waiting.push(draw);
  if (!soon) {
    soon = true;
    queueMicrotask(turn); // after everything else that was drawn with it
  }
  return () => {
    const at = waiting.indexOf(draw);
    if (at >= 0) waiting.splice(at, 1);
  };
}

function turn(): void {
  let left = turnMax;
  const began = performance.now();
  flushSync(() => {
    while (left > 0 && waiting.length > 0) {
      const draw = waiting.at(-1)!;
      const { took, more } = draw(left);
      left -= took;
      if (!more) waiting.splice(waiting.indexOf(draw), 1);
    }
  });
  const took = performance.now() - began;
  if (took > slow_ms) turnMax = Math.max(fewest, turnMax / 2);
  else if (took < quick_ms && left <= 0) turnMax = Math.min(most, turnMax * 1.5);
  soon = waiting.length > 0;
  if (soon) setTimeout(turn);
}
