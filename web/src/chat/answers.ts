/* answers.ts -- whether a message is a plain yes or no, in some of the languages people write to us; and whether a label
 * reads like a decision. */
import { skeleton } from './reveal';

const yes = [
  ...'yes y yep yeah yup sure ok okay approve approved confirm confirmed accept'.split(' '),
  ...['go ahead', 'do it', 'yes please', 'please do', 'go for it'],
  ...['ja', 'jo', 'klar', 'genehmigt', 'genehmigen', 'mach das', 'ja bitte'],
  ...['はい', 'うん', '承認', '承認します', 'お願いします', 'いいよ', '了解'],
  ...['oui', 'sí', 'si', 'vale', 'sim', 'да', '是', '好', '好的', '同意', '네', '예'],
];
const no = [
  ...'no n nope nah deny denied reject cancel stop don’t dont'.split(' '),
  ...['do not', 'don’t do it', 'no thanks', 'no thank you'],
  ...['nein', 'nee', 'nö', 'ablehnen', 'abbrechen', 'nein danke'],
  ...['いいえ', 'いや', 'だめ', '拒否', '却下', 'やめて', 'キャンセル'],
  ...['non', 'não', 'нет', '不', '不要', '不行', '拒绝', '아니요', '아니'],
];
const verdicts = new Map([...yes.map((w) => [w, 'yes'] as const), ...no.map((w) => [w, 'no'] as const)]);

/** null: it is a message. */
export function answerOf(text: string): 'yes' | 'no' | null {
  const bare = text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/'/g, '’')
    .replace(/[.,!。、！\s]+/gu, ' ')
    .trim();
  return verdicts.get(bare) ?? null;
}

const decisions = 'approve|approved|approval|allow|authori[sz]e|permit|grant|confirm|accept|deny|reject|refuse|decline';
const word = new RegExp(`(?<![a-z])(?:${decisions})(?![a-z])|genehmig|erlaub|freigeb|freigabe|zulassen|ablehn|verweiger|承認|許可|拒否|却下|允许|批准|拒绝`, 'u');
/* Letters that stand alone: "A p p r o v e". */
const spaced = /(?<![a-z])[a-z](?:[^a-z]+[a-z](?![a-z]))+/g;
const digits: Record<string, string> = { '0': 'o', '3': 'e', '4': 'a', '5': 's', '7': 't', '@': 'a', $: 's' };

/** A label that is a plain answer, whatever stands around it: on a button that acts it would be taken for one. */
export function soundsLikeAnswer(label: string): boolean {
  return answerOf(skeleton(label).replace(/[^\p{L}\s’']+/gu, ' ')) !== null;
}

/** A label that could be taken for a decision, also with look-alikes, accents, digits or gaps in it. Decisions are made on
 * the card of a request, and nowhere else. */
export function soundsLikeDecision(label: string): boolean {
  const looks = skeleton(label).normalize('NFD').replace(/\p{M}/gu, '');
  const plain = looks.normalize('NFC').replace(/[03457@$]/g, (c) => digits[c]!);
  return ['i', 'l'].some((one) => {
    const read = plain.replace(/[1!|]/g, one);
    return [read, read.replace(spaced, (m) => m.replace(/[^a-z]/g, '')), looks.normalize('NFC')].some((x) => word.test(x));
  });
}
