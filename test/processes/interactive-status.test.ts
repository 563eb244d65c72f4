import { join } from 'node:path';
import type { InstanceOut } from '@gwk/api/resources/instance';
import type { InteractiveStatusOut } from '@gwk/api/resources/interactive-status';
import { RENDERINGS } from '@gwk/core/states';
import pg from 'pg';
import { newCustomer, type Customer } from '../support/gateway/customer.js';
import { Gateway } from '../support/gateway/gateway.js';
import { workerEnvironment } from '../support/gateway/gateway-settings.js';
import { pickPort } from '../support/ports.js';
import { GWK, Program } from '../support/program.js';
import { realTime, until } from '../support/wait.js';

/** The monitor of interactive formats on real processes: a worker with two sandboxes in its settings. */
let gateway: Gateway;
let customer: Customer;
let to: InstanceOut;
let database: pg.Client;

beforeAll(async () => {
  gateway = await Gateway.start();
  customer = await newCustomer(gateway, 'status');
  const { client } = customer;
  const [from, other] = await Promise.all([client.connectedInstance('from'), client.connectedInstance('to')]);
  to = other;
  const env = {
    ...workerEnvironment(gateway.settings, await pickPort()),
    GWK_WORKER_MONITOR_FROM: from.id,
    GWK_WORKER_MONITOR_TO: to.id,
    GWK_WORKER_MONITOR_EVERY_MINUTES: '10',
  };
  const monitor = new Program({
    name: 'monitor',
    args: [GWK, 'worker'],
    env,
    logFile: join(gateway.folder, 'monitor.log'),
    ready: () => Promise.resolve(true),
    supervised: false,
  });
  database = new pg.Client({ connectionString: gateway.settings.databaseUrl });
  await database.connect();
  // Formats that were never checked have no monitor entry.
  expect((await status()).formats.map(({ monitor: seen }) => seen)).toEqual(RENDERINGS.map(() => undefined));
  await monitor.start();
  gateway.guests.push(monitor);
});
afterAll(async () => {
  await database?.end();
  customer?.close();
  await gateway?.stop();
});

/** Requests the status without a key. */
async function status(): Promise<InteractiveStatusOut> {
  const answer = await fetch(`${gateway.urls[0]!}/v1/status/interactive`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('ratelimit-limit')).not.toBeNull();
  return (await answer.json()) as InteractiveStatusOut;
}

/** Waits until each format has that many finished runs. */
const finishedRuns = (runs: number): Promise<InteractiveStatusOut> =>
  until(
    async () => {
      const seen = await status();
      const over = seen.formats.every(
        ({ monitor }) => monitor?.runs_30d === runs && monitor.result !== 'pending',
      );
      return over && seen;
    },
    { what: `${runs} runs of every format are finished`, everyMs: 500 },
  );

const ageChecks = () =>
  database.query(`UPDATE format_checks SET started_at = started_at - interval '11 minutes'`);

test('sends each format and records the result', async () => {
  const first = await finishedRuns(1);
  expect(first.formats.map(({ format }) => format)).toEqual(RENDERINGS);
  for (const { monitor } of first.formats) {
    expect(monitor).toMatchObject({ result: 'ok', success_rate_30d: 1, runs_30d: 1 });
    expect(Math.abs(Date.parse(monitor!.checked_at!) - Date.now())).toBeLessThan(realTime(60_000));
  }

  await gateway.network.setRule({ code: 'wa_error' }, `${to.jid!.split(/[:@]/)[0]}@s.whatsapp.net`);
  await ageChecks();
  const second = await finishedRuns(2);
  for (const { monitor } of second.formats)
    expect(monitor).toMatchObject({ result: 'failed', success_rate_30d: 0.5, runs_30d: 2 });
});

test('sets and replaces the status seen on devices by CLI', async () => {
  const set = (seen: string, ...more: string[]) =>
    gateway.gwk(
      'interactive-status',
      'set',
      '--format',
      'legacy_list',
      '--device',
      'iphone',
      '--status',
      seen,
      ...more,
    );
  await set('broken', '--note', 'a lista não abre');
  const shown = async () => (await status()).formats.find(({ format }) => format === 'legacy_list')!.devices;
  expect(await shown()).toMatchObject({
    android: null,
    iphone: { status: 'broken', note: 'a lista não abre' },
    web: null,
  });
  await set('works');
  expect((await shown()).iphone).toMatchObject({ status: 'works', note: null });
  await expect(set('perfect')).rejects.toThrow('--status is one of works, partial, broken, unknown');
});
