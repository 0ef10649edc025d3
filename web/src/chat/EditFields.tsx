/* EditFields.tsx -- the arguments of a request with those that may be changed as fields, and beside each what was asked about;
 * and the form that a tool at work asks to be filled in.
 *
 * What stands in a field is what will run, hidden characters and the order of what it turns around said below it. What
 * was typed stays while the page is open, also when the card is folded or another request is looked at.
 */
import { useId, useMemo, useState, type CSSProperties, type ReactNode } from 'react';
import { isObject, type Call } from '../protocol';
import { t } from '../words';
import { NamedRow, namesWidth, OrderNote, Revealed, ValueOf } from './Arguments';
import { useChat } from './context';
import { changesOf, fieldOfError, fieldsOf, filledOf, formFields, shownText, type Field, type Texts, type Wrong } from './fields';
import { mixes } from './order';
import { reveal, seen } from './reveal';

const drafts = new Map<string, Texts>();

/** What was typed for a request; null: nothing is being changed. */
export function useTexts(approvalId: string): [Texts | null, (texts: Texts | null) => void] {
  const [texts, setTexts] = useState<Texts | null>(() => drafts.get(approvalId) ?? null);
  return [
    texts,
    (next) => {
      if (next) drafts.set(approvalId, next);
      else drafts.delete(approvalId);
      setTexts(next);
    },
  ];
}

/** Something was begun on its card that a yes from elsewhere would pass over. */
export function isChanging(approvalId: string): boolean {
  return drafts.has(approvalId);
}

/** A request on its way to being changed: its fields, what was typed, what that makes of it, what is wrong with it. */
export interface Edit {
  fields: Field[];
  /** null: nothing is being changed. */
  texts: Texts | null;
  setTexts: (texts: Texts | null) => void;
  /** All arguments with the changes; undefined: there are none. */
  input: unknown;
  errors: Readonly<Record<string, string>>;
  /** The server's sentence is about one of the fields. */
  errorAt: boolean;
  /** It shall be sent; false: it cannot be, and the fields say why. */
  attempt: () => boolean;
}

export function useEdit(call: Call, offered: boolean): Edit {
  const chat = useChat();
  const { id, edit, error } = call.approval!;
  const [texts, setTexts] = useTexts(id);
  const schema = chat.tool(call.name)?.input_schema;
  const fields = useMemo(() => (offered && chat.edits && edit?.length ? fieldsOf(edit, call.input, schema) : []), [offered, chat.edits, edit, call.input, schema]);
  const { input, changed, wrong } = changesOf(call.input, fields, texts ?? {});
  const tried = useTried(fields, texts, wrong, texts ? error : undefined);
  return { fields, texts: fields.length ? texts : null, setTexts, input: changed.length ? input : undefined, ...tried };
}

/** A tool's own question on its way to being answered: `input` is the form as it is filled in. */
export function useForm(call: Call, offered: boolean): Edit {
  const { id, form, error } = call.approval!;
  const [texts, setTexts] = useTexts(id);
  const fields = useMemo(() => (offered ? formFields(form) : []), [offered, form]);
  const { input, wrong } = filledOf(fields, texts ?? {});
  const tried = useTried(fields, texts, wrong, error?.replace(/^[^/]*: (?=\/)/, '')); // "This is not what was asked for: /age is ..."
  return { fields, texts: texts ?? {}, setTexts, input: fields.length ? input : undefined, ...tried };
}

/* What was said of a field holds until something else stands in it. */
function useTried(fields: Field[], texts: Texts | null, wrong: Record<string, Wrong>, error: string | undefined): Pick<Edit, 'errors' | 'errorAt' | 'attempt'> {
  const [tried, setTried] = useState<Texts | null>(null);
  const stands = (pointer: string) => tried?.[pointer] === texts?.[pointer];
  const at = error ? fieldOfError(fields, error) : undefined;
  const errors = {
    ...Object.fromEntries(Object.entries(tried ? wrong : {}).flatMap(([p, why]) => (stands(p) ? [[p, t.editWrong[why]]] : []))),
    ...(at && (!tried || stands(at.pointer)) ? { [at.pointer]: inWords(error!, at) } : {}),
  };
  const attempt = () => (setTried(texts ?? {}), Object.keys(wrong).length === 0);
  return { errors, errorAt: at !== undefined, attempt };
}

/* The server calls a place by its pointer. */
function inWords(error: string, at: Field): string {
  return error.startsWith(at.pointer + ' ') ? labelOf(at) + error.slice(at.pointer.length) : error;
}

/** The form of a tool's own question. */
export function FormFields({ form }: { form: Edit }) {
  return (
    <>
      <p className="meta">{t.formHow}</p>
      <table className="args editing" style={{ '--names': namesWidth(form.fields.map(labelOf)) } as CSSProperties}>
        <tbody>
          {form.fields.map((f) => (
            <FieldRow key={f.pointer} field={f} fresh text={form.texts?.[f.pointer] ?? f.text} error={form.errors[f.pointer]} onText={(text) => form.setTexts({ ...form.texts, [f.pointer]: text })} />
          ))}
        </tbody>
      </table>
    </>
  );
}

interface Props {
  input: unknown;
  fields: Field[];
  texts: Texts;
  /** What is wrong with a field, by pointer. */
  errors: Readonly<Record<string, string>>;
  onText: (pointer: string, text: string) => void;
}

