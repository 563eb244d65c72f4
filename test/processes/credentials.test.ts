import { fromPublicId, newUuid } from '@gwk/core/ids/ids';
import { EngineClient, InternalApiRefusal } from '@gwk/core/protocol/internal-client';
import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import type { InstanceOut } from '@gwk/api/resources/instance';
import { createClient, type RedisClientType } from 'redis';
import { GatewayClient } from '../support/gateway/client.js';
import { newCustomer, type Customer } from '../support/gateway/customer.js';
import { impersonateEngine, type Impersonation } from './impersonation.js';
import { readEnvironment } from '../support/processes.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { toChatId, testPhone } from '../support/gateway/traffic.js';
import { until } from '../support/wait.js';

/** A recipient whose messages a sandbox never marks as read. */
const NEVER_READ = '44770091110001';

/**
 * A stolen pod has its token, its lease and its Redis user. The thief is a pod of one instance. It tries to reach
 * another instance of the same account, and an instance of another account.
 */
describe('the credentials of one engine', () => {
  let stage: Stage;
  let stranger: Customer;
  let thief: Impersonation;
  let { engine, lease, acquired } = {} as Impersonation;
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
  });
  afterAll(async () => {
    thief?.close();
    redis?.destroy();
    stranger?.close();
    await stage?.close();
  });

  async function becomeThief(): Promise<void> {
    thief = await impersonateEngine(stage.gateway, stage.instance.id, 'thief');
    ({ engine, lease, acquired } = thief);
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

  const refusal = (promise: Promise<unknown>): Promise<string> =>
    promise.then(
      () => 'allowed',
      (error: unknown) => (error instanceof InternalApiRefusal ? error.refusal : String(error)),
    );
  const redisRefusal = (promise: Promise<unknown>): Promise<string> =>
    promise.then(
      () => 'allowed',
      (error: Error) => error.message.split(' ')[0]!,
    );
  const uuidOf = (instance: InstanceOut) => fromPublicId('instance', instance.id)!;

  test('an engine has no secret except its token', () => {
    const { settings } = stage.gateway;
    const secrets = [
      settings.databaseUrl,
      settings.redisUrl,
      settings.encryptionKeys,
      settings.operatorToken,
    ];
    for (const { pid } of stage.gateway.engines()) {
      const values = [...readEnvironment(pid).values()];
      expect(values.filter((value) => [...secrets, settings.localToken].includes(value))).toEqual([]);
    }
    expect(acquired.redis.url).not.toContain(new URL(settings.redisUrl).password);
  });

  test('its token is rejected by operator routes and by the public API', async () => {
    const { gateway } = stage;
    const { token } = thief;
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

  test.each(['a sibling', 'a stranger'])('it cannot read or write rows of %s', async (name) => {
    const { client, instance } = others.find((other) => other.name === name)!;
    const { id } = await client.acceptedText(instance.id, NEVER_READ, 'not yours');
    const before = await until(
      async () => {
        const message = await client.message(id);
        return message.status === 'delivered' && message;
      },
      { what: 'the message is delivered' },
    );
    const theirs = fromPublicId('message', id)!;
    const at = new Date().toISOString();
    await engine.call('outcomes', {
      ...lease,
      outcomes: [
        { kind: 'failed', message_id: theirs, at, error: { code: 'internal', message: null } },
        { kind: 'sent', message_id: theirs, at, rendered_as: 'text_menu' },
        { kind: 'returned', message_id: theirs, claim_id: newUuid() },
        { kind: 'receipt', wa_message_id: before.wa_message_id!, status: 'read', at },
      ],
    });
    const built = { message_id: theirs, built: Buffer.from('{}').toString('base64'), rendered_as: null };
    expect(await engine.call('built', { ...lease, messages: [built] })).toEqual({ stored: [] });
    expect(await client.message(id)).toEqual(before);
  });

  test.each(['a sibling', 'a stranger'])('it cannot claim queued messages of %s', async (name) => {
    const { client, instance } = others.find((other) => other.name === name)!;
    const chat = toChatId(testPhone(5));
    await stage.gateway.network.setRule({ hold: true }, chat);
    const accepted = [];
    for (const text of ['held', 'waits', 'waits too']) {
      accepted.push(await client.acceptedText(instance.id, testPhone(5), text));
    }
    const { id: waiting } = accepted[2]!;
    const isQueued = async () => (await client.message(waiting)).status === 'queued';
    await until(isQueued, { what: 'it waits behind the held one' });
    const claim = { number: 1, repeated: false, claim_id: newUuid(), limit: 100 };
    expect(await engine.call('claims', { ...lease, ...claim })).toEqual({ messages: [] });
    expect(await isQueued()).toBe(true);
    await stage.gateway.network.setRule({}, chat);
  });

  test('it reads and writes only its own session', async () => {
    const value = Buffer.from('mine').toString('base64');
    await engine.call('session-write', {
      ...lease,
      number: 1,
      entries: [{ type: 'theft', key: 'thief', value }],
    });
    const { entries } = await engine.call('session-read', {
      ...lease,
      wanted: [{ type: 'theft', keys: null }],
    });
    expect(entries).toEqual([{ type: 'theft', key: 'thief', value }]);
  });

  test('every route rejects a lease of another engine', async () => {
    const foreign = { epoch: lease.epoch, holder: newUuid() };
    const refused = await Promise.all([
      refusal(engine.call('renew', { ...foreign, connected: true })),
      refusal(
        engine.call('claims', { ...foreign, number: 1, repeated: false, claim_id: newUuid(), limit: 1 }),
      ),
      refusal(engine.call('session-read', { ...foreign, wanted: [{ type: 'creds', keys: null }] })),
      refusal(engine.call('redis-user', foreign)),
      refusal(engine.call('release', foreign)),
    ]);
    expect(refused).toEqual(refused.map(() => 'fenced'));
  });

  test.each(['a sibling', 'a stranger'])(
    'its Redis user cannot access a stream, key or channel of %s',
    async (name) => {
      const { instance } = others.find((other) => other.name === name)!;
      const keys = new RedisKeys(stage.gateway.settings.redisPrefix);
      const id = uuidOf(instance);
      const attempts: string[][] = [
        ['XADD', keys.sends(id), '*', 'm', newUuid()],
        ['XADD', keys.commands(id), '*', 'name', 'logout'],
        ['XREAD', 'STREAMS', keys.sends(id), '0'],
        ['XRANGE', keys.commands(id), '-', '+'],
        ['GET', keys.alive(id, 1)],
        ['INCRBY', keys.alive(id, 1), '1'],
        ['DEL', keys.sends(id)],
        ['PUBLISH', keys.replies(id, 'someone'), 'x'],
      ];
      const answers = await Promise.all(attempts.map((attempt) => redisRefusal(redis.sendCommand(attempt))));
      expect(answers).toEqual(attempts.map(() => 'NOPERM'));
    },
  );

  test('its Redis user can neither list keys nor create users', async () => {
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
    // The API closes the channel of a revoked token, perhaps during a call. Engines repeat such calls.
    const answerOf = async (call: () => Promise<unknown>): Promise<string> => {
      const answer = await refusal(call());
      return answer.includes('the connection closed') ? answerOf(call) : answer;
    };
    const claim = { ...lease, number: 2, repeated: false, claim_id: newUuid(), limit: 1 };
    const answers = [
      await answerOf(() => engine.call('acquire', { pod: 'thief', version: 'test' })),
      await answerOf(() => engine.call('claims', claim)),
    ];
    await stage.gateway.operator.kill('SIGCONT');
    expect(answers).toEqual(['unauthorized', 'unauthorized']);
  });
});
