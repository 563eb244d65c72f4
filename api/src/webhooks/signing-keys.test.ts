import { randomBytes } from 'node:crypto';
import { SealError, Sealer, parseEncryptionKeys } from '@gwk/core/encryption';
import { generateWebhookSecret, toWebhookKey } from '@gwk/core/webhook-signature';
import { sealWebhookSecret } from './secrets.js';
import { SigningKeys } from './signing-keys.js';

const sealer = new Sealer(parseEncryptionKeys(randomBytes(32).toString('base64')));
const sealed = (account: string, secret = generateWebhookSecret()) =>
  sealWebhookSecret(sealer, account, secret);

describe('signing keys of destinations', () => {
  it('are those of the secrets', () => {
    const secret = generateWebhookSecret();
    const key = new SigningKeys(sealer).of('a', sealed('a', secret));
    expect(key.equals(toWebhookKey(secret))).toBe(true);
  });

  it('are made once for each sealed secret', () => {
    const keys = new SigningKeys(sealer);
    const one = sealed('a');
    expect(keys.of('a', Buffer.from(one))).toBe(keys.of('a', one));
  });

  it('are not given to another account, however often its owner has used them', () => {
    const keys = new SigningKeys(sealer);
    const one = sealed('a');
    keys.of('a', one);
    expect(() => keys.of('b', one)).toThrow(SealError);
  });

  it('are not remembered where the secret could not be opened', () => {
    const other = new Sealer(parseEncryptionKeys(randomBytes(32).toString('base64')));
    const keys = new SigningKeys(other);
    const one = sealed('a');
    for (let attempt = 0; attempt < 2; attempt++) expect(() => keys.of('a', one)).toThrow(SealError);
    expect(keys.size).toBe(0);
  });

  it('are forgotten from the oldest on, where there are many', () => {
    const keys = new SigningKeys(sealer, 2);
    const [one, two, three] = [sealed('a'), sealed('a'), sealed('a')];
    const first = keys.of('a', one);
    const second = keys.of('a', two);
    keys.of('a', three);
    expect(keys.size).toBe(2);
    expect(keys.of('a', two)).toBe(second);
    expect(keys.of('a', one)).not.toBe(first);
  });
});
