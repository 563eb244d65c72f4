import { Linter, type Rule } from 'eslint';

/** Plain JavaScript without declarations. */
const RULE: string = './constant-time.js';

/** The rule that requires constant-time comparisons of secrets. eslint.config.js lists its files. */
const { default: rule } = (await import(RULE)) as {
  default: Rule.RuleModule;
};

const faultsIn = (code: string): number =>
  new Linter()
    .verify(code, [{ plugins: { gwk: { rules: { ct: rule } } }, rules: { 'gwk/ct': 'error' } }])
    .filter(({ ruleId }) => ruleId === 'gwk/ct').length;

test.each([
  ['two tokens compared by ===', 'if (given === token) open();'],
  ['a token property compared by !==', 'if (request.token !== expected) refuse();'],
  ['a secret that a function returns', 'if (given === (await readSecret())) open();'],
  ['buffers compared by equals', 'if (signature.equals(expected)) open();'],
  ['buffers compared by compare', 'if (Buffer.compare(given, hmac) === 0) open();'],
  ['a digest that was just computed', 'if (given === digest(text)) open();'],
  ['a token looked up in an array', 'if (known.includes(token)) open();'],
  ['a token looked up in a set', 'if (tokens.has(request.token)) open();'],
  ['the prefix of a secret', 'if (given.startsWith(secret)) open();'],
  ['a password compared by Object.is', 'if (Object.is(given, password)) open();'],
  ['a token as a case of a switch', 'switch (given) { case token: open(); }'],
  ['a signature as the subject of a switch', 'switch (signature) { case expected: open(); }'],
  ['a signing key', 'if (given === record.signing_key) open();'],
  ['a pairing code', 'if (given === pairingCode) open();'],
  ['private fields', 'class A { #password; may(given) { return given === this.#password; } }'],
])('reports %s', (_sentence, code) => {
  expect(faultsIn(code)).toBe(1);
});

test.each([
  ['a comparison by timingSafeEqual', 'if (timingSafeEqual(given, token)) open();'],
  ['a check for presence', 'if (token === undefined || secret === null) refuse();'],
  ['a check of the type', "if (typeof token === 'string') open();"],
  ['a check of the length', 'if (token.length === wanted.length) open();'],
  ['a comparison with a literal', "if (token === 'off') open();"],
  ['a check of the public prefix', "if (token.startsWith('gwk_')) look();"],
  ['a switch over literals', "switch (token) { case 'off': close(); break; default: open(); }"],
  ['the key of an entry and the code of an error', 'if (key === other || codes.has(code)) look();'],
  ['values that are not secret', 'if (etag === other || name === given) open();'],
])('allows %s', (_sentence, code) => {
  expect(faultsIn(code)).toBe(0);
});
