/* GrantOffer.tsx -- a yes that is worth more than this call: one sentence, its limits to be chosen within what the tool allows. */
import { useEffect, useId, useRef } from 'react';
import type { GrantOffer as Offer, GrantWish } from '../protocol';
import { number, t } from '../words';
import { duration } from './words';

const spans = [900, 3600, 14_400, 28_800, 86_400, 604_800]; // seconds

/** What is allowed with a wish, in words: the times, the sum, and what must stay the same. */
export function firstWish(offer: Offer): GrantWish {
  return {
    scope: 'thread',
    for: Math.min(3600, offer.for),
    ...(offer.count !== null ? { count: Math.min(10, offer.count) } : {}),
    ...(offer.max !== null ? { max: offer.max } : {}),
  };
}

export function GrantOfferBox({ offer, wish, onWish }: { offer: Offer; wish: GrantWish; onWish: (w: GrantWish) => void }) {
  const id = useId();
  const box = useRef<HTMLFieldSetElement>(null);
  useEffect(() => {
    box.current?.scrollIntoView({ block: 'nearest' }); // on a phone it opens below the fold
  }, []);
  const set = (change: Partial<GrantWish>) => onWish({ ...wish, ...change });
  const times = [...new Set([...spans.filter((s) => s < offer.for), offer.for])];
  return (
    <fieldset ref={box} className="grant-offer">
      <legend>{t.grantTitle}</legend>
      <label>
        <span>{t.grantFor}</span>
        <select className="select" value={wish.for} onChange={(e) => set({ for: Number(e.target.value) })}>
          {times.map((s) => (
            <option key={s} value={s}>
              {spanOf(s)}
            </option>
          ))}
        </select>
      </label>
      {offer.count !== null && (
        <label>
          <span>{t.grantCount(number(offer.count))}</span>
          <input type="number" min={1} max={offer.count} value={wish.count} onChange={(e) => set({ count: Number(e.target.value) })} />
        </label>
      )}
      {offer.max !== null && (
        <label>
          <span>{t.grantMax(offer.max)}</span>
          <input type="text" inputMode="decimal" value={wish.max ?? ''} onChange={(e) => set({ max: e.target.value.trim() })} />
        </label>
      )}
      <label>
        <span>{t.grantWhere}</span>
        <select className="select" value={wish.scope} onChange={(e) => set({ scope: e.target.value as GrantWish['scope'] })}>
          <option value="thread">{t.grantScope.thread}</option>
          <option value="me">{t.grantScope.me}</option>
        </select>
      </label>
      <p id={id} className="grant-words" role="status">
        {grantWords(offer, wish)}
      </p>
    </fieldset>
  );
}

/** "Allow for 1 h, up to 10 times, 200 in all, with recipient Hanako." */
export function grantWords(offer: Pick<Offer, 'same'>, wish: GrantWish): string {
  const parts = [
    t.grantSaysFor(spanOf(wish.for ?? 0)),
    ...(wish.count ? [t.grantSaysCount(number(wish.count))] : []),
    ...(wish.max ? [t.grantSaysMax(wish.max)] : []),
    ...sameWords(offer.same),
  ];
  return t.grantSays(parts.reduce(t.joined));
}

export function sameWords(same: Record<string, unknown>): string[] {
  return Object.entries(same).map(([pointer, value]) => t.grantSaysSame(pointer.split('/').at(-1) ?? '', typeof value === 'string' ? value : JSON.stringify(value)));
}

function spanOf(s: number): string {
  if (s % 86_400 === 0) return t.days(s / 86_400);
  if (s % 3600 === 0) return t.unit.h(number(s / 3600));
  if (s % 60 === 0) return t.unit.min(number(s / 60));
  return duration(s * 1000);
}
