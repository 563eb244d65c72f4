/** Code units of the longest text that may be a typed word. */
export const MAX_TYPED = 300;

/** Combining marks, and the two letters that normalisation turns into marks. */
const MARKS = /[\p{M}\uff9e\uff9f]+/gu;

/** Longer runs of marks occur in no language. Normalisation sorts a run in time that grows with its square. */
const MAX_MARKS = 30;

/** Shortens runs of combining marks, so that the time of `normalize` grows with the length of the text alone. */
export const limitMarks = (text: string): string => text.replaceAll(MARKS, (run) => run.slice(0, MAX_MARKS));

/**
 * Removes accents, case and repeated spaces, to recognise typed words: option names, opt-out and resume words.
 */
export function foldText(text: string): string {
  return text
    .replaceAll(MARKS, '')
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .toLowerCase()
    .replaceAll(/\s+/gu, ' ')
    .trim();
}

/** Like `foldText`, and removes punctuation and symbols at both ends: "SAIR!" becomes "sair". */
export function foldWord(text: string): string {
  const characters = [...foldText(text)];
  const isPartOfWord = (character: string) => !/[\p{P}\p{S}\s]/u.test(character);
  const end = characters.findLastIndex(isPartOfWord) + 1;
  return characters.slice(Math.max(0, characters.findIndex(isPartOfWord)), end).join('');
}
