import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { prometheusLiveness, livenessQuery } from './prometheus-liveness.js';
import type { Suspect } from './liveness-source.js';

// A real Prometheus runs the query itself (test/monitoring/availability.test.ts).

const NOW = Date.parse('2026-05-04T12:00:00Z');
const suspect = (secondsAgo = 60): Suspect => ({
  instanceId: newUuid(),
  epoch: 1,
  renewedAt: new Date(NOW - secondsAgo * 1000),
});

describe('the query', () => {
  test.each<[string, Suspect[], string]>([
    ['covers the time since the oldest renewal and one more minute', [suspect(20), suspect(60)], '[120s:2s]'],
    ['covers at most one hour, in a hundred steps', [suspect(86_400)], '[3600s:36s]'],
  ])('%s', (_label, suspects, window) => {
    expect(livenessQuery(suspects, NOW)).toContain(window);
  });

  test('names a few instances, and selects all instead of many', () => {
    const [one, two] = [suspect(), suspect()];
    const names = [one, two].map(({ instanceId }) => toPublicId('instance', instanceId)).join('|');
    expect(livenessQuery([one, two], NOW)).toContain(`gwk_instance_connected{instance_id=~"${names}"}`);
    const many = Array.from({ length: 201 }, () => suspect());
    expect(livenessQuery(many, NOW)).toContain('gwk_instance_connected{instance_id!=""}');
  });
});

describe('the answer', () => {
  let server: Server;
  let base: string;
  let answer: { status: number; body: string; headers?: Record<string, string> };
  const requests: { url: string | undefined; headers: IncomingHttpHeaders }[] = [];
  beforeAll(async () => {
    server = createServer((request, response) => {
      requests.push({ url: request.url, headers: request.headers });
      request.resume().on('end', () => response.writeHead(answer.status, answer.headers).end(answer.body));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    base = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const vector = (...result: unknown[]) =>
    JSON.stringify({ status: 'success', data: { resultType: 'vector', result } });
  const sample = (instanceId: string, sign: string, value: string) => ({
    metric: { instance_id: toPublicId('instance', instanceId), sign },
    value: [NOW / 1000, value],
  });

  test('is read as times; the address may have a path and credentials', async () => {
    const [connected, alive] = [suspect(), suspect()];
    answer = {
      status: 200,
      body: vector(
        sample(connected.instanceId, 'connected', '1777896001.5'),
        sample(connected.instanceId, 'alive', '1777896003'),
        sample(alive.instanceId, 'alive', '1777896004'),
        { metric: { instance_id: 'somebody', sign: 'alive' }, value: [1, '1'] },
        { metric: { sign: 'alive' }, value: [1, '1'] },
      ),
    };
    const liveness = await prometheusLiveness(`http://us%20er:pass@${base}/prometheus`).read([
      connected,
      alive,
    ]);
    expect(Object.fromEntries(liveness)).toEqual({
      [connected.instanceId]: { alive: new Date(1_777_896_003_000), connected: new Date(1_777_896_001_500) },
      [alive.instanceId]: { alive: new Date(1_777_896_004_000), connected: null },
    });
    const authorization = `Basic ${Buffer.from('us er:pass').toString('base64')}`;
    expect(requests.at(-1)).toMatchObject({ url: '/prometheus/api/v1/query', headers: { authorization } });
  });

  test.each([
    ['a server error', { status: 503, body: '' }],
    ['a rejected query', { status: 400, body: '{"status":"error","errorType":"bad_data"}' }],
    ['something other than JSON', { status: 200, body: '<html>' }],
    ['another result type', { status: 200, body: '{"status":"success","data":{"resultType":"matrix"}}' }],
    ['a redirect', { status: 302, body: '', headers: { location: 'http://127.0.0.1:1/' } }],
  ])('is an error if it is %s', async (_label, given) => {
    answer = given;
    await expect(prometheusLiveness(`http://${base}`).read([suspect()])).rejects.toThrow();
  });

  test('is not requested without suspects', async () => {
    const before = requests.length;
    expect((await prometheusLiveness(`http://${base}`).read([])).size).toBe(0);
    expect(requests.length).toBe(before);
  });
});
