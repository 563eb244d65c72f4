import type { MessageOut } from '@gwk/core/resources/message';
import { percentile } from '../bench/shared/statistics.js';
import { floodConversation } from './flood.js';
import { isRunning, residentMemory } from '../support/processes.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { toChatId, testPhone, sendTraffic } from '../support/gateway/traffic.js';
import { report } from '../support/gateway/check-traffic.js';
import { realTime, until } from '../support/wait.js';

const SLOW = testPhone(900);
const FULL = testPhone(901);
const OTHER = testPhone(902);
const MEGABYTE = 1024 * 1024;
/** Limits hold for four of five samples: a busy machine may delay single ones. */
const MOST = 0.8;

describe('conversations side by side', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage('conversations');
  });
  afterAll(() => stage?.close());

  const send = (phone: string, text: string) =>
    stage.customer.client.acceptedText(stage.instance.id, phone, text);

  /** Milliseconds from the post to the arrival at the network, for messages sent one after the other. */
  async function latencies(phone: string, name: string, count: number): Promise<number[]> {
    const taken: number[] = [];
    let seen = await stage.gateway.network.count();
    for (let index = 0; index < count; index++) {
      const text = `${name} ${index}`;
      const started = Date.now();
      await send(phone, text);
      const stanza = await until(
        async () => {
          const stanzas = await stage.gateway.network.stanzas(seen);
          return stanzas.find((item) => item.text === text);
        },
        { what: `"${text}" arrives`, timeoutMs: realTime(20_000) },
      );
      taken.push(stanza.at - started);
      seen = stanza.n;
    }
    return taken.sort((a, b) => a - b);
  }

  test('a slow conversation does not delay others', async () => {
    // The network holds these messages until the others are sent.
    await stage.gateway.network.setRule({ hold: true }, toChatId(SLOW));
    const slow: MessageOut[] = [];
    for (let index = 0; index < 3; index++) slow.push(await send(SLOW, `slow ${index}`));
    const taken = await latencies(OTHER, 'beside the slow', 10);
    report('beside a conversation without answers', { 'slowest of the others, ms': taken.at(-1)! });
    expect(percentile(taken, MOST)).toBeLessThan(realTime(1000));
    // The engine claimed it behind the first one and returns it, since that one is late.
    await until(async () => (await stage.customer.client.message(slow[2]!.id)).status === 'queued', {
      what: 'the last slow message is returned to the queue',
    });
    await stage.gateway.network.setRule({}, toChatId(SLOW));
    await until(async () => (await stage.customer.client.message(slow[2]!.id)).status === 'read', {
      what: 'the slow conversation is read',
    });
  });

  test('a conversation with 50,000 queued messages delays others by less than 1 s and costs the engine less than 10 MB', async () => {
    const { gateway, customer, instance } = stage;
    const { pid } = await gateway.engine();
    const warmUp = {
      clients: customer.clients,
      instanceId: instance.id,
      conversations: 20,
      perConversation: 15,
    };
    for (const name of ['warm 1', 'warm 2']) await sendTraffic({ ...warmUp, name });
    const alone = await latencies(OTHER, 'alone', 40);
    const before = residentMemory(pid);

    const copies = async () => {
      const stanzas = await gateway.network.stanzas();
      return stanzas.filter(({ text }) => text === 'one of 50,000').length;
    };
    await gateway.network.setRule({ hold: true }, toChatId(FULL));
    await send(FULL, 'leaving');
    const { id } = await send(FULL, 'one of 50,000');
    await floodConversation(gateway, id, 50_000);
    await gateway.network.setRule({}, toChatId(FULL));
    await until(async () => (await copies()) > 2, { what: 'the full conversation starts sending' });
    const beside = await latencies(OTHER, 'beside the full', 40);
    const growth = residentMemory(pid) - before;
    const left = await copies();
    report('beside a conversation with 50,000 queued', {
      'slowest alone, ms': alone.at(-1)!,
      'slowest beside it, ms': beside.at(-1)!,
      'engine memory grew by, MB': (growth / MEGABYTE).toFixed(1),
      'sent by the full one meanwhile': left,
    });
    expect(left).toBeGreaterThan(10);
    expect(left).toBeLessThan(50_000);
    expect(percentile(beside, MOST) - percentile(alone, MOST)).toBeLessThan(realTime(1000));
    expect(growth).toBeLessThan(10 * MEGABYTE);
  });
});

