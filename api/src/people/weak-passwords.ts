import { codePoints } from '@gwk/core/resources/common';

const MIN_LENGTH = 12;
const MIN_DIFFERENT = 5;
/** Rough strength in bits. A word of 11 letters has 22, two common words with a sign between them have 25. */
const MIN_BITS = 24;
/** The time of the search grows with the length, so the rest of a longer password counts nothing. */
const MAX_SEARCHED = 64;
const MAX_PIECE = 20;
const MIN_PIECE = 3;
const MIN_WALK = 4;

const PIECE_BITS = 1;
const COMMON_BITS = 11;
const OTHER_BITS = 3;
const WORD_BITS = 2;
const RANDOM_BITS = 4;
const MIXED_BITS = 5;
/** A password with more changes between letters and others has no word with digits around it. */
const MAX_RUNS = 4;
const MIN_WORD = 6;
const MAX_WORD = 11;
const MAX_CONSONANTS = 0.7;

const ROWS = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890123456789',
  'qwertyuiopasdfghjklzxcvbnm',
  '1q2w3e4r5t6y7u8i9o0p',
];
const WALKS = ROWS.flatMap((row) => [row, [...row].toReversed().join('')]);
/** Words that people put into passwords because it is a password, or the password of this program. */
const TOPICS = new Set(
  (
    'password passwd senha senhas pass login user usuario admin administrador administrator root qwerty mudar trocar alterar ' +
    'change changeme minha minhas meu nossa my secret secreta secreto forte segura seguro strong nova novo new acesso access ' +
    'welcome bemvindo iloveyou letmein teste test whatsapp zap gateway gwk empresa brasil'
  ).split(' '),
);
const IS_LETTER = /^\p{L}/u;
const ONE_CASE = /^(?:\p{Lu}?\P{Lu}*|\P{Ll}*)$/u;
const CONSONANT = /[b-df-hj-np-tv-xz]/gi;
const CONSONANTS_IN_A_ROW = /[b-df-hj-np-tv-xz]{4}/i;
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

/** Loaded at the first check: the list takes 9.5 MB. */
let common: Promise<ReadonlySet<string>> | undefined;
const loadCommon = async (): Promise<ReadonlySet<string>> => {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  return new Set(dictionary['passwords-common']);
};

/**
 * Whether a password is short, repeats few characters, or has little left without common words, rows of keys, names of the
 * e-mail, repetitions, and digits and symbols at its ends. Estimators of strength (zxcvbn) hold the event loop for seconds
 * with a hostile password, so only their list is used.
 */
export async function isWeak(password: string, email: string): Promise<boolean> {
  const characters = [...password.normalize('NFC')];
  const lower = characters.map((character) => [...character.toLowerCase()][0]!);
  if (codePoints(password) < MIN_LENGTH || new Set(lower).size < MIN_DIFFERENT) return true;
  if (lower.join('').includes(email.toLowerCase())) return true;
  common ??= loadCommon();
  const lists = { common: await common, names: namesOf(email) };
  return countBits(characters.slice(0, MAX_SEARCHED), lower.slice(0, MAX_SEARCHED), lists) < MIN_BITS;
}

interface Lists {
  common: ReadonlySet<string>;
  names: ReadonlySet<string>;
}

/** Bits of the cheapest division into pieces and single characters. */
function countBits(characters: readonly string[], lower: readonly string[], lists: Lists): number {
  const single = weighSingles(characters);
  const prefixes = lower.reduce((known, character) => [...known, known.at(-1)! + character], ['']);
  const cheapest = [0];
  for (let end = 1; end <= lower.length; end++) {
    let bits = cheapest[end - 1]! + single[end - 1]!;
    for (let start = Math.max(0, end - MAX_PIECE); start <= end - MIN_PIECE; start++) {
      const before = prefixes[start]!;
      bits = Math.min(
        bits,
        cheapest[start]! + weighPiece(prefixes[end]!.slice(before.length), before, lists),
      );
    }
    cheapest.push(bits);
  }
  return cheapest.at(-1)!;
}

function weighPiece(piece: string, before: string, { common: list, names }: Lists): number {
  if (before.includes(piece)) return PIECE_BITS;
  if (piece.length >= MIN_WALK && WALKS.some((walk) => walk.includes(piece))) return PIECE_BITS;
  const forms = [piece, piece.replaceAll(/[013457@$!]/g, (sign) => LOOK_ALIKES[sign]!)];
  if (forms.some((form) => TOPICS.has(form) || names.has(form))) return PIECE_BITS;
  return forms.some((form) => list.has(form)) ? COMMON_BITS : Infinity;
}

/** Bits of each character that is in no piece. */
function weighSingles(characters: readonly string[]): number[] {
  const text = characters.join('');
  const runs = text.match(/\p{L}+|\P{L}+/gu) ?? [];
  const bits = runs.flatMap((run) => weighRun(run));
  if (runs.length > MAX_RUNS) return bits;
  const [head, tail] = [countOuter(runs), countOuter(runs.toReversed())];
  return bits.map((value, index) => (index < head || index >= bits.length - tail ? 0 : value));
}

/** Length of the digits and symbols at the end, also if one letter stands outside of them. */
function countOuter(runs: readonly string[]): number {
  const [first = '', second = ''] = runs.map((run) => [...run]);
  if (!IS_LETTER.test(first[0] ?? '')) return first.length;
  return first.length === 1 ? 1 + second.length : 0;
}

function weighRun(run: string): number[] {
  const characters = [...run];
  if (!IS_LETTER.test(run)) return characters.map(() => OTHER_BITS);
  if (!ONE_CASE.test(run)) return characters.map(() => MIXED_BITS);
  const wordLength = looksLikeWord(run) ? MAX_WORD : 0;
  return characters.map((_, index) => (index < wordLength ? WORD_BITS : RANDOM_BITS));
}

/** The list lacks most words, so a run of letters with vowels as in a word is taken for one. */
function looksLikeWord(run: string): boolean {
  const consonants = run.match(CONSONANT)?.length ?? 0;
  return (
    run.length >= MIN_WORD && consonants <= MAX_CONSONANTS * run.length && !CONSONANTS_IN_A_ROW.test(run)
  );
}

const namesOf = (email: string): ReadonlySet<string> =>
  new Set(
    email
      .toLowerCase()
      .split(/\P{L}+/u)
      .filter((name) => name.length >= MIN_PIECE),
  );
