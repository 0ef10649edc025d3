/* Dialog.tsx -- a modal sheet: the browser's own dialog, so that focus and Escape are its business. */
import { useEffect, useRef, type ReactNode } from 'react';
import { Icon } from '../chat/icons';
import { t } from '../words';

export function Dialog({
  title,
  onClose,
  children,
  side = false,
}: {
  title: string;
  onClose: () => void;
  children: ReactNode;
  side?: boolean;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const el = ref.current;
    if (el && !el.open) el.showModal();
    el?.querySelector<HTMLElement>('[data-first]')?.focus(); // rather than the button that closes
  }, []);
  return (
    <dialog
      ref={ref}
      className={side ? 'sheet side-sheet' : 'sheet'}
      aria-label={title}
      onClose={onClose}
      onClick={(e) => e.target === ref.current && ref.current.close()} // the backdrop
    >
      <header>
        <h2>{title}</h2>
        <button type="button" className="quiet" aria-label={t.close(title)} onClick={() => ref.current?.close()}>
          <Icon name="close" />
        </button>
      </header>
      <div className="sheet-body">{children}</div>
    </dialog>
  );
}
