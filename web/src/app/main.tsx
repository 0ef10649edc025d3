// Starts the page. A start token in the address comes first: what the page opens afterwards carries its cookie.
import { createRoot } from 'react-dom/client';
import { Api } from '../transport/api';
import { App } from './App';
import { notice } from './notices';
import { takeStartToken } from './startToken';
import './styles/tokens.css';
import './styles/page.css';
import './styles/chat.css';
import './styles/cards.css';
import './styles/text.css';
import './styles/panels.css';
import './styles/touch.css';
import './styles/short.css';

const exchange = () => takeStartToken(location, history, (token) => new Api().signIn(token));

void exchange().then(({ problem }) => {
  createRoot(document.getElementById('root')!).render(<App />);
  if (problem) notice(problem, undefined, 20_000);
});
// The printed address put into a tab that has the page already does not load it again.
window.addEventListener('hashchange', () => void exchange().then(({ taken, problem }) => (problem ? notice(problem, undefined, 20_000) : taken && location.reload())));
