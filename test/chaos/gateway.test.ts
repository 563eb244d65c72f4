import { fromPublicId } from '@gwk/core/ids/ids';
import { createClient } from 'redis';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { sendTraffic } from '../support/gateway/traffic.js';
import { checkTraffic, report, settle } from '../support/gateway/check-traffic.js';
import { pause, until } from '../support/wait.js';
import { readEvents, writeEvents } from './events-forward.js';

const CONVERSATIONS = 20;
const PER_CONVERSATION = 50;
const PER_SECOND = 40;
/** How long a store is unavailable. */
const OUTAGE_MS = 1000;

describe('every part killed during 1,000 sends', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage('chaos', { apis: 2, ownPostgres: true, ownRedis: true });
  });
  afterAll(() => stage?.close());

  const killEngine = async () => {
    const { pid } = await stage.gateway.engine();
    process.kill(pid, 'SIGKILL');
    await until(() => stage.gateway.engines().some((engine) => engine.pid !== pid), {
      what: 'a new engine runs',
    });
  };

  const loseRedis = async () => {
    const redis = createClient({ url: stage.gateway.redis.url });
    redis.on('error', () => undefined);
    await redis.connect();
    await redis.flushAll();
    redis.destroy();
    await stage.gateway.redis.kill('SIGKILL');
    await pause(OUTAGE_MS);
    await stage.gateway.redis.start();
  };

  const killPostgres = async () => {
    await stage.gateway.postgres.kill('SIGKILL');
    await pause(OUTAGE_MS);
    await stage.gateway.postgres.start();
  };

  /** Kills a part once this many messages have been accepted. */
  const kills: [number, string, () => Promise<void>][] = [
    [100, 'engine', killEngine],
    [230, 'worker', () => stage.gateway.workers[0]!.kill('SIGKILL')],
    [360, 'API that engines use', () => stage.gateway.apis[0]!.kill('SIGKILL')],
    [490, 'other API', () => stage.gateway.apis[1]!.kill('SIGKILL')],
    [620, 'Redis and its data', loseRedis],
    [750, 'Postgres', killPostgres],
    [880, 'operator and the engine', () => stage.gateway.operator.kill('SIGKILL')],
  ];

  test('sends every accepted message once and in order, and delivers every event', async () => {
    const done: Promise<void>[] = [];
    const killed: string[] = [];
    const started = Date.now();
    const traffic = await sendTraffic({
      clients: stage.customer.clients,
      instanceId: stage.instance.id,
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
    await stage.gateway.ready();
    await settle(stage.witnesses);
    const { sums, faults } = await checkTraffic(traffic, stage.witnesses);
    report(`killed in turn: ${killed.join('; ')}`, {
      ...sums,
      'seconds to accept all': (accepted - started) / 1000,
      'seconds until all had settled': (Date.now() - accepted) / 1000,
    });

    expect(faults).toEqual([]);
    expect(killed).toEqual(kills.map(([, part]) => part));
    expect(sums['left']).toBe(CONVERSATIONS * PER_CONVERSATION);
    expect(sums['ids on the network']).toBe(CONVERSATIONS * PER_CONVERSATION);
  });

  test('events of overlapping transactions are all read forward while each API is killed', async () => {
    const { clients, client } = stage.customer;
    const [source] = await client.events({ instance_id: stage.instance.id });
    const { next_cursor: after } = await client.expect<{ next_cursor: string }>(
      200,
      'GET',
      '/v1/events?after=now',
    );
    const writing = writeEvents({
      databaseUrl: stage.gateway.settings.databaseUrl,
      source: fromPublicId('event', source!.id)!,
      ...{ writers: 20, transactions: 20, events: 50 },
    });
    const kills = [2_000, 5_000, 8_000, 11_000, 14_000];
    const pending = [...kills];
    const counts = await readEvents({
      clients,
      after,
      last: writing.then((ids) => ids.at(-1)!),
      onRead: (count) => {
        if (!(count >= pending[0]!)) return;
        pending.shift();
        void stage.gateway.apis[pending.length % 2]!.kill('SIGKILL');
      },
    });
    const written = await writing;
    report('events read forward', {
      written: written.length,
      'read more than once': [...counts.values()].filter((count) => count > 1).length,
      'APIs killed': kills.length - pending.length,
    });

    expect(written).toHaveLength(20_001);
    expect(written.filter((id) => !counts.has(id))).toEqual([]);
    expect(pending).toEqual([]);
  });
});
