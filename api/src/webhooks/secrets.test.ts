import { randomBytes } from 'node:crypto';
import { SealError, Sealer, parseEncryptionKeys } from '@gwk/core/crypto/encryption';
import { generateWebhookSecret, toWebhookKey } from './signature.js';
import { sealWebhookSecret, SigningKeys } from './secrets.js';

const sealer = new Sealer(parseEncryptionKeys(randomBytes(32).toString('base64')));
const sealed = (account: string, secret = generateWebhookSecret()) =>
  sealWebhookSecret(sealer, account, secret);

describe('signing keys', () => {
  it('match the secrets', () => {
    const secret = generateWebhookSecret();
    const key = new SigningKeys(sealer).get('a', sealed('a', secret));
    expect(key.equals(toWebhookKey(secret))).toBe(true);
  });

  it('are created once for each encrypted secret', () => {
    const keys = new SigningKeys(sealer);
    const one = sealed('a');
    expect(keys.get('a', Buffer.from(one))).toBe(keys.get('a', one));
  });

  it('are not returned for another account', () => {
    const keys = new SigningKeys(sealer);
    const one = sealed('a');
    keys.get('a', one);
    expect(() => keys.get('b', one)).toThrow(SealError);
  });

  it('are not cached if the secret cannot be decrypted', () => {
    const other = new Sealer(parseEncryptionKeys(randomBytes(32).toString('base64')));
    const keys = new SigningKeys(other);
    const one = sealed('a');
    for (let attempt = 0; attempt < 2; attempt++) expect(() => keys.get('a', one)).toThrow(SealError);
    expect(keys.size).toBe(0);
  });

  it('are evicted from the oldest on', () => {
    const keys = new SigningKeys(sealer, 2);
    const [one, two, three] = [sealed('a'), sealed('a'), sealed('a')];
    const first = keys.get('a', one);
    const second = keys.get('a', two);
    keys.get('a', three);
    expect(keys.size).toBe(2);
    expect(keys.get('a', two)).toBe(second);
    expect(keys.get('a', one)).not.toBe(first);
  });
});
