import { once } from 'node:events';
import { createServer } from 'node:net';
import { pickPort } from '@gwk/test/support/ports';
import { findPortConflicts } from './ports.js';
import { loadLocalConfig } from './settings.js';

async function freeConfig(): Promise<Record<string, string>> {
  const names = ['API', 'INTERNAL', 'WORKER', 'OPERATOR', 'POSTGRES', 'REDIS'];
  const entries = names.map(async (name) => [`GWK_LOCAL_${name}_PORT`, String(await pickPort())] as const);
  return Object.fromEntries(await Promise.all(entries));
}

test('reports no conflict for free ports', async () => {
  expect(await findPortConflicts(loadLocalConfig(await freeConfig()), 0)).toBeUndefined();
});

test('reports a port in use with the setting to change', async () => {
  const env = await freeConfig();
  const other = createServer().listen(Number(env['GWK_LOCAL_WORKER_PORT']), '0.0.0.0');
  await once(other, 'listening');
  try {
    const conflicts = await findPortConflicts(loadLocalConfig(env), 0);
    expect(conflicts).toContain(`port ${env['GWK_LOCAL_WORKER_PORT']} is in use`);
    expect(conflicts).toContain('GWK_LOCAL_WORKER_PORT=');
    expect(conflicts?.split('\n')).toHaveLength(1);
  } finally {
    other.close();
  }
});

test('waits for a port that another run releases', async () => {
  const env = await freeConfig();
  const other = createServer().listen(Number(env['GWK_LOCAL_API_PORT']), '127.0.0.1');
  await once(other, 'listening');
  let waits = 0;
  const release = async () => {
    waits += 1;
    if (other.listening) await once(other.close(), 'close');
  };
  expect(await findPortConflicts(loadLocalConfig(env), Infinity, release)).toBeUndefined();
  expect(waits).toBe(1);
});

test('ignores ports of external servers, and reports duplicates', async () => {
  const env = await freeConfig();
  const same = { ...env, GWK_LOCAL_REDIS_PORT: env['GWK_LOCAL_API_PORT']! };
  expect(await findPortConflicts(loadLocalConfig(same), 0)).toContain('change GWK_LOCAL_REDIS_PORT');
  const external = { ...same, REDIS_URL: 'redis://somewhere' };
  expect(await findPortConflicts(loadLocalConfig(external), 0)).toBeUndefined();
});
