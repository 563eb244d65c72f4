import { readFileSync } from 'node:fs';
import { fromPublicId, newUuid } from '@gwk/core/ids';
import type { EngineRequest, EngineResponse } from '@gwk/core/protocol/engine';
import { EngineClient, InternalRefusal } from '@gwk/core/protocol/internal-client';
import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import type { InstanceOut } from '@gwk/core/resources/instance';
import { createClient, type RedisClientType } from 'redis';
import { GatewayClient } from './harness/client.js';
import { newCustomer, type Customer } from './harness/customer.js';
import { openStage, type Stage } from './harness/stage.js';
import { phoneOf } from './harness/traffic.js';

/**
 * What a stolen pod holds: its token, its lease and its Redis user. The thief is a pod of one instance; what it
 * reaches for belongs to another one of the same account, and to one of a stranger.
 */
describe('the credentials of one engine', () => {
  let stage: Stage;
  let stranger: Customer;
  let engine: EngineClient;
  let lease: { epoch: number; holder: string };
  let acquired: EngineResponse<'acquire'>;
  let redis: RedisClientType;
  let others: { name: string; client: GatewayClient; instance: InstanceOut }[];

  beforeAll(async () => {
    stage = await openStage('credentials');
    const { gateway, customer } = stage;
    stranger = await newCustomer(gateway, 'stranger');
    const sibling = await customer.client.connectedInstance('sibling');
    const foreign = await stranger.client.connectedInstance('foreign');
    others = [
      { name: 'a sibling', client: customer.client, instance: sibling },
      { name: 'a stranger', client: stranger.client, instance: foreign },
    ];
    await becomeThief();
  }, 120_000);
  afterAll(async () => {
    engine?.close();
    redis?.destroy();
    stranger?.close();
    await stage?.close();
  }, 60_000);

  async function becomeThief(): Promise<void> {
    const { gateway, instance } = stage;
    const operator = gateway.operatorClient();
    const instance_id = fromPublicId('instance', instance.id)!;
    // The engine of the instance is out of the way, and its operator does not notice.
    await gateway.operator.kill('SIGSTOP');
    const own = gateway
      .engines()
      .find(({ pid }) => readFileSync(`/proc/${pid}/environ`, 'utf8').includes(instance.id.slice(4)));
    const pods = await stagePod(own?.pid);
    process.kill(own!.pid, 'SIGKILL');
    await operator.call('engine-ended', { instance_id, pod: pods });
    const { token } = await operator.call('issue-token', { instance_id, pod: 'thief' });
    operator.close();
    engine = new EngineClient({ baseUrl: gateway.internalUrls[0]!, token, timeoutMs: 5000 });
    acquired = await engine.call('acquire', { pod: 'thief', version: 'test' });
    lease = { epoch: acquired.epoch, holder: acquired.holder };
    const { url, username, password } = acquired.redis;
    redis = createClient({
      url,
      username: username!,
      password: password!,
      socket: { reconnectStrategy: false },
    });
    redis.on('error', () => undefined);
    await redis.connect();
  }

  /** The environment of an engine's process. */
  const environmentOf = (pid: number) =>
    new Map(
      readFileSync(`/proc/${pid}/environ`, 'utf8')
        .split('\0')
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    );
  const stagePod = async (pid: number | undefined) => environmentOf(pid!).get('GWK_ENGINE_POD')!;

  const refusal = (promise: Promise<unknown>): Promise<string> =>
    promise.then(
      () => 'allowed',
      (error: unknown) => (error instanceof InternalRefusal ? error.refusal : String(error)),
    );
  const redisRefusal = (promise: Promise<unknown>): Promise<string> =>
    promise.then(
      () => 'allowed',
      (error: Error) => error.message.split(' ')[0]!,
    );
  const uuidOf = (instance: InstanceOut) => fromPublicId('instance', instance.id)!;

  test('an engine is given nothing but its token', () => {
    const { settings } = stage.gateway;
    const secrets = [settings.databaseUrl, settings.redisUrl, settings.sealingKeys, settings.operatorToken];
    for (const { pid } of stage.gateway.engines()) {
      const values = [...environmentOf(pid).values()];
      expect(values.filter((value) => [...secrets, settings.localToken].includes(value))).toEqual([]);
    }
    expect(acquired.redis.url).not.toContain(new URL(settings.redisUrl).password);
  });

  test('its token opens no route of the operator, of the public API, or of the cluster', async () => {
    const { gateway } = stage;
    const { token } = await (async () => {
      const operator = gateway.operatorClient();
      const issued = await operator.call('issue-token', {
        instance_id: uuidOf(stage.instance),
        pod: 'unused',
      });
      operator.close();
      return issued;
    })();
    const asOperator = new GatewayClient(gateway.internalUrls[0]!, token);
    const asConsumer = new GatewayClient(gateway.urls[0]!, token);
    const routes = ['project', 'remove', 'issue-token', 'engine-ended', 'observe'];
    const answers = await Promise.all([
      ...routes.map((route) => asOperator.call('POST', `/operator/${route}`, { body: {} })),
      asConsumer.call('GET', '/v1/instances'),
    ]);
    asOperator.close();
    asConsumer.close();
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 401));
  });

  test.each(['a sibling', 'a stranger'])('it reads and writes no row of %s', async (name) => {
    const { client, instance } = others.find((other) => other.name === name)!;
    const message = await client.acceptedText(instance.id, phoneOf(1), 'not yours');
    const theirs = fromPublicId('message', message.id)!;
    const before = await client.message(message.id);
    const failed = { code: 'internal' as const, message: null };
    const at = new Date().toISOString();
    await refusal(
      engine.call('outcomes', {
        ...lease,
        outcomes: [
          { kind: 'failed', message_id: theirs, at, error: failed },
          { kind: 'returned', message_id: theirs },
          { kind: 'receipt', wa_message_id: before.wa_message_id ?? 'none', status: 'read', at },
        ],
      }),
    );
    const built = await engine.call('built', {
      ...lease,
      messages: [{ message_id: theirs, built: Buffer.from('{}').toString('base64'), rendered_as: null }],
    });
    expect(built.stored).toEqual([]);

    const claims: EngineRequest<'claims'> = { ...lease, claim_id: newUuid(), limit: 100 };
    const { messages } = await engine.call('claims', claims);
    expect(messages.map(({ message_id }) => message_id)).not.toContain(theirs);
    const after = await client.message(message.id);
    expect(['queued', 'sending', 'sent', 'delivered', 'read']).toContain(after.status);
    expect(after.error).toBeNull();
  });

  test('what it writes into its session is found by no other, and it finds only its own', async () => {
    const value = Buffer.from('mine').toString('base64');
    await engine.call('session-write', { ...lease, entries: [{ type: 'theft', key: 'thief', value }] });
    const { entries } = await engine.call('session-read', {
      ...lease,
      wanted: [{ type: 'theft', keys: null }],
    });
    expect(entries).toEqual([{ type: 'theft', key: 'thief', value }]);
  });

  test('a lease that is not its own is refused on every route', async () => {
    const foreign = { epoch: lease.epoch, holder: newUuid() };
    const refused = await Promise.all([
      refusal(engine.call('renew', { ...foreign, connected: true })),
      refusal(engine.call('claims', { ...foreign, claim_id: newUuid(), limit: 1 })),
      refusal(engine.call('session-read', { ...foreign, wanted: [{ type: 'creds', keys: null }] })),
      refusal(engine.call('redis-user', foreign)),
      refusal(engine.call('release', foreign)),
    ]);
    expect(refused).toEqual(refused.map(() => 'fenced'));
  });

  test.each(['a sibling', 'a stranger'])(
    'its Redis user reaches no stream, key or channel of %s',
    async (name) => {
      const { instance } = others.find((other) => other.name === name)!;
      const keys = new RedisKeys(stage.gateway.settings.redisPrefix);
      const id = uuidOf(instance);
      const attempts: string[][] = [
        ['XADD', keys.sends(id), '*', 'm', newUuid()],
        ['XADD', keys.commands(id), '*', 'name', 'logout'],
        ['XREADGROUP', 'GROUP', 'engine', '1', 'COUNT', '1', 'STREAMS', keys.sends(id), '>'],
        ['XRANGE', keys.commands(id), '-', '+'],
        ['GET', keys.heartbeat(id)],
        ['SET', keys.heartbeat(id), 'x'],
        ['DEL', keys.sends(id)],
        ['PUBLISH', keys.replies(id, 'someone'), 'x'],
      ];
      const answers = await Promise.all(attempts.map((attempt) => redisRefusal(redis.sendCommand(attempt))));
      expect(answers).toEqual(attempts.map(() => 'NOPERM'));
    },
  );

  test('its Redis user can neither look around nor make others', async () => {
    const attempts = [
      ['KEYS', '*'],
      ['SCAN', '0'],
      ['FLUSHALL'],
      ['CONFIG', 'GET', '*'],
      ['ACL', 'LIST'],
      ['ACL', 'SETUSER', 'x', 'on'],
      ['CLIENT', 'LIST'],
      ['MONITOR'],
      ['EVAL', 'return 1', '0'],
    ];
    const answers = await Promise.all(attempts.map((attempt) => redisRefusal(redis.sendCommand(attempt))));
    expect(answers).toEqual(attempts.map(() => 'NOPERM'));
  });

  test('a newer pod revokes its token', async () => {
    const operator = stage.gateway.operatorClient();
    const instance_id = uuidOf(stage.instance);
    await operator.call('engine-ended', { instance_id, pod: 'thief' });
    const { token } = await operator.call('issue-token', { instance_id, pod: 'heir' });
    operator.close();
    const heir = new EngineClient({ baseUrl: stage.gateway.internalUrls[0]!, token, timeoutMs: 5000 });
    await heir.call('acquire', { pod: 'heir', version: 'test' });
    heir.close();
    const answers = [
      await refusal(engine.call('acquire', { pod: 'thief', version: 'test' })),
      await refusal(engine.call('claims', { ...lease, claim_id: newUuid(), limit: 1 })),
    ];
    await stage.gateway.operator.kill('SIGCONT');
    expect(answers).toEqual(['unauthorized', 'unauthorized']);
  });
});
