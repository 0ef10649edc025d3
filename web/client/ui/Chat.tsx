/* Chat.tsx -- `<Chat>`: a conversation that fills the element it is given. */
import { useCallback, useRef, type CSSProperties } from 'react';
import type { ComposerHandle } from '../../src/chat/Composer';
import { Icon } from '../../src/chat/icons';
import type { SuggestedAction } from '../../src/protocol';
import { t } from '../../src/words';
import type { Look } from './page';
import { Panel, type Words } from './Panel';
import { Shadow } from './Shadow';
import { useAssistant, type AssistantOptions } from './useAssistant';

export interface ChatProps extends AssistantOptions, Words, Look {
  /** Above the conversation, with a button for a new one. Left out: no head. */
  title?: string;
  /** Place and size: it fills its element, 24rem high if nothing says otherwise. */
  className?: string;
  style?: CSSProperties;
}

export function Chat({
  title,
  className,
  style,
  theme,
  accent,
  lang,
  greeting,
  starters,
  ...options
}: ChatProps) {
  const a = useAssistant(options, lang);
  const composer = useRef<ComposerHandle>(null);
  const client = useRef(options.onClientAction);
  client.current = options.onClientAction;
  const act = useCallback((action: SuggestedAction) => client.current?.(action), []);
  const fresh = () => {
    a.fresh();
    requestAnimationFrame(() => composer.current?.focus());
  };
  const head = title && (
    <div className="chat-top">
      <h2 dir="auto">{title}</h2>
      <button
        type="button"
        className="quiet"
        aria-label={t.newConversation}
        title={t.newConversation}
        onClick={fresh}
      >
        <Icon name="plus" />
      </button>
    </div>
  );
  return (
    <Shadow
      className={className}
      style={{ minHeight: '24rem', height: '100%', ...style }}
      page={a.page}
      theme={theme}
      accent={accent}
    >
      <Panel
        key={a.serial}
        {...{ ...a, greeting, starters, head, composer }}
        onAction={act}
        onFresh={fresh}
      />
    </Shadow>
  );
}
