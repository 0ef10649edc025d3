/* Gone.tsx -- a conversation that is not there, or not for this person. */
import { t } from '../words';

export function Gone({ heading: Heading, onFresh }: { heading: 'h1' | 'h2'; onFresh: () => void }) {
  return (
    <section className="welcome">
      <Heading>{t.gone}</Heading>
      <p>{t.goneWhy}</p>
      <button type="button" className="button primary" onClick={onFresh}>
        {t.newConversation}
      </button>
    </section>
  );
}
