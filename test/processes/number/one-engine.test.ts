import { setTimeout as sleep } from 'node:timers/promises';
import { fromPublicId } from '@gwk/core/ids/ids';
import { networkEnvironment, openInstanceStage, type InstanceStage } from '../../support/instance/stage.js';
import { CuttableProxy } from './proxy.js';
import { isRunning } from '../../support/processes.js';
import { redisUrl } from '../../support/servers/servers.js';
import { startSpareEngine } from '../spare-engine.js';
import { until } from '../../support/wait.js';

/**
 * One phone number never has two engines at once. The stanzas that the network saw on each connection prove it. An
 * engine closes its socket a ninth of the lease before its end, which must exceed any stall of a busy machine.
 */
const LEASE_MS = 18_000;
/** Sends are accepted faster than the engine sends them. The backlog must drain within the test. */
const EVERY_MS = 25;
const api = { GWK_API_LEASE_MS: String(LEASE_MS), GWK_API_LEASE_RENEW_MS: '1000' };

let stage: InstanceStage;
/** Proxy between engines and Redis. */
let redisProxy: CuttableProxy;
beforeEach(async () => {
  redisProxy = await CuttableProxy.to(redisUrl());
  const settings = {
    api: { ...api, GWK_API_ENGINE_REDIS_URL: withoutCredentials(redisProxy.url(redisUrl())) },
  };
  stage = await openInstanceStage('one engine', { contacts: 4, gateway: { settings } });
});
afterEach(async () => {
  await stage?.close();
  await redisProxy.close();
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
/** Stanzas from the client on this connection. */
const stanzasOn = async (connection: string, after = 0) =>
  (await stage.network.stanzas({ number: stage.phone.number, way: 'in', after })).filter(
    (entry) => entry.connection === connection,
  );
const lastSeen = async () => (await stage.network.stanzas()).at(-1)?.seq ?? 0;

const sends = (text: string, to = 0) =>
  stage.customer.client.acceptedText(stage.id, stage.contacts[to]!.number, text);

/** Sends texts to all contacts until `end` is called, which returns the texts. */
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

async function expectAllReadOnce(texts: string[]): Promise<void> {
  for (const [n, text] of texts.entries())
    await stage.contacts[n % stage.contacts.length]!.receives({ text });
  const { fates, violations } = await stage.network.status();
  expect(fates).toMatchObject({ dropped: 0, unreadable: 0 });
  expect(violations).toEqual([]);
}

const spare = (pod: string, more: Record<string, string> = {}) =>
  startSpareEngine(stage.gateway, stage.id, pod, { ...networkEnvironment(stage.running, 'ENGINE'), ...more });

/** Makes the operator report, wrongly, that the engine with the lease has ended. */
async function takeOver(): Promise<void> {
  const operator = stage.gateway.operatorClient();
  const { pod } = await lease();
  await operator.call('engine-ended', { instance_id: fromPublicId('instance', stage.id)!, pod });
  operator.close();
}

test('from the login of a second engine on, the network receives nothing of the first', async () => {
  const { gateway } = stage;
  const first = await gateway.engine();
  const [old] = (await connections()).slice(-1);
  await gateway.operator.kill('SIGSTOP');
  const running = traffic('two engines');
  await spare('second');
  await takeOver();
  await until(() => !isRunning(first.pid), { what: 'the first engine has ended' });
  const fresh = await until(async () => (await connections()).slice(-1).find((one) => one !== old), {
    what: 'the second engine is logged in',
  });
  const texts = await running.end();
  await expectAllReadOnce(texts);
  const login = (await stage.network.stanzas({ number: stage.phone.number })).find(
    ({ connection }) => connection === fresh,
  )!;
  const later = (await stanzasOn(old!, login.seq)).filter(({ ignored }) => !ignored);
  expect(later).toEqual([]);
  await gateway.operator.kill('SIGCONT');
});

test('an engine paused past its lease sends nothing when it continues, and exits', async () => {
  const { gateway } = stage;
  const first = await gateway.engine();
  const [old] = (await connections()).slice(-1);
  await gateway.operator.kill('SIGSTOP');
  const running = traffic('a paused engine');
  await until(async () => (await stage.contacts[0]!.inbox()).length > 2, { what: 'the first engine sends' });
  process.kill(first.pid, 'SIGSTOP');
  const pausedAt = await lastSeen();
  await spare('successor');
  await until(async () => (await connections()).length > 1 && (await connections()).at(-1) !== old, {
    what: 'the successor is logged in',
  });
  const texts = await running.end();
  await expectAllReadOnce(texts);
  const continuedAt = await lastSeen();
  process.kill(first.pid, 'SIGCONT');
  await until(() => !isRunning(first.pid), { what: 'the first engine has ended' });
  expect(continuedAt).toBeGreaterThan(pausedAt);
  expect((await stanzasOn(old!, continuedAt)).map(({ stanza }) => stanza.tag)).toEqual([]);
  await gateway.operator.kill('SIGCONT');
});

test('an engine without a connection to the gateway closes its socket before its lease ends, and reconnects later', async () => {
  const { gateway } = stage;
  const first = await gateway.engine();
  await gateway.operator.kill('SIGSTOP');
  const apiProxy = await CuttableProxy.to(gateway.internalUrls[0]!);
  const { program } = await spare('remote', {
    GWK_ENGINE_INTERNAL_URL: apiProxy.url(gateway.internalUrls[0]!),
  });
  await takeOver();
  await until(() => !isRunning(first.pid), { what: 'the first engine has ended' });
  await until(
    async () => (await stage.customer.client.instance(stage.id)).state === 'connected' && online(),
    {
      what: 'the remote engine is connected',
    },
  );
  apiProxy.cut();
  redisProxy.cut();
  await until(() => !online(), { what: 'the socket is closed' });
  // Uses the time of the engine's log: this process is also the network, and may notice the close late.
  const closedAt = /"time":"([^"]+)"[^\n]*about to expire without renewal/.exec(program.log())![1]!;
  const { expiresAt, pod } = await lease();
  expect(pod).toBe('remote');
  expect(Date.parse(closedAt)).toBeLessThan(expiresAt.getTime());
  apiProxy.restore();
  redisProxy.restore();
  await until(online, { what: 'the engine is connected again' });
  const { id } = await sends('here again');
  await stage.contacts[0]!.receives('here again');
  await until(async () => (await stage.customer.client.message(id)).status === 'delivered', {
    what: 'the message is delivered',
  });
  await gateway.operator.kill('SIGCONT');
  await apiProxy.close();
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
