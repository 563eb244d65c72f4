import type { PasskeyAnswer } from '@gwk/core/resources/pairing';
import { Authenticator, type AssertionFaults } from '@gwk/network/people/authenticator';
import { checkAssertion } from './assertion.js';

const OPTIONS = { challenge: 'AAAA', rpId: 'whatsapp.com', userVerification: 'required' } as const;
const authenticator = new Authenticator();
const assert = (faults: AssertionFaults = {}): PasskeyAnswer => ({
  credential: authenticator.assert(OPTIONS, faults),
});
const codes = (answer: PasskeyAnswer, options = {}) =>
  checkAssertion(answer, { ...OPTIONS, ...options }).map(({ path, code }) => [path.split('.').at(-1), code]);

const id = authenticator.credentialId.toString('base64url');
const withClientData = (data: unknown): PasskeyAnswer => {
  const answer = assert();
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  answer.credential.response.clientDataJSON = Buffer.from(text).toString('base64url');
  return answer;
};
const HONEST = { type: 'webauthn.get', challenge: 'AAAA', origin: 'https://web.whatsapp.com' };

test.each([
  ['of any passkey', {}],
  ['of a listed passkey', { allowCredentials: [{ id: 'BBBB' }, { id }] }],
  ['of an empty list', { allowCredentials: [] }],
])('takes an assertion %s', (_, options) => {
  expect(codes(assert(), options)).toEqual([]);
});

test.each<[string, PasskeyAnswer, string, string]>([
  ['another challenge', assert({ challenge: 'BBBB' }), 'clientDataJSON', 'other_challenge'],
  ['a page of another site', assert({ origin: 'https://example.org' }), 'clientDataJSON', 'other_origin'],
  ['another relying party', assert({ rpId: 'example.org' }), 'authenticatorData', 'other_site'],
  ['nobody verified', assert({ unverified: true }), 'authenticatorData', 'not_verified'],
  ['a registration', withClientData({ ...HONEST, type: 'webauthn.create' }), 'clientDataJSON', 'other_type'],
  ['a frame of another site', withClientData({ ...HONEST, crossOrigin: true }), 'clientDataJSON', 'framed'],
  ['no JSON', withClientData('{'), 'clientDataJSON', 'invalid'],
  ['no object', withClientData('null'), 'clientDataJSON', 'invalid'],
  [
    'no authenticator data',
    {
      credential: {
        ...assert().credential,
        response: { ...assert().credential.response, authenticatorData: 'AA' },
      },
    },
    'authenticatorData',
    'invalid',
  ],
  ['two ids', { credential: { ...assert().credential, rawId: 'BBBB' } }, 'rawId', 'other_id'],
])('refuses an assertion with %s', (_, answer, field, code) => {
  expect(codes(answer)).toEqual([[field, code]]);
});

test('refuses a passkey that the request does not list', () => {
  expect(codes(assert(), { allowCredentials: [{ id: 'BBBB' }] })).toEqual([['id', 'other_passkey']]);
});

test.each([
  ['https://whatsapp.com', true],
  ['https://web.whatsapp.com', true],
  ['https://a.b.whatsapp.com', true],
  ['http://web.whatsapp.com', false],
  ['https://web.whatsapp.com:8443', false],
  ['https://web.whatsapp.com.example.org', false],
  ['https://evilwhatsapp.com', false],
  ['https://example.org/://web.whatsapp.com', false],
  ['https://user@web.whatsapp.com', false],
  ['android:apk-key-hash:x', false],
  [7, false],
])('origin %s', (origin, allowed) => {
  expect(codes(withClientData({ ...HONEST, origin })).length === 0).toBe(allowed);
});
