/* Welcome.tsx -- an empty conversation: whose page this is, and what can be asked here. */
import { Icon, toolIcon, type IconName } from '../chat/icons';
import { said } from '../chat/product';
import { humanName } from '../chat/words';
import type { ToolInfo } from '../transport/api';
import { t } from '../words';
import { product } from './product';
import { useLists } from './store';

interface Starter {
  icon: IconName | null;
  title: string | null;
  about: string;
  /** What a click sends; it stands on the button, too. */
  prompt: string;
}

const startersMax = 4; // of those that are made here

export function Welcome({ onPick }: { onPick: (text: string) => void }) {
  const { tools, loaded } = useLists();
  const starters = product.starters ? product.starters.map(ofOperator) : ofTools(tools);
  return (
    <section className="welcome" aria-label={t.welcome}>
      {product.logo && <img className="welcome-logo" src="/logo" alt="" />}
      <h1>{product.name}</h1>
      <p>{product.greeting ? said(product.greeting) : t.greeting}</p>
      <div className={!product.starters && !loaded ? 'starters loading' : 'starters'}>
        {starters.map((s) => (
          <button key={s.prompt} type="button" className="starter" onClick={() => onPick(s.prompt)}>
            {s.icon && <Icon name={s.icon} />}
            {s.title && <strong>{s.title}</strong>}
            <span>{s.about}</span>
          </button>
        ))}
      </div>
    </section>
  );
}

function ofOperator(words: Parameters<typeof said>[0]): Starter {
  const text = said(words);
  return { icon: null, title: null, about: text, prompt: text };
}

/** Tools that somebody gave an example for come first; of the others the name is the request, and the model asks for the rest. */
export function ofTools(tools: readonly ToolInfo[]): Starter[] {
  const offered = tools.filter((tool) => !tool.hidden);
  const first = [...offered.filter((tool) => tool.example), ...offered.filter((tool) => !tool.example)];
  return first.slice(0, startersMax).map((tool) => {
    const title = humanName(tool.name.replace(/^.*__/, '')); // without the name of its MCP server
    const about = tool.example || firstSentence(tool.description ?? '');
    return { icon: toolIcon(tool.name), title, about, prompt: tool.example || title };
  });
}

function firstSentence(text: string): string {
  const end = /[.!?](?=\s|$)|[。！？]/.exec(text);
  const sentence = end ? text.slice(0, end.index + 1) : text;
  return sentence.length > 90 ? `${sentence.slice(0, 89)}…` : sentence;
}