export function EditFields({ input, fields, texts, errors, onText }: Props) {
  const values = isObject(input) ? input : {};
  const names = [...new Set([...Object.keys(values), ...fields.map((f) => f.path[0]!)])];
  const labels = [...names, ...fields.map(labelOf)];
  const row = (f: Field) => <FieldRow key={f.pointer} field={f} text={texts[f.pointer] ?? f.text} error={errors[f.pointer]} onText={(text) => onText(f.pointer, text)} />;
  return (
    <>
      <p className="meta">{t.editHow}</p>
      <table className="args editing" style={{ '--names': namesWidth(labels) } as CSSProperties}>
        <tbody>
          {names.map((name) => {
            const inside = fields.filter((f) => f.path[0] === name);
            const whole = inside.length === 1 && inside[0]!.path.length === 1;
            return [
              ...(whole || !(name in values) ? [] : [<NamedRow key={name} name={name} value={values[name]} />]),
              ...inside.map(row),
            ];
          })}
        </tbody>
      </table>
    </>
  );
}

/** "amount", "address › city"; of a form what the tool calls it. */
export function labelOf(f: Field): string {
  return f.title ?? f.path.join(' › ');
}

interface RowProps {
  field: Field;
  /** It asks for something: there is nothing that it was before. */
  fresh?: boolean;
  text: string;
  error: string | undefined;
  onText: (text: string) => void;
}

function FieldRow({ field, fresh = false, text, error, onText }: RowProps) {
  const id = useId();
  const changed = !fresh && text !== field.text;
  const before = shownText(field, field.text);
  const shown = shownText(field, text);
  const hides = mixes(shown) || reveal(shown).some((p) => p.hidden);
  const about = [field.help && `${id}help`, changed && `${id}was`, error && `${id}error`].filter(Boolean).join(' ') || undefined;
  return (
    <tr data-field={field.pointer} data-changed={changed}>
      <th scope="row">
        <label htmlFor={id}>
          <Revealed text={labelOf(field)} name />
        </label>
      </th>
      <td>
        <Input id={id} field={field} text={text} about={about} wrong={error !== undefined} onText={onText} />
        {field.help && (
          <small id={`${id}help`} className="arg-shown">
            <Revealed text={field.help} part />
          </small>
        )}
        {hides && (
          <span className="arg-shown">
            <Revealed text={shown} />
            <OrderNote text={shown} />
          </span>
        )}
        {changed && (
          <small className="arg-was">
            <span id={`${id}was`}>
              {t.editWas} <del>{before === '' ? t.empty : <Revealed text={before} />}</del>
            </span>{' '}
            <button type="button" className="link" aria-label={t.editUndoOf(labelOf(field))} onClick={() => onText(field.text)}>
              {t.undo}
            </button>
          </small>
        )}
        {error && (
          <small id={`${id}error`} className="field-error" role="alert">
            <Revealed text={error} part />
          </small>
        )}
      </td>
    </tr>
  );
}

interface InputProps {
  id: string;
  field: Field;
  text: string;
  about: string | undefined;
  wrong: boolean;
  onText: (text: string) => void;
}

function Input({ id, field, text, about, wrong, onText }: InputProps): ReactNode {
  const said = { id, 'aria-describedby': about, 'aria-invalid': wrong || undefined };
  switch (field.kind) {
    case 'flag':
      return <input {...said} type="checkbox" checked={text === 'true'} onChange={(e) => onText(String(e.target.checked))} />;
    case 'choice':
      return (
        <select {...said} className="select" value={text} onChange={(e) => onText(e.target.value)}>
          {(!field.required || field.text === '') && <option value="">{t.empty}</option>}
          {field.names.map((name, i) => (
            <option key={i} value={i}>
              {seen(name)}
            </option>
          ))}
        </select>
      );
    case 'long':
    case 'json':
      return <textarea {...said} className={field.kind} rows={Math.min(8, text.split('\n').length + 1)} dir="auto" value={text} spellCheck={field.kind === 'long'} onChange={(e) => onText(e.target.value)} />;
    case 'number':
      return <input {...said} type="text" inputMode="decimal" autoComplete="off" value={text} onChange={(e) => onText(e.target.value)} />;
    default:
      return <input {...said} type={field.input} autoComplete="off" dir="auto" value={text} onChange={(e) => onText(e.target.value)} />;
  }
}

/** What an edit made of it: the arguments that count, and in the rows that differ what was asked about. */
export function ChangedArguments({ input, was }: { input: unknown; was: unknown }) {
  const now = isObject(input) ? input : {};
  const before = isObject(was) ? was : {};
  const names = [...new Set([...Object.keys(now), ...Object.keys(before)])];
  return (
    <table className="args" style={{ '--names': namesWidth(names) } as CSSProperties}>
      <tbody>
        {names.map((name) => {
          const changed = JSON.stringify(now[name]) !== JSON.stringify(before[name]);
          return (
            <NamedRow key={name} name={name} value={name in now ? now[name] : ''} changed={changed}>
              {changed && (
                <small className="arg-was">
                  {t.editWas} <del>{name in before ? <ValueOf value={before[name]} /> : t.empty}</del>
                </small>
              )}
            </NamedRow>
          );
        })}
      </tbody>
    </table>
  );
}
