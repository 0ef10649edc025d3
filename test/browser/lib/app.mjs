// Somebody else's product: a fresh Vite app with the packed @parley/client in it, on an origin of its own.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';

const web = join(import.meta.dirname, '../../../web');
const run = promisify(execFile);
let made = null;
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };

const files = {
  'package.json': JSON.stringify({ name: 'shop', private: true, type: 'module' }),
  'index.html':
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Shop</title><link rel="stylesheet" href="/shop.css"><div id="root"></div><script type="module" src="/main.tsx"></script>',
  // Rules that would spoil everything they reach.
  'shop.css': `
html { font-size: 10px; color-scheme: light dark; }
body { margin: 0; font: italic 22px/1 serif; letter-spacing: 4px; font-variant: small-caps; --mine: red; --panel: red; }
button, input, textarea, table, section, article { color: red !important; background: yellow !important; border: 9px dotted red !important; }
.button { outline: 7px solid lime; }
h2, h3, p { margin: 50px; font-size: 60px; }
div { box-sizing: content-box; }
`,
  'tsconfig.json': JSON.stringify({
    compilerOptions: {
      strict: true,
      noEmit: true,
      jsx: 'react-jsx',
      module: 'esnext',
      moduleResolution: 'bundler',
      target: 'es2022',
      lib: ['es2023', 'dom', 'dom.iterable'],
      types: [],
    },
    include: ['main.tsx', 'parts.tsx'],
  }),
  'main.tsx': `
import { StrictMode, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { useGeneralChat } from '@parley/client/react';
import type { GeneralChatMessage } from '@parley/client';
import { Parts } from './parts';

const query = new URLSearchParams(location.search);

function Message({ m }: { m: GeneralChatMessage }) {
  return (
    <article className={m.role}>
      {m.parts.map((p, i) => {
        if (p.type === 'text') return <p key={i}>{p.text}</p>;
        const call = p.type === 'tool' ? m.toolHistory[p.index] : undefined;
        return call ? <div key={i} className="tool" data-status={call.status}>{call.tool_name}</div> : null;
      })}
    </article>
  );
}

function App() {
  const [track, setTrack] = useState<unknown>(null);
  const chat = useGeneralChat({
    base: query.get('server')!,
    threadId: query.get('thread'),
    tools: { change_bgm: async (input) => (setTrack((input as { track: number }).track), { success: true }) },
  });
  const [text, setText] = useState('');
  return (
    <main data-loading={chat.isLoading} data-thread={chat.threadId}>
      {(chat.streaming ? [...chat.messages, chat.streaming] : chat.messages).map((m) => <Message key={m.id} m={m} />)}
      {chat.statusText && <p className="status">{chat.statusText}</p>}
      {chat.error && <p role="alert">{chat.error}</p>}
      {track !== null && <p className="track">Track {String(track)}</p>}
      {chat.queue.map((q) => <p key={q} className="queued">{q}</p>)}
      {chat.pending.map((p) => (
        <p key={p.id} className="gate">
          {p.ask} <button onClick={() => void chat.approve(p.id)}>Approve</button>
        </p>
      ))}
      <form className="composer" onSubmit={(e) => (e.preventDefault(), void chat.sendMessage(text), setText(''))}>
        <textarea
          value={text}
          onChange={(e) => setText(e.target.value)}
          onKeyDown={(e) => e.key === 'Enter' && (e.preventDefault(), e.currentTarget.form!.requestSubmit())}
        />
        <button>Send</button>
      </form>
    </main>
  );
}

const view = query.get('view');
createRoot(document.getElementById('root')!).render(<StrictMode>{view ? <Parts view={view} /> : <App />}</StrictMode>);
`,
  'parts.tsx': `
import { useState } from 'react';
import { ApprovalCard, ApprovalInbox, Chat, ChatTray, ToolCallCard, type ChatTrayProps } from '@parley/client/components';
import { useGeneralChat } from '@parley/client/react';

const query = new URLSearchParams(location.search);
const base = query.get('server')!;
const key = query.get('key');
const token = key ? async () => key : undefined;
const lang = query.get('lang') ?? undefined;
const theme = (query.get('theme') ?? undefined) as ChatTrayProps['theme'];

export function Parts({ view }: { view: string }) {
  const [thread, setThread] = useState<string | null>(query.get('thread'));
  const shared = { base, token, theme, lang, threadId: thread, onThread: setThread };
  return (
    <main data-thread={thread}>
      <h1>Shop</h1>
      <button className="button">Buy</button>
      {view === 'chat' && <div style={{ height: 560 }}><Chat {...shared} title="Help" starters={['Find articles about CRISPR']} /></div>}
      {view === 'tray' && <ChatTray {...shared} title="Help" accent={query.get('accent') ?? undefined} />}
      {view === 'cards' && <><h2>Orders</h2><Cards /></>}
      {view === 'inbox' && <Inbox />}
    </main>
  );
}

function Cards() {
  const chat = useGeneralChat({ base, token });
  return (
    <>
      <button onClick={() => void chat.sendMessage('Find articles about CRISPR')}>Find</button>
      <button onClick={() => void chat.sendMessage('Send 50 dollars to Hanako')}>Pay</button>
      {chat.messages.map((m) => m.toolHistory.filter((c) => c.status !== 'asking').map((c) => <ToolCallCard key={c.tool_use_id} call={c} base={base} theme={theme} lang={lang} />))}
      {chat.pending.map((p) => (
        <ApprovalCard key={p.id} approval={p} base={base} theme={theme} lang={lang} onDecide={(yes, reason) => (yes ? chat.approve(p.id) : chat.deny(p.id, reason))} />
      ))}
    </>
  );
}

function Inbox() {
  const [count, setCount] = useState<number | null>(null);
  const [opened, setOpened] = useState('');
  return (
    <>
      <p className="count">{count}</p>
      <p className="opened">{opened}</p>
      <ApprovalInbox base={base} token={token} theme={theme} lang={lang} onCount={setCount} onOpen={setOpened} />
    </>
  );
}
`,
};

