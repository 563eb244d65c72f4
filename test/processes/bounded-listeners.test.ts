import { once } from 'node:events';
import { startHealthListener } from '@gwk/api/probes/probes';
import { MAX_HEALTH_CONNECTIONS } from '@gwk/core/http/listener-limits';
import { createLogger } from '@gwk/core/process/log';
import { startProbeListener } from '@gwk/core/http/probes';
import { listen } from '@gwk/operator/http/server';
import { Crowd } from '../support/gateway/crowd.js';
import { createInternalApiWorld } from '../support/api/internal-api.js';
import { realTime, until } from '../support/wait.js';

/**
 * Listeners other than the public one, with many open connections: their number is bounded, and other clients are
 * served.
 */
const crowds: Crowd[] = [];
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const crowd of crowds.splice(0)) crowd.end();
  for (const close of closers.splice(0)) await close();
});

const MORE = 50;
const HALF = 'GET /livez HTTP/1.1\r\nHost: gwk\r\n';

const HEALTH: [program: string, start: () => Promise<number>][] = [
  [
    'API and worker',
    async () => {
      const options = { db: {}, redis: {}, media: {}, registry: null, draining: () => false };
      const listener = await startHealthListener({ host: '127.0.0.1', port: 0 }, options as never);
      closers.push(() => listener.close());
      return listener.port;
    },
  ],
  [
    'engine',
    async () => {
      const readiness = () => ({ ready: true, checks: {} });
      const listener = await startProbeListener({ host: '127.0.0.1', port: 0 }, { readiness });
      closers.push(() => listener.close());
      return listener.port;
    },
  ],
  [
    'operator',
    async () => {
      const log = createLogger('operator', 'fatal');
      const answer = ({ response }: { response: { end: () => void } }) => {
        response.end();
        return true;
      };
      const listener = await listen({ host: '127.0.0.1', port: 0 }, [answer], log);
      closers.push(() => listener.close());
      return listener.port;
    },
  ],
];

test.each(HEALTH)('open connections to the health port of the %s do not block probes', async (_, start) => {
  const url = `http://127.0.0.1:${await start()}`;
  const crowd = Crowd.to(url);
  crowds.push(crowd);
  await crowd.open(MAX_HEALTH_CONNECTIONS + MORE, HALF);
  await until(() => crowd.closed >= MORE, {
    what: 'connections beyond the limit are closed',
    timeoutMs: realTime(5_000),
  });
  expect(crowd.standing).toBeLessThanOrEqual(MAX_HEALTH_CONNECTIONS);
  const answer = await fetch(`${url}/livez`, { signal: AbortSignal.timeout(realTime(5_000)) });
  expect(answer.status).toBe(200);
});

test('idle connections to the internal API do not block engines', async () => {
  const internalApi = await createInternalApiWorld({ config: { internalMaxConnections: 20 } });
  closers.push(() => internalApi.close());
  const crowd = Crowd.to(internalApi.url);
  crowds.push(crowd);
  const kept = await crowd.open(18);
  for (const socket of kept) socket.write('GET / HTTP/1.1\r\nHost: gwk\r\n\r\n');
  await Promise.all(kept.map((socket) => once(socket, 'data')));
  await crowd.open(MORE);
  await until(() => crowd.closed >= MORE - 2, {
    what: 'connections beyond the limit are closed',
    timeoutMs: realTime(5_000),
  });
  expect(crowd.standing).toBeLessThanOrEqual(20);
  await until(async () => (await internalApi.addEngine()) !== undefined, {
    what: 'other clients are served',
  });
});
