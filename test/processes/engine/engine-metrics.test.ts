import { randomUUID } from 'node:crypto';
import { toPublicId } from '@gwk/core/ids/public-ids';
import { INSTANCE_STATES, type InstanceState } from '@gwk/core/states';
import { Exposition } from '../../support/exposition.js';
import { Phones } from '../../support/gateway/phones.js';
import { redisPrefix, redisUrl } from '../../support/servers/servers.js';
import { toRedisAddress } from '../../support/engine/addresses.js';
import { until, type EngineProcess } from '../../support/engine/engine-process.js';
import { realTime } from '../../support/wait.js';
import { Stage } from '../../support/engine/stage.js';

/** The metrics and probes that an engine serves as a process. */
let stage: Stage;
let phones: Phones;
beforeEach(async () => {
  phones = new Phones();
  stage = await Stage.open(toRedisAddress(redisUrl()), redisPrefix(), { renewMs: 400, beside: phones });
});
afterEach(() => stage.close());

const instance_id = () => toPublicId('instance', stage.api.instanceId);
const scrape = ({ port }: EngineProcess) => Exposition.of(port);
const ends = async (engine: EngineProcess) => {
  const { samples } = await scrape(engine);
  const counted = samples.filter(({ name }) => name === 'gwk_engine_disconnections_total');
  return Object.fromEntries(counted.map(({ labels, value }) => [labels['reason']!, value] as const));
};
async function expectState(engine: EngineProcess, state: InstanceState): Promise<void> {
  const seen = await scrape(engine);
  const shown = INSTANCE_STATES.filter((each) =>
    seen.value('gwk_instance_state', { instance_id: instance_id(), state: each }),
  );
  expect(shown).toEqual([state]);
  const connected = seen.value('gwk_instance_connected', { instance_id: instance_id() });
  expect(connected).toBe(state === 'connected' ? 1 : 0);
}

test.each([
  [{ kind: 'ban', code: '402', expires_at: null } as const, 'banned', 'banned'],
  [{ kind: 'unlink', reason: 'device_removed' } as const, 'logged_out', 'logged_out'],
])(
  'an instance that the network reports as %o is in that state only, and counts its end by it',
  async (event, state, reason) => {
    const engine = await stage.start();
    await expectState(engine, 'connected');
    phones.do(stage.api.instanceId, event);
    await until(state, () => stage.states.some((counted) => counted.startsWith(state)));
    await expectState(engine, state as InstanceState);
    expect(await ends(engine)).toEqual({ [reason]: 1 });
  },
);

test('counts a dropped connection by its reason', async () => {
  const engine = await stage.start();
  phones.do(stage.api.instanceId, { kind: 'drop', reason: 'connection_lost' });
  await until('it is dropped', () => stage.states.includes('disconnected: connection_lost'));
  expect(await ends(engine)).toEqual({ connection_lost: 1 });
});

test('counts a refused pairing by its reason, although the state stays', async () => {
  stage.api.state = 'pending_pair';
  stage.api.pairing = { session: randomUUID(), method: 'qr', phone: null };
  const engine = stage.launch();
  await until('a code is shown', () => stage.api.of('pairing').length === 1);
  phones.do(stage.api.instanceId, { kind: 'refuse', reason: 'certificate_rejected' });
  await until('it has failed', () => stage.api.of('pairing').length === 2);
  expect(await ends(engine)).toEqual({ certificate_rejected: 1 });
  await expectState(engine, 'pending_pair');
});

test('names the instance in no series with GWK_ENGINE_METRICS_INSTANCE=off', async () => {
  const engine = await stage.start({ environment: { GWK_ENGINE_METRICS_INSTANCE: 'off' } });
  const seen = await scrape(engine);
  expect(seen.value('gwk_instance_connected')).toBe(1);
  expect(seen.value('gwk_instance_state', { state: 'connected' })).toBe(1);
  expect(seen.samples.filter(({ labels }) => 'instance_id' in labels)).toEqual([]);
});

describe('readiness', () => {
  const readyz = async ({ port }: EngineProcess) => {
    const response = await fetch(`http://127.0.0.1:${port}/readyz`);
    return [response.status, ((await response.json()) as { checks: unknown }).checks];
  };

  test('fails without a lease, and passes with one, reporting optional checks', async () => {
    let held = true;
    stage.api.fault = ({ route }) => (route === 'acquire' && held ? 'lease-held' : 'answer');
    const engine = stage.launch();
    await until('it waits for the lease', () => stage.api.of('acquire').length > 0);
    expect(await readyz(engine)).toEqual([503, { lease: 'not-held' }]);
    held = false;
    await until('it is connected', () => stage.states.includes('connected'));
    await until('Redis is there', async () => JSON.stringify(await readyz(engine)).includes('"redis":"ok"'));
    expect(await readyz(engine)).toEqual([200, { lease: 'ok', redis: 'ok', connection: 'connected' }]);
  });

  test('fails once the lease is no longer confirmed', async () => {
    await stage.close();
    stage = await Stage.open(toRedisAddress(redisUrl()), redisPrefix(), {
      leaseMs: realTime(2_700),
      renewMs: 400,
    });
    const engine = await stage.start();
    stage.api.fault = ({ route }) => (route === 'renew' ? 'hang' : 'answer');
    await until('it is red', async () => (await readyz(engine))[0] === 503);
    expect((await readyz(engine))[1]).toMatchObject({ lease: 'not-held' });
  });
});
