/* math.ts -- formulas, as one more construct of the Markdown parser.
 *
 * $a$ and \(a\) stand in the line, $$a$$ and \[a\] on their own. A block of
 * them is closed like a code fence, by its end or by the end of the text. Money
 * is no formula: a dollar opens nothing behind a letter or digit or before a
 * blank, closes nothing behind a blank or before a digit, and reaches no further
 * than its line. The same rules are in mend.ts for what is half written.
 */
import type { Literal } from 'mdast';
import type { CompileContext, Extension as TreeExtension, Token as TreeToken } from 'mdast-util-from-markdown';
import type { Code, Construct, Effects, Extension, State, Token, TokenizeContext } from 'micromark-util-types';

/** A formula, in a line or (as a block, or with `display`) on its own. */
export interface Formula extends Literal {
  type: 'math' | 'inlineMath';
  display: boolean;
}

declare module 'mdast' {
  interface RootContentMap {
    math: Formula;
    inlineMath: Formula;
  }
  interface PhrasingContentMap {
    inlineMath: Formula;
  }
  interface BlockContentMap {
    math: Formula;
  }
}

declare module 'micromark-util-types' {
  interface TokenTypeMap {
    mathText: 'mathText';
    mathFlow: 'mathFlow';
    mathMark: 'mathMark';
    mathData: 'mathData';
  }
}

const dollar = 36;
const backslash = 92;
const closers: Record<number, number> = { 40: 41, 91: 93 }; // ( and ), [ and ]

const isEnd = (c: Code): c is null => c === null;
const isLineEnd = (c: Code) => c !== null && c < -2;
const isBlank = (c: Code) => c === -2 || c === -1 || c === 32;
const isDigit = (c: Code) => c !== null && c >= 48 && c <= 57;
const isWord = (c: Code) => isDigit(c) || (c !== null && ((c >= 65 && c <= 90) || (c >= 97 && c <= 122)));

const isLetter = (c: Code) => isWord(c) || (c !== null && c > 127); // one at least, or the brackets are just escaped

function lineEnd(effects: Effects, code: Code): void {
  effects.enter('lineEnding');
  effects.consume(code);
  effects.exit('lineEnding');
}

/* ---- in a line ---- */

const dollars: Construct = {
  name: 'mathText',
  previous: (code) => code !== dollar && !isWord(code),
  tokenize(effects, ok, nok) {
    let marks = 0;
    let closing = 0;
    let last: Code = null;
    return open;

    function open(code: Code): State | undefined {
      if (marks === 0) {
        effects.enter('mathText');
        effects.enter('mathMark');
      }
      if (code === dollar) {
        if (++marks > 2) return nok(code);
        effects.consume(code);
        return open;
      }
      effects.exit('mathMark');
      if (isEnd(code) || (marks === 1 && (isBlank(code) || isLineEnd(code)))) return nok(code);
      return between(code);
    }
    function between(code: Code): State | undefined {
      if (isEnd(code) || (marks === 1 && isLineEnd(code))) return nok(code);
      if (isLineEnd(code)) {
        lineEnd(effects, code);
        return between;
      }
      if (code === dollar) {
        if (marks === 1 && isBlank(last)) return nok(code);
        effects.enter('mathMark');
        return close(code);
      }
      effects.enter('mathData');
      return data(code);
    }
    function data(code: Code): State | undefined {
      if (isEnd(code) || isLineEnd(code) || code === dollar) {
        effects.exit('mathData');
        return between(code);
      }
      last = code;
      effects.consume(code);
      return code === backslash ? escaped : data;
    }
    function escaped(code: Code): State | undefined {
      if (isEnd(code) || isLineEnd(code)) return data(code);
      last = code;
      effects.consume(code);
      return data;
    }
    function close(code: Code): State | undefined {
      if (code === dollar && closing < marks) {
        closing++;
        effects.consume(code);
        return close;
      }
      effects.exit('mathMark');
      if (closing < marks || code === dollar || (marks === 1 && isDigit(code))) return nok(code);
      effects.exit('mathText');
      return ok(code);
    }
  },
};

