/* Picture.tsx -- a file of a message: a picture as a thumbnail that opens in place, anything else by its name. */
import { useState } from 'react';
import type { FilePart } from '../protocol';
import { t } from '../words';

/* Only what is here already: an address would tell its host that somebody looks at this. */
const shown = /^data:image\/(?:png|jpeg|webp|gif);/;

export function FileView({ part }: { part: FilePart }) {
  const [open, setOpen] = useState(false);
  const name = part.filename ?? t.picture;
  if (!shown.test(part.url)) return <span className="file-name">{t.fileNamed(part.filename ?? part.mediaType)}</span>;
  return (
    <button
      type="button"
      className={open ? 'thumb open' : 'thumb'}
      aria-expanded={open}
      aria-label={open ? t.makeSmaller(name) : t.makeLarger(name)}
      onClick={() => setOpen(!open)}
    >
      <img src={part.url} alt={name} />
    </button>
  );
}
