import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { find, listPodTemplates, MINIMAL_VALUES, render } from '../support/chart/render.js';
import { describeChart } from './suite.js';

const execute = promisify(execFile);
const READY = { '/readyz': 200, '/openapi.json': 200, '/v1/instances': 401 };

/** Runs the script of `helm test` against a local address, which answers each path with its status. */
async function runScript(
  statuses: (path: string, requests: number) => number,
  { listensAfterMs = 0, seconds }: { listensAfterMs?: number; seconds?: string } = {},
): Promise<string> {
  const objects = render(MINIMAL_VALUES);
  const { name } = find(objects, 'Pod', 'helm-test-gwk').metadata;
  const { args } = listPodTemplates(objects).get(`Pod/${name}`)!.spec.containers[0]!;
  const [script, , limit] = args as string[];
  let requests = 0;
  const server = createServer((request, response) => {
    response.statusCode = statuses(request.url!, ++requests);
    response.end('why');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  let timer: NodeJS.Timeout | undefined;
  if (listensAfterMs > 0) {
    server.close();
    await once(server, 'close');
    timer = setTimeout(() => server.listen(port, '127.0.0.1'), listensAfterMs);
  }
  try {
    const options = ['--input-type=module', '-e', script!, `http://127.0.0.1:${port}`, seconds ?? limit!];
    return (await execute(process.execPath, options)).stdout;
  } finally {
    clearTimeout(timer);
    server.close();
  }
}

const answer = (path: string): number => READY[path as keyof typeof READY] ?? 404;

describeChart('helm test', () => {
  test('the API answers as an installation should', async () => {
    expect(await runScript(answer)).toBe('/readyz 200\n/openapi.json 200\n/v1/instances 401\n');
  });

  test('an address that is not routed yet is asked again', async () => {
    const said = await runScript(answer, { listensAfterMs: 1200 });
    expect(said).toMatch(/^\/readyz 503 .*ECONNREFUSED/);
    expect(said).toMatch(/\/v1\/instances 401\n$/);
  });

  test('503 of a mesh is asked again', async () => {
    const said = await runScript((path, requests) => (requests === 1 ? 503 : answer(path)));
    expect(said).toBe('/readyz 503 why\n/readyz 200\n/openapi.json 200\n/v1/instances 401\n');
  });

  test.each([
    [
      'an API that stays unready',
      (path: string) => (path === '/readyz' ? 503 : answer(path)),
      '/readyz answered 503, not 200: why',
    ],
    [
      'an API without keys',
      (path: string) => (path === '/v1/instances' ? 200 : answer(path)),
      '/v1/instances answered 200, not 401: why',
    ],
  ])('%s fails', async (_, statuses, said) => {
    await expect(runScript(statuses, { seconds: '1' })).rejects.toThrow(said);
  });

  test('an address where nothing listens fails', async () => {
    await expect(runScript(answer, { listensAfterMs: 60_000, seconds: '1' })).rejects.toThrow('ECONNREFUSED');
  });
});