export class App {
  /** Built once for all tests, and taken away with the last of them. */
  static make() {
    return (made ??= App.build());
  }

  /** Packs the client, installs it, checks the types and builds: what a developer does, without a registry. */
  static async build() {
    const app = new App();
    app.folder = mkdtempSync(join(tmpdir(), 'parley-app-'));
    process.once('exit', () => rmSync(app.folder, { recursive: true, force: true }));
    const env = { ...process.env, npm_config_offline: 'true', npm_config_cache: join(app.folder, '.npm') };
    const told = (e) => Promise.reject(new Error(`${e.message}\n${e.stdout}${e.stderr}`));
    const npm = (args, cwd) => run('npm', args, { cwd, env }).catch(told);
    const tool = (name, ...args) => run(process.execPath, [join(web, 'node_modules', name), ...args], { cwd: app.folder }).catch(told);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(app.folder, name), text);
    await npm(['run', 'build:client'], web);
    await npm(['pack', '--pack-destination', app.folder], join(web, 'client'));
    const packed = readdirSync(app.folder).find((n) => n.endsWith('.tgz'));
    await npm(['install', '--no-audit', '--no-fund', `./${packed}`], app.folder);
    app.borrow('react', 'react-dom', '@types/react', '@types/react-dom', 'csstype');
    await tool('typescript/bin/tsc');
    await tool('vite/bin/vite.js', 'build', '--logLevel', 'error');
    app.server = http.createServer((q, r) => app.answer(q, r));
    await new Promise((done) => app.server.listen(0, '127.0.0.1', done));
    return app;
  }

  /* From the page's own packages: the test needs no registry. */
  borrow(...names) {
    mkdirSync(join(this.folder, 'node_modules/@types'), { recursive: true });
    for (const name of names) symlinkSync(join(web, 'node_modules', name), join(this.folder, 'node_modules', name));
  }

  answer({ url }, response) {
    const path = new URL(url, 'http://x').pathname;
    const file = join(this.folder, 'dist', path.startsWith('/assets/') ? path : 'index.html');
    response.writeHead(200, { 'content-type': types[extname(file)] ?? 'text/plain' }).end(readFileSync(file));
  }

  get url() {
    return `http://127.0.0.1:${this.server.address().port}`;
  }
}
