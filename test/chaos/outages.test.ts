import { OperatorDesiredState } from '@gwk/core/desired-state/desired-state';
import type { ProblemBody } from '@gwk/core/problems/problems';
import { percentile } from '../bench/shared/statistics.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { testPhone } from '../support/gateway/traffic.js';
import { report } from '../support/gateway/check-traffic.js';
import { pause, realTime, until } from '../support/wait.js';

const SENDS = 20;
/** Limits hold for four of five samples: a busy machine may delay single ones. */
const MOST = 0.8;
/** Longer than the interval of an engine's idle claims, and far below the duration of a lease. */
const OUTAGE_MS = 8000;
/** Longer than a lease (45 s). */
const LONG_OUTAGE_MS = 50_000;
/** The status of an Instance tells the truth this long after the begin of an outage. */
const STATUS_MS = 60_000;

describe('during an outage', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage('outages', { ownPostgres: true, ownRedis: true });
  });
  afterAll(() => stage?.close());

  const send = (text: string, conversation = 1) =>
    stage.customer.client.sendText(stage.instance.id, testPhone(conversation), text);
  const timed = async <T>(work: () => Promise<T>): Promise<{ result: T; ms: number }> => {
    const started = performance.now();
    const result = await work();
    return { result, ms: Math.round(performance.now() - started) };
  };
  const sent = (id: string) => stage.customer.client.hasLeft(id);
  const outagesOfTheInstance = async () =>
    (await stage.customer.client.events({ type: 'instance.disconnected' })).length;

  /** Readiness of the engine. */
  const readiness = async () => {
    const { port } = stage.gateway.enginePorts().at(-1)!;
    const response = await fetch(`http://127.0.0.1:${port}/readyz`);
    return { code: response.status, ...((await response.json()) as object) };
  };
  const ready = (redis: string) => ({
    code: 200,
    status: 'ok',
    checks: { lease: 'ok', redis, connection: 'connected' },
  });

  /** Status and reason of a condition of the only Instance. */
  const condition = async (wanted: string) => {
    const { operatorPort, localToken: token } = stage.gateway.settings;
    const url = `http://127.0.0.1:${operatorPort}`;
    const [resource] = await new OperatorDesiredState({ url, token, timeoutMs: 10_000 }).list(null);
    const found = resource!.status!.conditions.find(({ type }) => type === wanted)!;
    return `${found.status}/${found.reason}`;
  };
  const apiReadiness = async () => {
    const response = await fetch(`${stage.gateway.urls[0]!}/readyz`);
    return { code: response.status, ...((await response.json()) as { checks: Record<string, string> }) };
  };

  test('without Redis: accepts sends within 500 ms, sends them within 10 s, serves reads and stays ready', async () => {
    const { client } = stage.customer;
    expect(await readiness()).toEqual(ready('ok'));
    await stage.gateway.redis.kill('SIGKILL');
    const lostAt = Date.now();
    const accepted = [];
    for (let index = 0; index < SENDS; index++)
      accepted.push(await timed(() => send(`without Redis ${index}`, index)));
    const read = await timed(() => client.instance(stage.instance.id));
    await stage.gateway.apis[0]!.ready();
    const started = Date.now();
    for (const { result } of accepted) {
      await until(() => sent(result.body.id), {
        what: 'the message leaves without Redis',
        timeoutMs: realTime(30_000),
      });
    }
    const left = Date.now() - started;
    // The engine reports the lost connection, and stays ready.
    expect(await readiness()).toEqual(ready('unreachable'));
    // The engine keeps its lease, so the status of the Instance stays true, and the API ready.
    await pause(lostAt + LONG_OUTAGE_MS - Date.now());
    expect([await condition('Ready'), await readiness()]).toEqual(['True/Ready', ready('unreachable')]);
    expect(await apiReadiness()).toMatchObject({
      code: 200,
      checks: { postgres: 'ok', redis: 'unreachable' },
    });
    await stage.gateway.redis.start();
    const taken = accepted.map(({ ms }) => ms);
    report('without Redis', {
      'slowest 202, ms': Math.max(...taken),
      'an instance with its live status, ms': read.ms,
      'all had left after, ms': left,
    });
    expect(accepted.map(({ result }) => result.status)).toEqual(accepted.map(() => 202));
    expect(percentile(taken, MOST)).toBeLessThan(realTime(500));
    expect(read.result.live ?? null).toBeNull();
    expect(left).toBeLessThan(realTime(10_000));

    // Notifications work again.
    await until(
      async () => {
        const { body } = await send('Redis is back');
        const { ms } = await timed(() => until(() => sent(body.id), { what: 'the message leaves' }));
        return ms < 1000;
      },
      { what: 'a message leaves within a second again', everyMs: 500 },
    );
  });

  test('without Postgres: refuses a send within 5 s, accepts it again later, and no engine closes its connection', async () => {
    const before = await outagesOfTheInstance();
    await stage.gateway.postgres.kill('SIGKILL');
    const refused = await timed(() => send('without Postgres'));
    await pause(OUTAGE_MS);
    await stage.gateway.postgres.start();
    const { client } = stage.customer;
    const repeated = await until(
      async () => {
        const answer = await client.sendText(
          stage.instance.id,
          testPhone(1),
          'without Postgres',
          'once more',
        );
        return answer.status === 202 && answer;
      },
      { what: 'the send is accepted again' },
    );
    await until(() => sent(repeated.body.id), { what: 'the message leaves' });
    report('without Postgres', { status: refused.result.status, 'after, ms': refused.ms });
    expect((refused.result.body as unknown as ProblemBody).type).toMatch(/\/problems\/internal-error$/);
    expect(refused.ms).toBeLessThan(realTime(5000));
    expect(await outagesOfTheInstance()).toBe(before);
  });

  test('without Postgres for a minute: the conditions say so, the API is not ready, and both return', async () => {
    expect(await condition('Ready')).toBe('True/Ready');
    await stage.gateway.postgres.kill('SIGKILL');
    const away = 'Unknown/APIUnavailable';
    await until(async () => (await condition('Ready')) === away, {
      what: 'Ready is Unknown',
      timeoutMs: realTime(STATUS_MS),
    });
    expect([await condition('EngineRunning'), await condition('Connected')]).toEqual([away, away]);
    expect(await condition('Accepted')).toMatch(/^True/);
    expect(await apiReadiness()).toMatchObject({ code: 503, checks: { postgres: 'unreachable' } });
    await stage.gateway.postgres.start();
    await until(async () => (await condition('Ready')) === 'True/Ready', {
      what: 'Ready is True again',
      timeoutMs: realTime(STATUS_MS),
    });
    expect((await apiReadiness()).code).toBe(200);
  });

  test('without the API: sends accepted messages when it is back, and no engine closes its connection', async () => {
    const before = await outagesOfTheInstance();
    const { body } = await send('just before');
    await stage.gateway.apis[0]!.kill('SIGSTOP');
    await pause(OUTAGE_MS);
    await stage.gateway.apis[0]!.kill('SIGCONT');
    await until(() => sent(body.id), { what: 'the message leaves' });
    expect(await outagesOfTheInstance()).toBe(before);
  });
});
