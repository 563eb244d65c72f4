import { codePoints } from '@gwk/core/resources/common';
import { dictionary } from '@zxcvbn-ts/language-common';

const MIN_LENGTH = 12;
const MIN_DIFFERENT = 5;
/** A shorter rest between digits and symbols is one word, as in "Senha@123456". */
const MIN_REST = 8;

/**
 * Estimators of strength (zxcvbn) hold the event loop for seconds with a hostile password, so only their list is used. Its
 * search takes a time that does not depend on the password.
 */
const COMMON = new Set(dictionary['passwords-common']);
const ROWS = ['abcdefghijklmnopqrstuvwxyz', '01234567890123456789', 'qwertyuiopasdfghjklzxcvbnm'];
const WALKS = ROWS.flatMap((row) => [row, [...row].toReversed().join('')]);
const LETTER = /\p{L}/u;
const ONLY_LETTERS = /^\p{L}*$/u;
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
  '!': 'i',
};

/**
 * Whether a password is short, the e-mail or a part of it, repeats few characters, or is a common password or one word with
 * digits and symbols around it.
 */
export function isWeak(password: string, email: string): boolean {
  const text = password.normalize('NFC').toLowerCase();
  const word = trimToLetters(text);
  const forms = [text, word, toLetters(text), toLetters(word)].map(findRepeated);
  return (
    codePoints(password) < MIN_LENGTH ||
    new Set(text).size < MIN_DIFFERENT ||
    isOneWord(word) ||
    WALKS.some((walk) => walk.includes(text) || walk.includes(word)) ||
    forms.some((form) => COMMON.has(form)) ||
    namesOf(email).some((name) => forms.includes(name))
  );
}

/** True also for a text of digits and symbols only, whose word is empty. */
const isOneWord = (word: string): boolean =>
  codePoints(word) < MIN_REST ||
  (ONLY_LETTERS.test(findRepeated(word)) && codePoints(findRepeated(word)) < MIN_LENGTH);

/** Without the digits and symbols at both ends. */
function trimToLetters(text: string): string {
  const characters = [...text];
  const isLetter = (character: string) => LETTER.test(character);
  const first = characters.findIndex(isLetter);
  return first < 0 ? '' : characters.slice(first, characters.findLastIndex(isLetter) + 1).join('');
}

const toLetters = (text: string): string => text.replaceAll(/[013457@$!]/g, (sign) => LOOK_ALIKES[sign]!);

const namesOf = (email: string): string[] => [email, ...email.split('@')].map((name) => name.toLowerCase());

/** The group that the text repeats at least once more, or the text. */
function findRepeated(text: string): string {
  for (let period = 1; period <= text.length / 2; period++) {
    if (text.startsWith(text.slice(period))) return text.slice(0, period);
  }
  return text;
}
