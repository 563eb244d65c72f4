import { isWeak } from './weak-passwords.js';

const EMAIL = 'ana.souza.lima@example.org';

test.each([
  ['11 characters', 'seven horse', true],
  ['12 characters', 'seven horses', false],
  ['one character', 'aaaaaaaaaaaaaa', true],
  ['four characters', 'abcdabcdabdcab', true],
  ['a repeated word', 'abcdabcdabcd', true],
  ['a repeated group', 'ab1!ab1!ab1!ab', true],
  ['the e-mail', 'Ana.Souza.Lima@example.org', true],
  ['the name of the e-mail', 'ana.souza.lima', true],
  ['a sentence', 'o cavalo azul bebe', false],
  ['a common password with digits', 'password1234', true],
  ['a common word with digits', 'senha1234567', true],
  ['a row of keys with digits', 'qwertyuiop12', true],
  ['a common word, a sign and digits', 'Senha@123456', true],
  ['a row of digits', '123456789012', true],
  ['a role with digits', 'admin1234567', true],
  ['a row of digits from the middle', '789012345678', true],
  ['digits and signs only', '5511-98765-4321', true],
  ['any word with digits', 'Corinthians2012', true],
  ['digits before a word', '2024!whatsapp', true],
  ['look-alikes of letters', 'P@ssw0rd!2024', true],
  ['look-alikes at the end', '123456s3nh4', true],
  ['keys in turn', '1q2w3e4r5t6y', true],
  ['keys backwards', 'lkjhgfdsapoi', true],
  ['the alphabet', 'abcdefghijklm', true],
  ['a word twice, with digits', 'senhasenha2024', true],
  ['a word three times in part', 'gatewaygatewaygate', true],
  ['the name of the e-mail with digits', 'ana.souza.lima2024', true],
  ['the domain of the e-mail', 'Example.org!2024', true],
  ['accents and digits', 'Corações1234', true],
  ['a generator', 'kTq3mWz5LrP7', false],
  ['gwk user reset', 'hk4nd-8snwq-2hxcm-w3yhb-tz6mp', false],
  ['words with digits', 'batata2verde9janela', false],
  ['words and a common password', 'tartaruga senha azul', false],
  ['emoji as one character each', '👍👎🙏🎉🚀😀', true],
  ['a common password, digits and a letter', 'password1234a', true],
  ['a word, digits and a letter', 'Senha@123456a', true],
  ['a row of keys, digits and a letter', 'qwerty123456a', true],
  ['a common sentence, digits and a letter', 'iloveyou1234u', true],
  ['two rows and a letter', 'abc123456789d', true],
  ['digits between a word twice', 'senha123senha', true],
  ['a year between a role twice', 'admin2024admin', true],
  ['symbols and digits between a word twice', 'Mudar@123Mudar', true],
  ['two words about passwords', 'Senha.Forte123', true],
  ['three words about passwords', 'minhasenhasecreta', true],
  ['the name of the e-mail, a digit and a letter', 'ana.souza.lima1x', true],
  ['a word that is in no list, digits and a letter', 'Corações2024b', true],
  ['two common words without a sign', 'dragonmonkey12', true],
  ['a generator with digits at both ends', '4kTqWzLrPaB7', false],
  ['a generator without capitals', 'x7k2m9q4w1z8', false],
  ['a generator of small letters', 'kqmzvwrtplxn', false],
])('a password of %s: weak is %s', async (_, password, weak) => {
  expect(await isWeak(password, EMAIL)).toBe(weak);
});

test('accepts random letters and digits', async () => {
  const CHARACTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
  const next = seededGenerator(20_261_129);
  const make = () => Array.from({ length: 12 }, () => CHARACTERS[next() % CHARACTERS.length]).join('');
  const passwords = Array.from({ length: 2_000 }, make);
  expect(new Set(passwords).size).toBe(2_000);
  const refused = [];
  for (const password of passwords) if (await isWeak(password, EMAIL)) refused.push(password);
  // Fewer than 0.1 %.
  expect(refused).toEqual([]);
});

/** xorshift32 */
function seededGenerator(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

test('an e-mail with digits is refused, also as a part', async () => {
  const email = 'user-01a22847@example.com';
  expect(await isWeak(email.toUpperCase(), email)).toBe(true);
  expect(await isWeak(`${email} kTq3`, email)).toBe(true);
});
