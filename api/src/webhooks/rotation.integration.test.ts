import { newUuid } from '@gwk/core/ids/ids';
import type { DeliveryWorld } from '@gwk/test/support/api/deliveries';
import { problemCode, endpointUuid, verifies, WebhookStage } from '@gwk/test/support/api/webhook-stage';

const DAY = 24 * 3_600_000;

let stage: WebhookStage;
let world: DeliveryWorld;
beforeAll(async () => {
  stage = await WebhookStage.shared();
  world = stage.world;
});
afterEach(() => world.reset());

describe('secret rotation', () => {
  test('signs with both secrets for 24 hours, then with the new one only', async () => {
    const target = await world.startReceiver();
    const { id, secret: before } = await stage.create(target.url);
    const asked = Date.now();
    const answer = await stage.rotate(id);
    const answered = Date.now();
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) as string,
      previous_expires_at: expect.any(String) as string,
    });
    const { secret: after, previous_expires_at: expiry } = answer.body;
    expect(Date.parse(expiry)).toBeGreaterThanOrEqual(asked + DAY - 1);
    expect(Date.parse(expiry)).toBeLessThanOrEqual(answered + DAY);
    await world.startWorker();
    await world.emit();
    await world.finished(endpointUuid(id));
    await world.db.webhookSecret.updateMany({
      where: { endpointId: endpointUuid(id), expiresAt: { not: null } },
      data: { expiresAt: new Date(Date.parse(expiry) - DAY - 1) },
    });
    await world.emit();
    await world.finished(endpointUuid(id), 2);
    const signed = target.posts.map((post) => [verifies(before!, post), verifies(after, post)]);
    expect(signed).toEqual([
      [true, true],
      [false, true],
    ]);
  });

  test('keeps at most five signatures and ends the oldest secret', async () => {
    const target = await world.startReceiver();
    const { id, secret } = await stage.create(target.url);
    const secrets = [secret!];
    for (let i = 0; i < 6; i++) secrets.push((await stage.rotate(id)).body.secret);
    await world.startWorker();
    await world.emit();
    await world.finished(endpointUuid(id));
    const [post] = target.posts;
    expect(String(post!.headers['webhook-signature']).split(' ')).toHaveLength(5);
    expect(secrets.map((one) => verifies(one, post!))).toEqual([false, false, true, true, true, true, true]);
  });

  test('serialises concurrent rotations: each has its own secret', async () => {
    const { id } = await stage.create('https://hooks.shop.com.br/');
    const answers = await Promise.all([1, 2, 3, 4].map(() => stage.rotate(id)));
    expect(new Set(answers.map(({ body }) => body.secret)).size).toBe(4);
    const stored = await world.db.webhookSecret.findMany({ where: { endpointId: endpointUuid(id) } });
    expect(stored.filter(({ expiresAt }) => expiresAt === null)).toHaveLength(1);
  });

  test('returns the same secret per idempotency key, also after a crash, and not to other keys', async () => {
    const { id } = await stage.create('https://hooks.shop.com.br/');
    const key = { 'idempotency-key': newUuid() };
    const first = await stage.rotate(id, key);
    expect((await stage.rotate(id, key)).body).toEqual(first.body);
    await stage.forgetAnswers();
    expect((await stage.rotate(id, key)).body).toEqual(first.body);
    expect(await world.db.webhookSecret.count({ where: { endpointId: endpointUuid(id) } })).toBe(2);
    const restricted = await stage.restricted();
    expect(problemCode(await stage.rotate(id, key, restricted))).toBe('not-found');
  });

  test('is in the audit log without the secret, which is stored encrypted', async () => {
    const { id } = await stage.create('https://hooks.shop.com.br/');
    const { secret } = (await stage.rotate(id)).body;
    const entries = await world.db.auditEntry.findMany({ where: { subject: endpointUuid(id) } });
    expect(entries.map(({ action }) => action)).toEqual(['webhook.create', 'webhook.rotate-secret']);
    const stored = await world.db.webhookSecret.findMany({ where: { endpointId: endpointUuid(id) } });
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    for (const { secretSealed } of stored) {
      expect(Buffer.from(secretSealed).includes(key)).toBe(false);
      expect(Buffer.from(secretSealed).includes(secret)).toBe(false);
    }
  });
});
