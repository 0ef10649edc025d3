/* highlight.ts -- a small highlighter, loaded when the first code block is finished.
 *
 * One pass of a regular expression per family of languages: comments, strings,
 * numbers, keywords, names that are called. It colours; it does not understand.
 */

export type TokenKind = 'comment' | 'string' | 'number' | 'keyword' | 'name' | 'tag' | 'plain';
export interface Token {
  kind: TokenKind;
  text: string;
}

const words = (s: string) => new Set(s.split(' '));

const js = words(
  'as async await break case catch class const continue debugger default delete do else enum export extends false finally for from function if implements import in instanceof interface let new null of package private protected public readonly return static super switch this throw true try type typeof undefined var void while with yield',
);
const c = words(
  'auto bool break case char class const constexpr continue default do double else enum extern false final float fn for func go goto if impl import inline int interface let long loop match mod mut namespace new nil null nullptr package private protected pub public range return self short signed sizeof static struct super switch template this throw trait true try type typedef uint union unsigned use using var virtual void volatile while',
);
const python = words(
  'and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return True try while with yield match case self',
);
const shell = words(
  'if then else elif fi for in do done while case esac function return export local echo cd exit set unset source sudo true false',
);
const sql = words(
  'select from where insert into values update set delete create table alter drop index primary key foreign references not null default unique join left right inner outer on group by order having limit offset union all as and or in is like between case when then else end exists distinct with returning begin commit rollback integer text real blob varchar boolean timestamp',
);
const data = words('true false null yes no');

interface Family {
  comment: string;
  strings: string;
  keywords: Set<string>;
  fold?: boolean;
}

const double = String.raw`"(?:\\.|[^"\\\n])*"?`;
const single = String.raw`'(?:\\.|[^'\\\n])*'?`;
const families: [RegExp, Family][] = [
  [
    /^(?:js|jsx|ts|tsx|javascript|typescript|mjs|cjs)$/,
    { comment: String.raw`\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)`, strings: `${double}|${single}|\`(?:\\\\.|[^\`\\\\])*\`?`, keywords: js },
  ],
  [
    /^(?:py|python)$/,
    { comment: '#[^\\n]*', strings: `"""[\\s\\S]*?(?:"""|$)|'''[\\s\\S]*?(?:'''|$)|${double}|${single}`, keywords: python },
  ],
  [/^(?:sh|bash|zsh|shell|console|fish)$/, { comment: '(?<![\\w$])#[^\\n]*', strings: `${double}|${single}`, keywords: shell }],
  [
    /^(?:sql|sqlite|postgres|pgsql|mysql)$/,
    { comment: String.raw`--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)`, strings: `${single}|${double}`, keywords: sql, fold: true },
  ],
  [/^(?:json|jsonc|json5)$/, { comment: String.raw`\/\/[^\n]*`, strings: double, keywords: data }],
  [/^(?:ya?ml|toml|ini|conf)$/, { comment: '#[^\\n]*', strings: `${double}|${single}`, keywords: data }],
  [
    /^(?:c|h|cpp|c\+\+|cc|java|go|rust|rs|kotlin|swift|cs|csharp|php|scala|zig|dart)$/,
    { comment: String.raw`\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)`, strings: `${double}|${single}`, keywords: c },
  ],
  [
    /^(?:css|scss|less)$/,
    {
      comment: String.raw`\/\*[\s\S]*?(?:\*\/|$)`,
      strings: `${double}|${single}`,
      keywords: words('important media import supports keyframes from to'),
    },
  ],
];

const markup = /^(?:html|xml|svg|vue|svelte)$/;

/** The code in tokens, one after the other as they are asked for; null: the language is not known. */
export function tokensOf(code: string, language: string): Iterable<Token> | null {
  const name = language.toLowerCase();
  if (markup.test(name))
    return scan(code, /(<!--[\s\S]*?(?:-->|$))|("[^"\n]*"|'[^'\n]*')|(<\/?[A-Za-z][\w:-]*|\/?>)/g, (m) =>
      m[1] ? 'comment' : m[2] ? 'string' : 'tag',
    );
  const family = families.find(([r]) => r.test(name))?.[1];
  if (!family) return null;
  const re = new RegExp(
    `(${family.comment})|(${family.strings})|(\\b(?:0[xX][\\da-fA-F_]+|\\d[\\d_]*(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)\\b)|([A-Za-z_$][\\w$]*)(?=(\\s*\\()?)`,
    'g',
  );
  return scan(code, re, (m) => {
    if (m[1]) return 'comment';
    if (m[2]) return 'string';
    if (m[3]) return 'number';
    if (family.keywords.has(family.fold ? m[4]!.toLowerCase() : m[4]!)) return 'keyword';
    return m[5] !== undefined ? 'name' : 'plain';
  });
}

/* Neighbours of one kind are one token. */
function* scan(code: string, re: RegExp, kind: (m: RegExpMatchArray) => TokenKind): Generator<Token> {
  let last = null as Token | null;
  const add = function* (k: TokenKind, text: string): Generator<Token> {
    if (last?.kind === k) last.text += text;
    else if (text) {
      if (last) yield last;
      last = { kind: k, text };
    }
  };
  let at = 0;
  for (const m of code.matchAll(re)) {
    yield* add('plain', code.slice(at, m.index));
    yield* add(kind(m), m[0]);
    at = m.index + m[0].length;
  }
  yield* add('plain', code.slice(at));
  if (last) yield last;
}
