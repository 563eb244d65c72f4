import { setTimeout as sleep } from 'node:timers/promises';
import { fromPublicId } from '@gwk/core/ids';
import { networkEnvironment, openInstanceStage, type InstanceStage } from '../../support/instance/stage.js';
import { Path } from './proxy.js';
import { isRunning } from '../../support/processes.js';
import { redisUrl } from '../../support/servers/servers.js';
import { startSpareEngine } from '../spare-engine.js';
import { until } from '../../support/wait.js';

/** At no time do two engines speak for one number: what the network saw of each connection is the proof. */
/** An engine closes its socket a ninth of it before its end: a machine that stands still is not to take longer. */
const LEASE_MS = 18_000;
/** Sends are accepted faster than an engine can send them: what waits must have left within the test. */
const EVERY_MS = 25;
const api = { GWK_API_LEASE_MS: String(LEASE_MS), GWK_API_LEASE_RENEW_MS: '1000' };

let stage: InstanceStage;
/** Between engines and Redis. */
let toRedis: Path;
beforeEach(async () => {
  toRedis = await Path.to(redisUrl());
  const settings = { api: { ...api, GWK_API_ENGINE_REDIS_URL: withoutCredentials(toRedis.url(redisUrl())) } };
  stage = await openInstanceStage('one engine', { contacts: 4, gateway: { settings } });
});
afterEach(async () => {
  await stage?.close();
  await toRedis.close();
});

function withoutCredentials(address: string): string {
  const url = new URL(address);
  url.username = '';
  url.password = '';
  return url.toString();
}

const connections = async () => {
  const stanzas = await stage.network.stanzas({ number: stage.phone.number });
  return [...new Set(stanzas.map(({ connection }) => connection))];
};
/** What came from the client over this connection and counted. */
const heard = async (connection: string, after = 0) =>
  (await stage.network.stanzas({ number: stage.phone.number, way: 'in', after })).filter(
    (entry) => entry.connection === connection,
  );
const lastSeen = async () => (await stage.network.stanzas()).at(-1)?.seq ?? 0;

const sends = (text: string, to = 0) =>
  stage.customer.client.acceptedText(stage.id, stage.contacts[to]!.number, text);

/** Texts to everybody, as many as an engine sends meanwhile, until told to end; all of them. */
function traffic(name: string): { end: () => Promise<string[]> } {
  let over = false;
  const texts: string[] = [];
  const sending = (async () => {
    for (let n = 0; !over; n++) {
      await sends(`${name} ${n}`, n % stage.contacts.length);
      texts.push(`${name} ${n}`);
      await sleep(EVERY_MS);
    }
  })();
  return {
    end: async () => {
      over = true;
      await sending;
      return texts;
    },
  };
}

async function allReadOnce(texts: string[]): Promise<void> {
  for (const [n, text] of texts.entries())
    await stage.contacts[n % stage.contacts.length]!.receives({ text });
  const { fates, violations } = await stage.network.status();
  expect(fates).toMatchObject({ dropped: 0, unreadable: 0 });
  expect(violations).toEqual([]);
}

const spare = (pod: string, more: Record<string, string> = {}) =>
  startSpareEngine(stage.gateway, stage.id, pod, { ...networkEnvironment(stage.running, 'ENGINE'), ...more });

/** As if the operator were wrong about the end of the engine that has the number. */
async function takeAway(): Promise<void> {
  const operator = stage.gateway.operatorClient();
  const { pod } = await lease();
  await operator.call('engine-ended', { instance_id: fromPublicId('instance', stage.id)!, pod });
  operator.close();
}

