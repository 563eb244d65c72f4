import { spawn } from 'node:child_process';
import { newUuid } from '@gwk/core/ids/ids';
import { GWK } from '../../support/program.js';

test('gwk api reports all invalid settings and exits with 2', async () => {
  const { PATH = '' } = process.env;
  const env = { PATH, DATABASE_URL: 'mysql://x', GWK_API_PROT: '1', REDIS_URL: newUuid() };
  const child = spawn(process.execPath, [GWK, 'api'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let error = '';
  child.stderr.on('data', (chunk: Buffer) => (error += chunk.toString()));
  expect(await new Promise((resolve) => child.on('close', resolve))).toBe(2);
  for (const fault of [
    'DATABASE_URL',
    'REDIS_URL',
    'GWK_ENCRYPTION_KEYS is not set',
    'did you mean GWK_API_PORT',
  ]) {
    expect(error).toContain(fault);
  }
});
