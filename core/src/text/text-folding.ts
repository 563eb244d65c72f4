/** Code units of the longest text that may be a typed word. */
export const MAX_TYPED = 300;

/**
 * Format characters that nobody sees: zero-width spaces, soft hyphens and direction marks, for a character class. Joiners
 * are not among them: they change emoji and letters.
 */
export const UNSEEN = String.raw`\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff`;
const UNSEEN_CHARACTERS = new RegExp(`[${UNSEEN}]+`, 'gu');
const UNSEEN_OR_JOINERS = new RegExp(`[${UNSEEN}\\u200c\\u200d]+`, 'gu');

/** Removes what nobody sees, except joiners. */
export const removeUnseen = (text: string): string => text.replaceAll(UNSEEN_CHARACTERS, '');
/** To compare words, in which a joiner makes no difference. */
export const removeFormat = (text: string): string => text.replaceAll(UNSEEN_OR_JOINERS, '');

/** Spaces, controls, ignorable characters (joiners, fillers) and the empty Braille pattern. */
const BLANK = /^[\s\p{Cc}\p{Default_Ignorable_Code_Point}\u2800]*$/u;
export const isVisible = (text: string): boolean => !BLANK.test(text);

/** Combining marks, and the two letters that normalisation turns into marks. */
const MARKS = /[\p{M}\uff9e\uff9f]+/gu;

/** Longer runs of marks occur in no language. Normalisation sorts a run in time that grows with its square. */
const MAX_MARKS = 30;

/** Shortens runs of combining marks, so that the time of `normalize` grows with the length of the text alone. */
export const limitMarks = (text: string): string => text.replaceAll(MARKS, (run) => run.slice(0, MAX_MARKS));

/**
 * Removes accents, case, format characters and repeated spaces, to recognise typed words: option names, opt-out and resume words.
 */
export function foldText(text: string): string {
  return removeFormat(text)
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
