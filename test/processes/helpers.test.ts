import { request } from 'node:http';
import { generateWebhookSecret, signWebhook, toWebhookKey } from '@gwk/api/webhooks/signature';
import { byId, Network } from '../support/gateway/network.js';
import { Receiver } from '../support/gateway/receiver.js';
import { until } from '../support/wait.js';

/** Timeout of a request that gets no response. */
const NO_ANSWER_MS = 300;

function post(
  url: string,
  body: unknown,
  { headers = {}, timeout = 20_000 }: { headers?: Record<string, string>; timeout?: number } = {},
): Promise<number> {
  return new Promise((resolve, reject) => {
    const call = request(url, { method: 'POST', agent: false, headers, timeout }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
    });
    call.on('timeout', () => call.destroy(new Error('no answer')));
    call.on('error', reject);
    call.end(JSON.stringify(body));
  });
}

describe('the network in its own process', () => {
  let network: Network;
  beforeAll(async () => {
    network = await Network.start();
  });
  afterAll(() => network.stop());

  const stanza = (id: string, chat: string, text: string) => ({
    instance_id: 'i',
    pod: 'p',
    epoch: 1,
    wa_message_id: id,
    chat,
    body: Buffer.from(JSON.stringify({ type: 'text', text: { body: text } })).toString('base64'),
  });
  const send = (id: string, chat: string, text: string, timeout?: number) =>
    post(`${network.url}/stanza`, stanza(id, chat, text), timeout === undefined ? {} : { timeout });

  test('records every arrival raw and by id, including unanswered ones', async () => {
    await network.setRule({ swallow: 1 }, 'slow');
    expect(await send('A', 'quick', 'one')).toBe(200);
    await expect(send('B', 'slow', 'two', NO_ANSWER_MS)).rejects.toThrow('no answer');
    await until(async () => (await network.count()) === 2, { what: 'the unanswered stanza has arrived' });
    expect(await send('B', 'slow', 'two')).toBe(200);

    const stanzas = await network.stanzas();
    expect(stanzas.map(({ n, text, acknowledged }) => [n, text, acknowledged])).toEqual([
      [0, 'one', true],
      [1, 'two', false],
      [2, 'two', true],
    ]);
    expect([...byId(stanzas)].map(([id, arrivals]) => [id, arrivals.length])).toEqual([
      ['A', 1],
      ['B', 2],
    ]);
  });
});

describe('the webhook receiver in its own process', () => {
  let receiver: Receiver;
  beforeAll(async () => {
    receiver = await Receiver.start();
  });
  afterAll(() => receiver.stop());

  const event = { type: 'webhook.test', timestamp: '2026-01-01T00:00:00.000Z', data: {} };
  const call = (path: string, secret: string) => {
    const timestamp = Math.floor(Date.now() / 1000);
    const headers = {
      'webhook-id': 'evt_1',
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signWebhook([toWebhookKey(secret)], 'evt_1', timestamp, JSON.stringify(event)),
    };
    return post(receiver.url(path), event, { headers });
  };

  test('verifies signatures with the reference library, also when the secret is set later', async () => {
    const secret = generateWebhookSecret();
    expect(await call('/a', secret)).toBe(200);
    await receiver.setSecret('/a', secret);
    expect(await call('/a', secret)).toBe(200);
    expect(await call('/a', generateWebhookSecret())).toBe(401);
    expect((await receiver.calls('/a')).map(({ verified }) => verified)).toEqual([true, true, false]);
  });

  test('a path fails as often as its rule says', async () => {
    await receiver.setRule('/b', { failures: 1, status: 503 });
    expect([await call('/b', generateWebhookSecret()), await call('/b', generateWebhookSecret())]).toEqual([
      503, 200,
    ]);
  });
});
