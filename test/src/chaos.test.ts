import { createClient } from 'redis';
import type { InstanceOut } from '@gwk/core/resources/instance';
import { newCustomer, type Customer } from './harness/customer.js';
import { Gateway } from './harness/gateway.js';
import { Receiver } from './harness/receiver.js';
import { sendTraffic } from './harness/traffic.js';
import { judge, report, settle, type Witnesses } from './harness/verdict.js';
import { pause, until } from './harness/wait.js';

const CONVERSATIONS = 20;
const PER_CONVERSATION = 50;
const PER_SECOND = 40;
const PATH = '/all';

describe('every part killed in the midst of 1,000 sends', () => {
  let gateway: Gateway;
  let customer: Customer;
  let receiver: Receiver;
  let instance: InstanceOut;
  let endpointId: string;

  beforeAll(async () => {
    receiver = await Receiver.start();
    gateway = await Gateway.start({ apis: 2, workers: 1, ownPostgres: true, ownRedis: true });
    customer = await newCustomer(gateway, 'chaos');
    const endpoint = await customer.client.createWebhook(receiver.url(PATH));
    endpointId = endpoint.id;
    await receiver.setSecret(PATH, endpoint.secret!);
    instance = await customer.client.connectedInstance('chaos');
  }, 120_000);

  afterAll(async () => {
    customer?.close();
    await gateway?.stop();
    await receiver?.stop();
  }, 60_000);

  const killEngine = async () => {
    const { pid } = await gateway.engine();
    process.kill(pid, 'SIGKILL');
    await until(() => gateway.engines().some((engine) => engine.pid !== pid), { what: 'a new engine runs' });
  };

  const loseRedis = async () => {
    const redis = createClient({ url: gateway.redis.url });
    redis.on('error', () => undefined);
    await redis.connect();
    await redis.flushAll();
    redis.destroy();
    await gateway.redis.kill('SIGKILL');
    await pause(1000); // how long Redis is away
    await gateway.redis.start();
  };

  const killPostgres = async () => {
    await gateway.postgres.kill('SIGKILL');
    await pause(1000); // how long Postgres is away
    await gateway.postgres.start();
  };

  /** By how many messages have been accepted. */
  const kills: [number, string, () => Promise<void>][] = [
    [100, 'engine', killEngine],
    [230, 'worker', () => gateway.workers[0]!.kill('SIGKILL')],
    [360, 'API that engines use', () => gateway.apis[0]!.kill('SIGKILL')],
    [490, 'other API', () => gateway.apis[1]!.kill('SIGKILL')],
    [620, 'Redis, with its data', loseRedis],
    [750, 'Postgres', killPostgres],
    [880, 'operator, and with it the engine', () => gateway.operator.kill('SIGKILL')],
  ];

  test('every accepted message leaves once and in order, and every event is delivered', async () => {
    const done: Promise<void>[] = [];
    const killed: string[] = [];
    const started = Date.now();
    const traffic = await sendTraffic({
      clients: customer.clients,
      instanceId: instance.id,
      name: 'chaos',
      conversations: CONVERSATIONS,
      perConversation: PER_CONVERSATION,
      perSecond: PER_SECOND,
      onAccepted: (count) => {
        for (const [at, part, kill] of kills) {
          if (at !== count) continue;
          killed.push(part);
          done.push(kill());
        }
      },
    });
    const accepted = Date.now();
    await Promise.all(done);
    await gateway.ready();

    const witnesses: Witnesses = {
      client: customer.client,
      instanceId: instance.id,
      network: gateway.network,
      receiver,
      path: PATH,
    };
    await settle(witnesses, endpointId);
    const { sums, faults } = await judge(traffic, witnesses);
    report(`killed in turn: ${killed.join('; ')}`, {
      ...sums,
      'seconds to accept all': (accepted - started) / 1000,
      'seconds until all had settled': (Date.now() - accepted) / 1000,
    });

    expect(faults).toEqual([]);
    expect(killed).toEqual(kills.map(([, part]) => part));
    expect(sums['left']).toBe(CONVERSATIONS * PER_CONVERSATION);
    expect(sums['ids on the network']).toBe(CONVERSATIONS * PER_CONVERSATION);
  }, 240_000);
});
