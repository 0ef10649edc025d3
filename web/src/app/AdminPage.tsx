/* AdminPage.tsx -- `/admin`: who approved what, for everybody; to be searched and saved; and what was used.
 *
 * An administrator sees lists. Conversations stay their owners'.
 */
import { useCallback, useEffect, useMemo, useState } from 'react';
import { Revealed, Sentence } from '../chat/Arguments';
import { alone, ChatContext, type ChatActions } from '../chat/context';
import { Icon } from '../chat/icons';
import { nameFor } from '../chat/people';
import { dayOf, fullTime, humanName, wayOf } from '../chat/words';
import type { ApprovalRecord } from '../protocol';
import type { Usage } from '../transport/api';
import { number, t } from '../words';
import type { Over } from './App';
import { saveText } from './export';
import { Notices, SignIn } from './Pieces';
import { notice } from './notices';
import { product } from './product';
import { visit } from './router';
import { Settings } from './Settings';
import { api, hasThreads, lookAgain, startPage, useLists } from './store';
import './styles/admin.css';

type Tab = 'approvals' | 'usage';

export default function AdminPage({ over, setOver }: { over: Over; setOver: (over: Over) => void }) {
  const { me, signIn } = useLists();
  const [tab, setTab] = useState<Tab>('approvals');
  const chat = useMemo<ChatActions>(() => ({ ...alone, mayDecide: false, name: nameFor(me) }), [me]);
  const may = me?.roles.includes('admin') ?? false;
  useEffect(() => startPage(() => null), []);
  useEffect(() => {
    document.title = `${t.admin} · ${product.name}`;
  }, []);
  return (
    <ChatContext value={chat}>
      <div className="app alone">
        <main className="main admin">
          <header className="top">
            <button type="button" className="quiet" aria-label={t.toConversations} title={t.toConversations} onClick={() => visit(hasThreads(me) ? '/' : '/inbox')}>
              <Icon name="back" />
            </button>
            <h1 className="top-title">{t.admin}</h1>
            <button type="button" className="quiet" aria-label={t.settings} onClick={() => setOver('settings')}>
              <Icon name="settings" />
            </button>
          </header>
          <div className="scroller">
            <div className="column wide">
              {me && !may && <p className="inbox-none">{t.adminNot}</p>}
              {may && (
                <>
                  <div className="tabs pages" role="group" aria-label={t.inboxShows}>
                    {(['approvals', 'usage'] as const).map((x) => (
                      <button key={x} type="button" aria-pressed={tab === x} onClick={() => setTab(x)}>
                        {t.adminTabs[x]}
                      </button>
                    ))}
                  </div>
                  {tab === 'approvals' ? <Approvals /> : <Used />}
                </>
              )}
            </div>
          </div>
          <Notices />
        </main>
        {over === 'settings' && <Settings onClose={() => setOver(null)} onSave={null} thread={null} />}
        {signIn && <SignIn onDone={lookAgain} />}
      </div>
    </ChatContext>
  );
}

/* ---- who approved what ---- */

const pageSize = '200';

