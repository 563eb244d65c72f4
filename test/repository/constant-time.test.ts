import { RuleTester } from 'oxlint/plugins-dev';

/** Plain JavaScript without declarations. */
const RULE: string = './constant-time.js';

/** The rule that requires constant-time comparisons of secrets. oxlint.config.ts lists its files. */
type Rule = Parameters<RuleTester['run']>[1];
const { default: rule } = (await import(RULE)) as { default: Rule };

const REPORTED: [sentence: string, code: string][] = [
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
];
const ALLOWED: [sentence: string, code: string][] = [
  ['a comparison by timingSafeEqual', 'if (timingSafeEqual(given, token)) open();'],
  ['a check for presence', 'if (token === undefined || secret === null) refuse();'],
  ['a check of the type', "if (typeof token === 'string') open();"],
  ['a check of the length', 'if (token.length === wanted.length) open();'],
  ['a comparison with a literal', "if (token === 'off') open();"],
  ['a check of the public prefix', "if (token.startsWith('gwk_')) look();"],
  ['a switch over literals', "switch (token) { case 'off': close(); break; default: open(); }"],
  ['the key of an entry and the code of an error', 'if (key === other || codes.has(code)) look();'],
  ['values that are not secret', 'if (etag === other || name === given) open();'],
];

new RuleTester().run('constant-time', rule, {
  invalid: REPORTED.map(([sentence, code]) => ({ name: `reports ${sentence}`, code, errors: 1 })),
  valid: ALLOWED.map(([sentence, code]) => ({ name: `allows ${sentence}`, code })),
});
