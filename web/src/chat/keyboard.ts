/* keyboard.ts -- an artifact has the keyboard only after a person went into its frame.
 *
 * A script in a frame may take the keyboard at any time, also from a field of a modal dialog:
 * neither `inert` nor `display: none` nor the sandbox keeps it from that (Chromium 156). What it
 * cannot do is to press the page's button over it (Frame.tsx). So a frame that has the focus though
 * nobody went in has taken it: it goes down at once, and what had the focus has it again.
 *
 * The browser tells of it as the page's window losing the focus. It tells nothing when it goes from
 * one frame to another, so it is also looked at now and then.
 */
const look_ms = 100;

interface Watched {
  /** The keyboard is elsewhere again. */
  left(): void;
  /** Takes the frame out of the page before it returns. */
  down(): void;
}

const frames = new Map<HTMLIFrameElement, Watched>();
let used: HTMLIFrameElement | null = null;
let last: EventTarget | null | undefined; // of the page, what had the focus
let timer: ReturnType<typeof setInterval> | undefined;

/** Until the function that comes back is called. */
export function watchKeyboard(frame: HTMLIFrameElement, watched: Watched): () => void {
  if (!frames.size) listen();
  frames.set(frame, watched);
  return () => {
    frames.delete(frame);
    if (used === frame) used = null;
    if (!frames.size) stopListening();
  };
}

/** A person goes in: theirs is the press that this is called for. */
export function goInto(frame: HTMLIFrameElement): void {
  leave();
  used = frame;
  enter(frame);
}

/* Its window: an element that was focused itself is the active one for ever, also with the focus in another frame. */
function enter(frame: HTMLIFrameElement): void {
  frame.contentWindow?.focus();
}

function leave(): void {
  const frame = used;
  used = null;
  if (frame) frames.get(frame)?.left();
}

function hasFocus(frame: HTMLIFrameElement): boolean {
  return (frame.getRootNode() as Document | ShadowRoot).activeElement === frame;
}

function look(): void {
  const thief = [...frames.keys()].find((f) => f !== used && hasFocus(f));
  if (thief) {
    frames.get(thief)!.down();
    if (used) enter(used);
    else if (last instanceof HTMLElement) last.focus({ preventScroll: true });
  }
  if (used && !hasFocus(used)) leave();
}

function focused(e: FocusEvent): void {
  const [at] = e.composedPath();
  if (frames.has(at as HTMLIFrameElement)) return look(); // some browsers tell it of frames, too
  last = at;
  leave();
}

/* Also inside of a shadow root. */
function active(): Element | null {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  return at;
}

function listen(): void {
  last = active();
  for (const name of ['blur', 'focus']) window.addEventListener(name, look);
  document.addEventListener('visibilitychange', look);
  document.addEventListener('focusin', focused, true);
  document.addEventListener('pointerdown', leave, true);
  timer = setInterval(look, look_ms);
}

function stopListening(): void {
  for (const name of ['blur', 'focus']) window.removeEventListener(name, look);
  document.removeEventListener('visibilitychange', look);
  document.removeEventListener('focusin', focused, true);
  document.removeEventListener('pointerdown', leave, true);
  clearInterval(timer);
}
