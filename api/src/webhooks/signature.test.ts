import { Webhook } from 'standardwebhooks';
import { generateWebhookSecret, signWebhook, toWebhookKey } from './signature.js';

test('matches the test vector of Standard Webhooks', () => {
  const signature = signWebhook(
    [toWebhookKey('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')],
    'msg_p5jXN8AQM9LWM0D4loKWxJek',
    1614265330,
    '{"test": 2432232314}',
  );
  expect(signature).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
});

test('verifies with either secret if both signed', () => {
  const secrets = [generateWebhookSecret(), generateWebhookSecret()];
  const now = Math.floor(Date.now() / 1000);
  const body = '{"type":"message.sent","data":{"text":"olá"}}';
  const headers = {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(now),
    'webhook-signature': signWebhook(secrets.map(toWebhookKey), 'evt_1', now, body),
  };
  for (const secret of secrets) expect(() => new Webhook(secret).verify(body, headers)).not.toThrow();
  expect(() => new Webhook(generateWebhookSecret()).verify(body, headers)).toThrow();
});
