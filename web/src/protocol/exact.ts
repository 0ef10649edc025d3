/* exact.ts -- JSON read without losing a digit.
 *
 * A number of JSON has as many digits as its writer gave it, a number of JavaScript 15 to 17. What a person approves
 * and what goes back to the server must be what runs, so a number that would be told otherwise stays text: `Exact`.
 * It is written into JSON as it was read. (Chromium 114, Firefox 135, Safari 18.4; an older browser reads plain
 * numbers, and `isRounded` says where that may matter.)
 */
interface Source {
  source?: string;
}
const json = JSON as typeof JSON & { rawJSON?: (text: string) => unknown };

export class Exact {
  constructor(readonly text: string) {}

  toJSON(): unknown {
    return json.rawJSON!(this.text);
  }

  toString(): string {
    return this.text;
  }

  valueOf(): number {
    return Number(this.text);
  }
}

/* Where there might be such a number; most texts have none, and a long one is read three times as fast then. */
const risky = /[:,[\s]-?(?:\d[\d.]{15}|\d+\.\d*0(?=[\s,\]}])|\d[\d.]*[eE]|0\.0{6})|-0(?![.\d])/;

/** JSON.parse, but for numbers that would come out as other digits than they were written in. Throws as that does. */
export function parseExact(text: string): unknown {
  if (!json.rawJSON || !risky.test(text)) return JSON.parse(text);
  return JSON.parse(text, function (_key: string, value: unknown, context?: Source) {
    return typeof value === 'number' && context?.source !== undefined && context.source !== String(value) ? new Exact(context.source) : value;
  } as (key: string, value: unknown) => unknown);
}

/** A number that this browser may have rounded when it read it. */
export function isRounded(value: unknown): boolean {
  return typeof value === 'number' && !json.rawJSON && value.toPrecision(17).replace(/\D|0+$/g, '').length > 14;
}

/** The value with ordinary numbers, for programs that count on them. */
export function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
