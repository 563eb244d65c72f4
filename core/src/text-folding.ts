/**
 * Text as people compare it: without accents, case or double spaces. Used wherever a typed word is recognised
 * (option names, opt-out and resume words).
 */
export function foldText(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .toLowerCase()
    .replaceAll(/\s+/gu, ' ')
    .trim();
}

/** The same without punctuation and symbols around it: "SAIR!" is SAIR. */
export function foldWord(text: string): string {
  return foldText(text).replaceAll(/^[\p{P}\p{S}\s]+|[\p{P}\p{S}\s]+$/gu, '');
}