function Approvals() {
  const { me } = useLists();
  const [list, setList] = useState<ApprovalRecord[] | null>(null);
  const [next, setNext] = useState<string | null>(null);
  const [query, setQuery] = useState('');
  const more = useCallback(async (before: string | null) => {
    const page = await api.approvals({ all: 'true', limit: pageSize, ...(before ? { before } : {}) }).catch(() => null);
    if (!page) return notice(t.decidedFailed);
    setList((have) => [...(before ? (have ?? []) : []), ...page.approvals]);
    setNext(page.next);
  }, []);
  useEffect(() => void more(null), [more, me]);
  const wanted = query.trim().toLowerCase();
  const found = (list ?? []).filter((r) => !wanted || wordsOf(r).includes(wanted));
  // What is looked for may be on a later page.
  useEffect(() => {
    if (wanted && next && found.length < 20) void more(next);
  }, [wanted, next, found.length, more]);
  const save = async (kind: 'csv' | 'json') => {
    const all = await everything(list ?? [], next).catch(() => null);
    if (!all) return notice(t.decidedFailed);
    const rows = all.filter((r) => !wanted || wordsOf(r).includes(wanted));
    saveText(`approvals.${kind}`, kind === 'csv' ? 'text/csv' : 'application/json', kind === 'csv' ? csvOf(rows) : JSON.stringify(rows, null, 2));
  };
  return (
    <>
      <div className="admin-tools">
        <label className="search">
          <Icon name="search" size={16} />
          <input type="search" placeholder={t.adminSearch} aria-label={t.adminSearch} value={query} onChange={(e) => setQuery(e.target.value)} />
        </label>
        <button type="button" className="button outline" onClick={() => void save('csv')}>
          <Icon name="download" size={16} />
          {t.saveCsv}
        </button>
        <button type="button" className="button outline" onClick={() => void save('json')}>
          <Icon name="download" size={16} />
          {t.saveJson}
        </button>
      </div>
      <p className="sr" role="status">
        {list && t.paletteCount(found.length)}
      </p>
      {!list && <p className="inbox-none">{t.looking}</p>}
      {list && found.length === 0 && <p className="inbox-none">{wanted ? t.nothingFound : t.nothingDecidedYet}</p>}
      {found.length > 0 && (
        <div className="admin-table" role="region" aria-label={t.adminTabs.approvals} tabIndex={0}>
          <table>
            <thead>
              <tr>
                {t.adminColumns.map((c) => (
                  <th key={c} scope="col">
                    {c}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {found.map((r) => (
                <Row key={r.id} record={r} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {next && !wanted && (
        <button type="button" className="link" onClick={() => void more(next)}>
          {t.decidedEarlier}
        </button>
      )}
    </>
  );
}

/* On a narrow screen each cell says what it is, since no head stands above it. */
function Row({ record: r }: { record: ApprovalRecord }) {
  const [asked, whose, what, by, decided, outcome] = t.adminColumns;
  return (
    <tr data-status={r.status}>
      <td data-name={asked}>{r.requested_at && <time dateTime={r.requested_at}>{fullTime(r.requested_at)}</time>}</td>
      <td data-name={whose}>
        <Revealed text={r.owner ?? ''} name />
      </td>
      <td data-name={what}>
        <Sentence text={r.ask ?? t.runWhat(humanName(r.tool ?? ''))} input={r.input} />
      </td>
      <td data-name={by}>
        {r.decided_by && <Revealed text={r.decided_by} name />}
        {r.decided_via && <small> {wayOf(r.decided_via)}</small>}
      </td>
      <td data-name={decided}>{r.decided_at && <time dateTime={r.decided_at}>{fullTime(r.decided_at)}</time>}</td>
      <td data-name={outcome}>{r.status === 'pending' ? t.state.asking : (t.state[r.status as keyof typeof t.state] ?? r.status)}</td>
    </tr>
  );
}

/* What a search looks at. */
function wordsOf(r: ApprovalRecord): string {
  return [r.id, r.owner, r.tool, r.ask, r.status, r.decided_by, r.decided_via, r.reason, JSON.stringify(r.input)].join(' ').toLowerCase();
}

async function everything(have: ApprovalRecord[], next: string | null): Promise<ApprovalRecord[]> {
  return next ? [...have, ...(await api.everyApproval({ all: 'true', before: next }))] : have;
}

const columns = ['id', 'requested_at', 'owner', 'tool', 'ask', 'input', 'status', 'decided_by', 'decided_via', 'decided_at', 'reason'] as const;

/* A cell that a spreadsheet would take for a formula is led by an apostrophe: others wrote what is in it. */
function cell(value: unknown): string {
  const text = value === null || value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}

export function csvOf(rows: readonly ApprovalRecord[]): string {
  return [columns.join(','), ...rows.map((r) => columns.map((c) => cell(r[c])).join(','))].join('\r\n') + '\r\n';
}

/* ---- what was used ---- */

function Used() {
  const { me, tools } = useLists();
  const [usage, setUsage] = useState<Usage[] | null>(null);
  const [currency, setCurrency] = useState<string | null>(null);
  useEffect(() => {
    void api.usage().then(
      (u) => {
        setUsage(u.usage);
        setCurrency(u.currency);
      },
      () => notice(t.decidedFailed),
    );
  }, [me]);
  if (!usage) return <p className="inbox-none">{t.looking}</p>;
  const people = [...new Set(usage.map((u) => u.who))];
  const days = [...new Set(usage.map((u) => u.day))];
  const figure = (name: string, of: Usage[]): Figure => {
    const money = of.reduce((n, u) => n + u.cost_micro, 0) / 1_000_000;
    const tokens = of.reduce((n, u) => n + u.tokens, 0);
    return [name, tokens, currency && money > 0 ? number(money, { style: 'currency', currency }) : undefined];
  };
  return (
    <div className="inbox-list">
      <section aria-label={t.usedBy}>
        <h2>{t.usedBy}</h2>
        {usage.length === 0 && <p className="meta">{t.usedNothing}</p>}
        <Figures rows={people.map((p) => figure(p, usage.filter((u) => u.who === p))).sort((a, b) => b[1] - a[1])} />
      </section>
      <section aria-label={t.usedDays}>
        <h2>{t.usedDays}</h2>
        <Figures rows={days.map((d) => figure(dayOf(d), usage.filter((u) => u.day === d)))} />
      </section>
      {tools.length > 0 && (
        <section aria-label={t.tools}>
          <h2>{t.tools}</h2>
          <Figures rows={tools.map((x): Figure => [x.name, x.runs ?? 0]).sort((a, b) => b[1] - a[1])} />
        </section>
      )}
    </div>
  );
}

/** A name, how much, and what that cost where it is known. */
type Figure = [string, number, string?];

function Figures({ rows }: { rows: Figure[] }) {
  const most = Math.max(1, ...rows.map(([, n]) => n));
  return (
    <table className="figures">
      <tbody>
        {rows.map(([name, n, money]) => (
          <tr key={name}>
            <th scope="row">
              <Revealed text={name} name />
            </th>
            <td>
              {n > 0 && <span className="used" style={{ inlineSize: `${(100 * n) / most}%` }} />}
            </td>
            <td>{number(n)}</td>
            {money !== undefined && <td>{money}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
