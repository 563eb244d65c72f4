import type { ProblemBody } from '@gwk/core/problems';
import { percentile } from '../bench/shared/figures.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { phoneOf } from '../support/gateway/traffic.js';
import { report } from '../support/gateway/verdict.js';
import { pause, realTime, until } from '../support/wait.js';

const SENDS = 20;
/** What the gateway takes is what four of five take: a machine that stands still for a moment hits single ones. */
const MOST = 0.8;
/** Longer than an engine's idle claim takes to come round, and far below a lease. */
const AWAY_MS = 8000;

describe('while a part is away', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage('outages', { ownPostgres: true, ownRedis: true });
  });
  afterAll(() => stage?.close());

  const send = (text: string, conversation = 1) =>
    stage.customer.client.sendText(stage.instance.id, phoneOf(conversation), text);
  const timed = async <T>(work: () => Promise<T>): Promise<{ result: T; ms: number }> => {
    const started = performance.now();
    const result = await work();
    return { result, ms: Math.round(performance.now() - started) };
  };
  const sent = (id: string) => stage.customer.client.hasLeft(id);
  const outagesOfTheInstance = async () =>
    (await stage.customer.client.events({ type: 'instance.disconnected' })).length;

  /** What the engine says of itself. */
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

  test('Redis: sends are accepted within 500 ms and leave within 10 s, reads work, the API stays ready', async () => {
    const { client } = stage.customer;
    expect(await readiness()).toEqual(ready('ok'));
    await stage.gateway.redis.kill('SIGKILL');
    const accepted = [];
    for (let index = 0; index < SENDS; index++)
      accepted.push(await timed(() => send(`without Redis ${index}`, index)));
    const read = await timed(() => client.instance(stage.instance.id));
    await stage.gateway.apis[0]!.ready();
    const started = Date.now();
    for (const { result } of accepted) {
      await until(() => sent(result.body.id), {
        what: 'it leaves without Redis',
        timeoutMs: realTime(30_000),
      });
    }
    const left = Date.now() - started;
    // What it lives without is shown, and makes it no less ready.
    expect(await readiness()).toEqual(ready('unreachable'));
    await stage.gateway.redis.start();
    const taken = accepted.map(({ ms }) => ms);
    report('with Redis away', {
      'slowest 202, ms': Math.max(...taken),
      'an instance with its live status, ms': read.ms,
      'all had left after, ms': left,
    });
    expect(accepted.map(({ result }) => result.status)).toEqual(accepted.map(() => 202));
    expect(percentile(taken, MOST)).toBeLessThan(realTime(500));
    expect(read.result.live ?? null).toBeNull();
    expect(left).toBeLessThan(realTime(10_000));

    // The bell works again by itself.
    await until(
      async () => {
        const { body } = await send('Redis is back');
        const { ms } = await timed(() => until(() => sent(body.id), { what: 'it leaves' }));
        return ms < 1000;
      },
      { what: 'a message leaves within a second again', everyMs: 500 },
    );
  });

  test('Postgres: a send is refused within 5 s and may be repeated, and no engine closes its connection', async () => {
    const before = await outagesOfTheInstance();
    await stage.gateway.postgres.kill('SIGKILL');
    const refused = await timed(() => send('without Postgres'));
    await pause(AWAY_MS);
    await stage.gateway.postgres.start();
    const { client } = stage.customer;
    const repeated = await until(
      async () => {
        const answer = await client.sendText(stage.instance.id, phoneOf(1), 'without Postgres', 'once more');
        return answer.status === 202 && answer;
      },
      { what: 'it is accepted again' },
    );
    await until(() => sent(repeated.body.id), { what: 'it leaves' });
    report('with Postgres away', { status: refused.result.status, 'after, ms': refused.ms });
    expect((refused.result.body as unknown as ProblemBody).type).toMatch(/\/problems\/internal-error$/);
    expect(refused.ms).toBeLessThan(realTime(5000));
    expect(await outagesOfTheInstance()).toBe(before);
  });

  test('the API: what it had accepted leaves when it is back, and no engine closes its connection', async () => {
    const before = await outagesOfTheInstance();
    const { body } = await send('just before');
    await stage.gateway.apis[0]!.kill('SIGSTOP');
    await pause(AWAY_MS);
    await stage.gateway.apis[0]!.kill('SIGCONT');
    await until(() => sent(body.id), { what: 'it leaves' });
    expect(await outagesOfTheInstance()).toBe(before);
  });
});
