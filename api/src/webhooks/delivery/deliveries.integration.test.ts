import { once } from 'node:events';
import type { WebhookDelivery } from '../../generated/prisma/client.js';
import { fromPublicId, newUuid } from '@gwk/core/ids/ids';
import { generateWebhookSecret } from '../signature.js';
import { type Answer, DeliveryWorld, type Post } from '@gwk/test/support/api/deliveries';
import { Webhook } from 'standardwebhooks';
import { sealHeaders, sealWebhookSecret } from '../secrets.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

let world: DeliveryWorld;
beforeAll(async () => {
  world = await DeliveryWorld.shared();
});
afterEach(() => world.reset());

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

describe('request', () => {
  test('has the stored event, signed as Standard Webhooks defines', async () => {
    const target = await world.startReceiver();
    const { id, secret } = await world.addEndpoint(target.url);
    await world.startWorker();
    const [eventId] = await world.emit(1, {
      text: 'açaí "quoted" \u2028 😀',
      z: 1,
      a: { b: [1, 2.5, null] },
    });
    const [row] = await world.finished(id);
    const [post] = target.posts;
    expect(post!.headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': eventId });
    const body = new Webhook(secret).verify(post!.body, post!.headers as Record<string, string>);
    expect(body).toEqual({
      type: 'webhook.test',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
      data: { number: 0, text: 'açaí "quoted" \u2028 😀', z: 1, a: { b: [1, 2.5, null] } },
    });
    expect(Object.keys(body as object)).toEqual(['type', 'timestamp', 'data']);
    expect(row).toMatchObject({ status: 'succeeded', attempts: 1, lastStatusCode: 204, lastError: null });
    expect(row!.nextAttemptAt).toBeNull();
    expect(row!.deliveredAt).not.toBeNull();
    expect(await world.inQueue(id)).toEqual([]);
  });

  test('has the custom headers of its endpoint, below its own', async () => {
    const target = await world.startReceiver();
    const headers = { authorization: 'Bearer abc', 'user-agent': 'other', 'webhook-id': 'forged' };
    const { id } = await world.addEndpoint(target.url, {
      headersSealed: sealHeaders(world.sealer, world.accountId, headers),
    });
    await world.startWorker();
    const [eventId] = await world.emit();
    await world.finished(id);
    expect(target.posts[0]!.headers).toMatchObject({
      authorization: 'Bearer abc',
      'user-agent': 'gwk-webhooks/1',
      'webhook-id': eventId,
    });
  });

  test('has the same body in every attempt, and a new timestamp and signature', async () => {
    const target = await world.startReceiver((res, _post, nth) =>
      res.writeHead(nth === 1 ? 500 : 200).end('thanks'),
    );
    const { id, secret } = await world.addEndpoint(target.url);
    let clock = Date.now();
    await world.startWorker({}, { now: () => new Date(clock) });
    await world.emit();
    await world.attempted(id);
    clock += 1_000; // the timestamp is in seconds
    await world.makeDue();
    await world.finished(id);
    const [one, two] = target.posts;
    expect(two!.body).toBe(one!.body);
    expect(two!.headers['webhook-id']).toBe(one!.headers['webhook-id']);
    expect(Number(two!.headers['webhook-timestamp'])).toBeGreaterThan(
      Number(one!.headers['webhook-timestamp']),
    );
    for (const post of [one!, two!]) {
      new Webhook(secret).verify(post.body, post.headers as Record<string, string>);
    }
  });

  test('is signed with every secret that has not expired', async () => {
    const target = await world.startReceiver();
    const { id, secret } = await world.addEndpoint(target.url);
    const [rotated, expired] = [generateWebhookSecret(), generateWebhookSecret()];
    for (const [plain, expiresAt] of [
      [rotated, new Date(Date.now() + DAY)],
      [expired, new Date(Date.now() - 1)],
    ] as const) {
      const secretSealed = sealWebhookSecret(world.sealer, world.accountId, plain);
      await world.db.webhookSecret.create({
        data: { id: newUuid(), endpointId: id, secretSealed, expiresAt },
      });
    }
    await world.startWorker();
    await world.emit();
    await world.finished(id);
    const { body, headers } = target.posts[0]!;
    expect(String(headers['webhook-signature']).split(' ')).toHaveLength(2);
    for (const valid of [secret, rotated]) new Webhook(valid).verify(body, headers as Record<string, string>);
    expect(() => new Webhook(expired).verify(body, headers as Record<string, string>)).toThrow();
  });
});

describe('failed attempt', () => {
  /** The attempt ended between its post and now. */
  function expectWait({ nextAttemptAt }: WebhookDelivery, { at }: Post, least: number, most: number): void {
    expect(nextAttemptAt!.getTime()).toBeGreaterThanOrEqual(at + least);
    expect(nextAttemptAt!.getTime()).toBeLessThanOrEqual(Date.now() + most);
  }

  test('fails after eight attempts on schedule', async () => {
    const target = await world.startReceiver((res) => res.writeHead(503).end('no'));
    const { id } = await world.addEndpoint(target.url);
    await world.startWorker();
    await world.emit();
    const steps = [
      5 * SECOND,
      5 * MINUTE,
      30 * MINUTE,
      120 * MINUTE,
      300 * MINUTE,
      600 * MINUTE,
      600 * MINUTE,
    ];
    for (const [index, step] of steps.entries()) {
      const row = await world.attempted(id, index + 1);
      expectWait(row, target.posts[index]!, step, step * 1.2);
      const [entry] = await world.inQueue(id);
      expect(entry).toMatchObject({ attempts: index + 1, dueAt: row.nextAttemptAt, lockedBy: null });
      await world.makeDue();
    }
    const [row] = await world.finished(id);
    expect(row).toMatchObject({
      status: 'failed',
      attempts: 8,
      nextAttemptAt: null,
      lastStatusCode: 503,
      lastError: 'answered 503',
    });
    expect(target.posts).toHaveLength(8);
    expect(await world.inQueue(id)).toEqual([]);
  });

  test('waits for Retry-After', async () => {
    const target = await world.startReceiver((res) => res.writeHead(429, { 'retry-after': '600' }).end());
    const { id } = await world.addEndpoint(target.url);
    await world.startWorker();
    await world.emit();
    expectWait(await world.attempted(id), target.posts[0]!, 600 * SECOND, 600 * SECOND);
  });

  test.each<[string, Answer, number | null, string]>([
    [
      'a redirect (not followed)',
      (res) => res.writeHead(302, { location: '/other' }).end(),
      302,
      'answered 302 (redirect to ORIGIN/other, not followed)',
    ],
    ['a redirect with a secret', (res) => res.writeHead(302, { location: 'https://u:p@example.com/a?b=c#d' }).end(), 302, 'answered 302 (redirect to https://example.com/a, not followed)'], // prettier-ignore
    [
      'a permanent redirect',
      (res) => res.writeHead(308, { location: 'http://[' }).end(),
      308,
      'answered 308',
    ],
    ['a closed connection', (res) => res.socket!.destroy(), null, 'connection closed without an answer'],
    ['an answer that is not HTTP', (res) => res.socket!.end('hello\r\n\r\n'), null, 'the answer is not HTTP'],
    ['endless headers', (res) => res.socket!.write(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(20_000)}`), null, 'the headers of the answer are too long'], // prettier-ignore
    ['a truncated refusal', (res) => res.writeHead(500, { 'content-length': '9' }).write('x', () => res.socket!.destroy()), 500, 'answered 500'], // prettier-ignore
    ['endless 100 Continue', (res) => res.socket!.write('HTTP/1.1 100\n\n'.repeat(4_000)), null, 'the answer is not HTTP'], // prettier-ignore
    ['another protocol', (res) => res.socket!.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n'), null, 'connection closed without an answer'], // prettier-ignore
  ])('%s is a failure with a reason', async (_sentence, answer, statusCode, error) => {
    const target = await world.startReceiver(answer);
    const { id } = await world.addEndpoint(target.url);
    await world.startWorker();
    await world.emit();
    const row = await world.attempted(id);
    const lastError = error.replace('ORIGIN', new URL(target.url).origin);
    expect(row).toMatchObject({ status: 'pending', lastStatusCode: statusCode, lastError });
    expect(row.lastLatencyMs).not.toBeNull();
    expect(target.posts.map(({ path }) => path)).toEqual(['/hook']);
  });

  test.each<[string, Answer]>([
    ['100 Continue', (res) => (res.writeContinue(), setImmediate(() => res.end('ok')))],
    ['100 Continue in the same packet', (res) => res.socket!.end(`HTTP/1.1 100 Continue\r\n\r\n${OK}`)],
    [
      'two of them',
      (res) => res.socket!.end(`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100\r\nx: y\r\n\r\n${OK}`),
    ],
    ['102 Processing', (res) => (res.writeProcessing(), res.end('ok'))],
    [
      '100 Continue after 103 Early Hints',
      (res) =>
        res.socket!.end(`HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n${OK}`),
    ],
    ['103 Early Hints', (res) => (res.writeEarlyHints({ link: '</a>; rel=preload' }), res.end('ok'))],
  ])('an answer after %s is a success', async (_sentence, answer) => {
    const target = await world.startReceiver(answer);
    const { id } = await world.addEndpoint(target.url);
    await world.startWorker();
    await world.emit();
    const [row] = await world.finished(id);
    expect(row).toMatchObject({ status: 'succeeded', lastStatusCode: 200, attempts: 1 });
  });

  test.each([
    ['a closed port', 'http://127.0.0.1:1/hook', 'connection refused'],
    ['the name localhost', 'http://localhost:1/hook', 'the URL is not allowed (not-https)'],
    ['a private address', 'https://10.0.0.1/hook', 'the URL is not allowed (address-not-public)'],
    ['an invalid URL', 'nonsense', 'the URL is not allowed (not-a-url)'],
  ])('%s is retried', async (_sentence, url, error) => {
    const { id } = await world.addEndpoint(url);
    await world.startWorker();
    await world.emit();
    const row = await world.attempted(id);
    expect(row).toMatchObject({ status: 'pending', lastStatusCode: null, lastError: error });
  });

  test('fails a delivery whose event was deleted', async () => {
    const target = await world.startReceiver();
    const { id } = await world.addEndpoint(target.url);
    const [eventId] = await world.emit();
    await world.db.event.delete({ where: { id: fromPublicId('event', eventId!)! } });
    await world.startWorker();
    const [row] = await world.finished(id);
    expect(row).toMatchObject({ status: 'failed', lastError: 'the event was deleted' });
    expect(target.posts).toHaveLength(0);
  });
});

describe('response body', () => {
  test('is stored encrypted up to 20 kB; a gigabyte is cut off', async () => {
    let sent = 0;
    let cutOff: Promise<unknown> | undefined;
    const target = await world.startReceiver((res) => {
      const chunk = Buffer.alloc(65_536, 'x');
      cutOff = once(res, 'close');
      res.writeHead(200);
      const more = (): void => {
        if (res.destroyed || sent >= 2 ** 30) return;
        sent += chunk.length;
        res.write(chunk, more);
      };
      more();
    });
    const { id } = await world.addEndpoint(target.url);
    await world.startWorker();
    await world.emit();
    const [row] = await world.finished(id);
    expect(row).toMatchObject({ status: 'succeeded', lastStatusCode: 200 });
    expect(Buffer.from(row!.lastResponseSealed!).includes('xxxx')).toBe(false);
    const kept = world.sealer.open(
      world.accountId,
      'webhook_deliveries.last_response_sealed',
      row!.lastResponseSealed!,
    );
    expect(kept.toString()).toBe('x'.repeat(20_000));
    await cutOff;
    expect(sent).toBeLessThan(20_000_000);
  });
});
