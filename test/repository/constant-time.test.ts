import { Linter, type Rule } from 'eslint';

/** Plain JavaScript without declarations. */
const RULE: string = '../../scripts/lint/constant-time.js';

/** The rule that keeps comparisons of secrets in constant time; which files it holds for, eslint.config.js says. */
const { default: rule } = (await import(RULE)) as {
  default: Rule.RuleModule;
};

const faultsIn = (code: string): number =>
  new Linter()
    .verify(code, [{ plugins: { gwk: { rules: { ct: rule } } }, rules: { 'gwk/ct': 'error' } }])
    .filter(({ ruleId }) => ruleId === 'gwk/ct').length;

test.each([
  ['two tokens by ===', 'if (given === token) open();'],
  ['the token of an object by !==', 'if (request.token !== expected) refuse();'],
  ['what a function gives', 'if (given === (await readSecret())) open();'],
  ['buffers by equals', 'if (signature.equals(expected)) open();'],
  ['buffers by compare', 'if (Buffer.compare(given, hmac) === 0) open();'],
  ['a digest that was just made', 'if (given === digest(text)) open();'],
  ['a token among others', 'if (known.includes(token)) open();'],
  ['a token of a set', 'if (tokens.has(request.token)) open();'],
  ['how it begins', 'if (given.startsWith(secret)) open();'],
  ['by Object.is', 'if (Object.is(given, password)) open();'],
  ['by the cases of a switch', 'switch (given) { case token: open(); }'],
  ['what a switch is about', 'switch (signature) { case expected: open(); }'],
  ['a key that signs', 'if (given === record.signing_key) open();'],
  ['a code that pairs', 'if (given === pairingCode) open();'],
  ['private fields', 'class A { #password; may(given) { return given === this.#password; } }'],
])('%s: a fault', (_sentence, code) => {
  expect(faultsIn(code)).toBe(1);
});

test.each([
  ['in constant time', 'if (timingSafeEqual(given, token)) open();'],
  ['whether there is one', 'if (token === undefined || secret === null) refuse();'],
  ['its kind', "if (typeof token === 'string') open();"],
  ['its length', 'if (token.length === wanted.length) open();'],
  ['a state of it', "if (token === 'off') open();"],
  ['a prefix that all of them have', "if (token.startsWith('gwk_')) look();"],
  ['the states of it', "switch (token) { case 'off': close(); break; default: open(); }"],
  ['the key of an entry, the code of an error', 'if (key === other || codes.has(code)) look();'],
  ['what is no secret', 'if (etag === other || name === given) open();'],
])('%s: no fault', (_sentence, code) => {
  expect(faultsIn(code)).toBe(0);
});
