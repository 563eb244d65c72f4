/**
 * Removes accents, case and repeated spaces, to recognise typed words: option names, opt-out and resume words.
 */
export function foldText(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .toLowerCase()
    .replaceAll(/\s+/gu, ' ')
    .trim();
}

/** Like `foldText`, and removes punctuation and symbols at both ends: "SAIR!" becomes "sair". */
export function foldWord(text: string): string {
  return foldText(text).replaceAll(/^[\p{P}\p{S}\s]+|[\p{P}\p{S}\s]+$/gu, '');
}
