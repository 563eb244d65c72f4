import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { GWK } from '../support/program.js';

test('an engine logs an uncaught error as one line', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const env = {
    PATH: process.env['PATH'],
    GWK_ENGINE_INTERNAL_URL: 'http://127.0.0.1:1',
    GWK_ENGINE_TOKEN: 'a-token',
    GWK_ENGINE_POD: 'pod-1',
    GWK_ENGINE_HOST: '127.0.0.1',
    GWK_ENGINE_PORT: String((taken.address() as AddressInfo).port),
  };
  const engine = spawn(process.execPath, [GWK, 'engine'], { env });
  const [out, err] = await Promise.all([text(engine.stdout), text(engine.stderr), once(engine, 'exit')]);
  taken.close();
  expect([engine.exitCode, err]).toEqual([1, '']);
  expect(JSON.parse(out)).toMatchObject({ level: 'fatal', program: 'engine', err: { code: 'EADDRINUSE' } });
});
