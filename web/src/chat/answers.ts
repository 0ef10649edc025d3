/* answers.ts -- whether a message is a plain yes or no, in some of the languages people write to us. */
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