const EXPIRES_SOON = { GWK_WORKER_EXPIRE_AFTER_MS: '3000' };

/**
 * A message may wait 3 s instead of 15 minutes while its instance is offline. At 700 messages per minute the last
 * of 1,000 messages wait several times that limit, so counting any part of the pacing wait as offline time fails
 * the test. The lease (10 s) is shorter than that wait, so an engine that stops renewing while it paces fails it too.
 */
describe('1,000 paced messages with a limit of 3 s instead of 15 minutes', () => {
  const PER_MINUTE = 700;
  const COUNT = 1000;
  let stage: Stage;
  beforeAll(async () => {
    const api = { GWK_API_LEASE_MS: '10000', GWK_API_LEASE_RENEW_MS: '400' };
    stage = await openStage('pacing', { settings: { api, worker: EXPIRES_SOON } });
    const policy = { messages_per_minute: PER_MINUTE };
    await stage.customer.client.expect(200, 'PATCH', `/v1/instances/${stage.instance.id}`, {
      body: { policy },
    });
  });
  afterAll(() => stage?.close());

  test('expires no message that waits for pacing', async () => {
    const { client } = stage.customer;
    const started = Date.now();
    const conversations = 20;
    await sendTraffic({
      clients: [client],
      instanceId: stage.instance.id,
      name: 'paced',
      conversations,
      perConversation: COUNT / conversations,
    });
    const accepted = Date.now();
    const waiting = () => Promise.all(['queued', 'sending'].map((status) => client.anyMessage({ status })));
    await until(async () => !(await waiting()).includes(true), {
      what: 'no message is queued',
      everyMs: 500,
    });
    const messages = await client.messages({ instance_id: stage.instance.id });
    const failed = messages.filter(({ status }) => status === 'failed');
    const longest = Math.max(...messages.map((m) => Date.parse(m.sent_at!) - Date.parse(m.created_at)));
    report('1,000 paced messages', {
      'accepted in, s': (accepted - started) / 1000,
      'longest wait, s': longest / 1000,
      failed: failed.length,
    });
    expect(messages.length).toBe(COUNT);
    expect(failed).toEqual([]);
    expect(longest).toBeGreaterThan(2 * 3000);
  });
});

describe('the same limit of 3 s with a lease of 2 s', () => {
  let stage: Stage;
  beforeAll(async () => {
    const api = { GWK_API_LEASE_MS: '2000', GWK_API_LEASE_RENEW_MS: '400' };
    stage = await openStage('expiring', { settings: { api, worker: EXPIRES_SOON } });
  });
  afterAll(() => stage?.close());

  test('expires a message after 3 s when the engine is down', async () => {
    const { client } = stage.customer;
    const { operator } = stage.gateway;
    const { pid } = await stage.gateway.engine();
    await operator.kill('SIGSTOP');
    try {
      process.kill(pid, 'SIGKILL');
      await until(() => !isRunning(pid), { what: 'the engine has ended' });
      const { id } = await client.acceptedText(stage.instance.id, OTHER, 'too late');
      const message = await until(
        async () => {
          const found = await client.message(id);
          return found.status === 'failed' && found;
        },
        { what: 'the message fails', timeoutMs: realTime(30_000) },
      );
      const waited = Date.parse(message.failed_at!) - Date.parse(message.created_at);
      report('with the engine down', { 'expired after, s': waited / 1000 });
      expect(message.error?.code).toBe('expired');
      expect(waited).toBeGreaterThanOrEqual(3000);
    } finally {
      await operator.kill('SIGCONT');
    }
  });
});
