// Starts the page. A start token in the address comes first: what the page opens afterwards carries its cookie.
import { lazy, Suspense, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { loadParser } from '../chat/markdown/Markdown';
import { Api } from '../transport/api';
import { speak, type Language } from '../words';
import { App, type Over } from './App';
import { notice } from './notices';
import { getPrefs, usePrefs } from './prefs';
import { languageOf, paint } from './product';
import { useView } from './router';
import { takeStartToken } from './startToken';
import { ownWords } from './store';
import './styles/tokens.css';
import './styles/page.css';
import './styles/chat.css';
import './styles/cards.css';
import './styles/decision.css';
import './styles/text.css';
import './styles/panels.css';
import './styles/inbox.css';
import './styles/touch.css';
import './styles/short.css';

const pages = {
  admin: lazy(() => import('./AdminPage')),
  inbox: lazy(() => import('./InboxPage')), 
  shared: lazy(() => import('./SharedPage')),
};

const exchange = () => takeStartToken(location, history, (token) => new Api().showStartToken(token));

async function tell(language: Language): Promise<void> {
  await speak(language);
  document.documentElement.lang = language;
}

/* Another language is another page: drawn anew, with what was open over it. */
function Root({ first }: { first: Language }) {
  const wanted = languageOf(usePrefs().language);
  const [spoken, setSpoken] = useState(first);
  const [over, setOver] = useState<Over>(null);
  useEffect(() => {
    if (wanted !== spoken) void tell(wanted).then(() => setSpoken(wanted));
  }, [wanted, spoken]);
  const view = useView();
  if (view === 'chat') return <App key={spoken} over={over} setOver={setOver} />;
  const Page = pages[view];
  return (
    <Suspense fallback={null}>
      <Page key={spoken} over={over} setOver={setOver} />
    </Suspense>
  );
}

async function start(): Promise<void> {
  paint();
  if (location.pathname !== '/') void loadParser(); // there is something to read
  const first = languageOf(getPrefs().language);
  const [{ problem }] = await Promise.all([exchange(), tell(first)]);
  await ownWords();
  createRoot(document.getElementById('root')!).render(<Root first={first} />);
  if (problem) notice(problem, undefined, 20_000);
}

/* The page opens without a network (public/sw.js); what is loaded by now is kept for that. */
async function keepPage(): Promise<void> {
  if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return;
  await navigator.serviceWorker.register('/sw.js');
  const { active } = await navigator.serviceWorker.ready;
  const files = performance.getEntriesByType('resource').map((e) => e.name);
  active?.postMessage({ keep: files.filter((f) => f.includes('/assets/')) });
}

void start().then(keepPage).catch(() => undefined); // a browser that forbids it has a page that needs the network
// The printed address put into a tab that has the page already does not load it again.
window.addEventListener('hashchange', () => void exchange().then(({ taken, problem }) => (problem ? notice(problem, undefined, 20_000) : taken && location.reload())));