test('a second engine with the same credentials: from its login on the network hears nothing of the first', async () => {
  const { gateway } = stage;
  const first = await gateway.engine();
  const [old] = (await connections()).slice(-1);
  await gateway.operator.kill('SIGSTOP');
  const running = traffic('two engines');
  await spare('second');
  await takeAway();
  await until(() => !isRunning(first.pid), { what: 'the first has ended' });
  const fresh = await until(async () => (await connections()).slice(-1).find((one) => one !== old), {
    what: 'the second is logged in',
  });
  const texts = await running.end();
  await allReadOnce(texts);
  const login = (await stage.network.stanzas({ number: stage.phone.number })).find(
    ({ connection }) => connection === fresh,
  )!;
  const later = (await heard(old!, login.seq)).filter(({ ignored }) => !ignored);
  expect(later).toEqual([]);
  await gateway.operator.kill('SIGCONT');
});

test('an engine that was stopped past its lease and goes on sends nothing more, and exits', async () => {
  const { gateway } = stage;
  const first = await gateway.engine();
  const [old] = (await connections()).slice(-1);
  await gateway.operator.kill('SIGSTOP');
  const running = traffic('a frozen engine');
  await until(async () => (await stage.contacts[0]!.inbox()).length > 2, { what: 'the first sends' });
  process.kill(first.pid, 'SIGSTOP');
  const frozen = await lastSeen();
  await spare('successor');
  await until(async () => (await connections()).length > 1 && (await connections()).at(-1) !== old, {
    what: 'the successor is logged in',
  });
  const texts = await running.end();
  await allReadOnce(texts);
  const woken = await lastSeen();
  process.kill(first.pid, 'SIGCONT');
  await until(() => !isRunning(first.pid), { what: 'the first has ended' });
  expect(woken).toBeGreaterThan(frozen);
  expect((await heard(old!, woken)).map(({ stanza }) => stanza.tag)).toEqual([]);
  await gateway.operator.kill('SIGCONT');
});

test('an engine whose path to the gateway is cut closes its socket before its lease ends, and comes back with the path', async () => {
  const { gateway } = stage;
  const first = await gateway.engine();
  await gateway.operator.kill('SIGSTOP');
  const toPort = await Path.to(gateway.internalUrls[0]!);
  const { program } = await spare('far away', {
    GWK_ENGINE_INTERNAL_URL: toPort.url(gateway.internalUrls[0]!),
  });
  await takeAway();
  await until(() => !isRunning(first.pid), { what: 'the first has ended' });
  await until(
    async () => (await stage.customer.client.instance(stage.id)).state === 'connected' && online(),
    {
      what: 'the one far away is connected',
    },
  );
  toPort.cut();
  toRedis.cut();
  await until(() => !online(), { what: 'its socket is closed' });
  // By its own clock: when this process, which is the network as well, came to see it says little.
  const closedAt = /"time":"([^"]+)"[^\n]*about to end unrenewed/.exec(program.log())![1]!;
  const { expiresAt, pod } = await lease();
  expect(pod).toBe('far away');
  expect(Date.parse(closedAt)).toBeLessThan(expiresAt.getTime());
  toPort.mend();
  toRedis.mend();
  await until(online, { what: 'it is connected again' });
  const { id } = await sends('here again');
  await stage.contacts[0]!.receives('here again');
  await until(async () => (await stage.customer.client.message(id)).status === 'delivered', {
    what: 'it is delivered',
  });
  await gateway.operator.kill('SIGCONT');
  await toPort.close();
});

const online = (): boolean =>
  [...stage.running.network.world.people.need(stage.phone.number).companions.values()].some(
    ({ active }) => active,
  );

async function lease(): Promise<{ pod: string; expiresAt: Date }> {
  const { Client } = (await import('pg')).default;
  const client = new Client(stage.gateway.settings.databaseUrl);
  await client.connect();
  try {
    const { rows } = await client.query<{ pod: string; expires_at: Date }>(
      'SELECT pod, expires_at FROM instance_leases WHERE instance_id = $1',
      [fromPublicId('instance', stage.id)],
    );
    return { pod: rows[0]!.pod, expiresAt: rows[0]!.expires_at };
  } finally {
    await client.end();
  }
}