const brackets: Construct = {
  name: 'mathText',
  tokenize(effects, ok, nok) {
    let closer = 0;
    let empty = true;
    let mark: Token;
    return (code) => {
      effects.enter('mathText');
      effects.enter('mathMark');
      effects.consume(code);
      return open;
    };

    function open(code: Code): State | undefined {
      closer = closers[code ?? 0] ?? 0;
      if (!closer) return nok(code);
      effects.consume(code);
      effects.exit('mathMark');
      return between;
    }
    function between(code: Code): State | undefined {
      if (isEnd(code)) return nok(code);
      if (isLineEnd(code)) {
        lineEnd(effects, code);
        return between;
      }
      mark = effects.enter(code === backslash ? 'mathMark' : 'mathData');
      return data(code);
    }
    function data(code: Code): State | undefined {
      if (isEnd(code) || isLineEnd(code) || (code === backslash && mark.type === 'mathData')) {
        effects.exit(mark.type);
        return between(code);
      }
      effects.consume(code);
      if (code === backslash) return escaped;
      empty &&= !isLetter(code);
      return data;
    }
    function escaped(code: Code): State | undefined {
      if (code === closer) {
        if (empty) return nok(code);
        effects.consume(code);
        effects.exit('mathMark');
        effects.exit('mathText');
        return ok;
      }
      mark.type = 'mathData';
      if (isEnd(code) || isLineEnd(code)) return data(code);
      empty &&= !isLetter(code);
      effects.consume(code);
      return data;
    }
  },
};

/* ---- as a block ---- */

/* `$$` or `\]`, and nothing behind it. */
const blockEnd = (second: number): Construct => ({
  partial: true,
  tokenize(effects, ok, nok) {
    return (code) => {
      effects.enter('mathMark');
      effects.consume(code);
      return (next) => {
        if (next !== second) return nok(next);
        effects.consume(next);
        return after;
      };
    };
    function after(code: Code): State | undefined {
      if (isBlank(code)) {
        effects.consume(code);
        return after;
      }
      if (!isEnd(code) && !isLineEnd(code)) return nok(code);
      effects.exit('mathMark');
      return ok(code);
    }
  },
});

const nextLine: Construct = {
  partial: true,
  tokenize(effects, ok, nok) {
    const lazy = (code: Code) => (this.parser.lazy[this.now().line] ? nok(code) : ok(code));
    return (code) => {
      if (isEnd(code)) return nok(code);
      lineEnd(effects, code);
      return lazy;
    };
  },
};

const block: Construct = {
  name: 'mathFlow',
  concrete: true,
  tokenize(this: TokenizeContext, effects, ok, nok) {
    const interrupts = this.interrupt;
    let end: Construct;
    let bare = false;
    return (code) => {
      const first = code;
      effects.enter('mathFlow');
      effects.enter('mathMark');
      effects.consume(code);
      return (next) => {
        if (next !== (first === dollar ? dollar : 91)) return nok(next);
        end = first === dollar ? blockEnd(dollar) : blockEnd(93);
        effects.consume(next);
        return opened;
      };
    };

    function opened(code: Code): State | undefined {
      if (isBlank(code)) {
        effects.consume(code);
        return opened;
      }
      effects.exit('mathMark');
      bare = isEnd(code) || isLineEnd(code);
      if (bare && interrupts) return ok(code);
      if (code === dollar) return nok(code); // $$$ is no formula
      return between(code);
    }
    function between(code: Code): State | undefined {
      if (isEnd(code)) return bare ? done(code) : nok(code);
      if (isLineEnd(code)) return bare ? effects.attempt(nextLine, between, done)(code) : nok(code);
      if (code === dollar || code === backslash) return effects.attempt(end, done, start)(code);
      return start(code);
    }
    function start(code: Code): State | undefined {
      effects.enter('mathData');
      effects.consume(code);
      return code === backslash ? escaped : data;
    }
    function escaped(code: Code): State | undefined {
      if (isEnd(code) || isLineEnd(code)) return data(code);
      effects.consume(code);
      return data;
    }
    function data(code: Code): State | undefined {
      if (isEnd(code) || isLineEnd(code) || code === dollar || code === backslash) {
        effects.exit('mathData');
        return between(code);
      }
      effects.consume(code);
      return data;
    }
    function done(code: Code): State | undefined {
      effects.exit('mathFlow');
      return ok(code);
    }
  },
};

export const math: Extension = { flow: { [dollar]: block, [backslash]: block }, text: { [dollar]: dollars, [backslash]: brackets } };

/* ---- as nodes ---- */

function enter(type: Formula['type']) {
  return function (this: CompileContext, token: TreeToken): undefined {
    const display = type === 'math' || /^(?:\$\$|\\\[)/.test(this.sliceSerialize(token).slice(0, 2));
    this.enter({ type, value: '', display }, token);
    this.buffer();
  };
}

function exit(this: CompileContext, token: TreeToken): undefined {
  const value = this.resume().trim();
  (this.stack.at(-1) as Formula).value = value;
  this.exit(token);
}

function data(this: CompileContext, token: TreeToken): undefined {
  this.config.enter.data!.call(this, token);
  this.config.exit.data!.call(this, token);
}

export const mathTree: TreeExtension = {
  enter: { mathText: enter('inlineMath'), mathFlow: enter('math') },
  exit: { mathText: exit, mathFlow: exit, mathData: data },
};
