// Starts the page.
import { createRoot } from 'react-dom/client';
import { App } from './App';
import './styles/tokens.css';
import './styles/page.css';
import './styles/chat.css';
import './styles/cards.css';
import './styles/text.css';
import './styles/panels.css';
import './styles/touch.css';

createRoot(document.getElementById('root')!).render(<App />);
