import { once } from 'node:events';
import { createServer } from 'node:net';
import { pickPort } from '@gwk/test/support/ports';
import { portFaults } from './ports.js';
import { loadLocalConfig } from './settings.js';

async function freeConfig(): Promise<Record<string, string>> {
  const names = ['API', 'INTERNAL', 'WORKER', 'OPERATOR', 'POSTGRES', 'REDIS'];
  const entries = names.map(async (name) => [`GWK_LOCAL_${name}_PORT`, String(await pickPort())] as const);
  return Object.fromEntries(await Promise.all(entries));
}

test('ports that are free are no fault', async () => {
  expect(await portFaults(loadLocalConfig(await freeConfig()), 0)).toBeUndefined();
});

test('one that is taken is named, with the setting to change', async () => {
  const env = await freeConfig();
  const other = createServer().listen(Number(env['GWK_LOCAL_WORKER_PORT']), '0.0.0.0');
  await once(other, 'listening');
  try {
    const faults = await portFaults(loadLocalConfig(env), 0);
    expect(faults).toContain(`port ${env['GWK_LOCAL_WORKER_PORT']} is taken`);
    expect(faults).toContain('GWK_LOCAL_WORKER_PORT=');
    expect(faults?.split('\n')).toHaveLength(1);
  } finally {
    other.close();
  }
});

test('one that another run is about to leave is waited for', async () => {
  const env = await freeConfig();
  const other = createServer().listen(Number(env['GWK_LOCAL_API_PORT']), '127.0.0.1');
  await once(other, 'listening');
  let waits = 0;
  const leave = async () => {
    waits += 1;
    if (other.listening) await once(other.close(), 'close');
  };
  expect(await portFaults(loadLocalConfig(env), Infinity, leave)).toBeUndefined();
  expect(waits).toBe(1);
});

test('of servers that are not started here do not matter; one named twice does', async () => {
  const env = await freeConfig();
  const same = { ...env, GWK_LOCAL_REDIS_PORT: env['GWK_LOCAL_API_PORT']! };
  expect(await portFaults(loadLocalConfig(same), 0)).toContain('change GWK_LOCAL_REDIS_PORT');
  const external = { ...same, REDIS_URL: 'redis://somewhere' };
  expect(await portFaults(loadLocalConfig(external), 0)).toBeUndefined();
});
