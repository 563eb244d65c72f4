import { Webhook } from 'standardwebhooks';
import { chooseSecret, newSecret, parseTarget, signEvent } from './post.js';

test.each(['', 'whsec_', 'whsec_not base64 at all', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'])(
  'refuses the secret "%s" unprinted',
  (secret) => {
    const message = 'GWK_WEBHOOK_SECRET is not a secret: whsec_ and base64';
    expect(() => chooseSecret({ GWK_WEBHOOK_SECRET: secret })).toThrow(
      expect.objectContaining({ kind: 'usage', message }),
    );
  },
);

test('takes a secret that it has made itself', () => {
  const secret = newSecret();
  expect(chooseSecret({ GWK_WEBHOOK_SECRET: secret })).toBe(secret);
});

test.each(['http://localhost:3000', 'https://a.example.org/x'])('posts to %s', (target) =>
  expect(parseTarget(target)).toBe(target),
);
test.each(['localhost:3000', '3000', '', 'ftp://a', 'http://'])('does not post to "%s"', (target) =>
  expect(() => parseTarget(target)).toThrow('an address like'),
);

test('signs an event so that libraries of Standard Webhooks accept it, and no other body', () => {
  const secret = newSecret();
  const headers = signEvent(secret, 'evt_1', '{"a":1}', new Date());
  expect(new Webhook(secret).verify('{"a":1}', headers)).toEqual({ a: 1 });
  expect(() => new Webhook(secret).verify('{"a":2}', headers)).toThrow();
});
