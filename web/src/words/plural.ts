/* plural.ts -- one of several forms by a number, as the language has them; # stands for the number. */

export type Forms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string };

const rules = new Map<string, Intl.PluralRules>();

export function plural(language: string, n: number, forms: Forms): string {
  let rule = rules.get(language);
  if (!rule) rules.set(language, (rule = new Intl.PluralRules(language)));
  return (forms[rule.select(n)] ?? forms.other).replace('#', new Intl.NumberFormat(language).format(n));
}
