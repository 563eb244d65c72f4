import { makeServerCertificate } from '@gwk/operator/secrets/certificate';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Crowd } from '../support/gateway/crowd.js';
import { apiEnvironment } from '../support/gateway/gateway-settings.js';
import { pickPort } from '../support/ports.js';
import { GWK, Program } from '../support/program.js';
import { newCustomer } from '../support/gateway/customer.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { testPhone } from '../support/gateway/traffic.js';
import { report } from '../support/gateway/check-traffic.js';
import { openStream } from '../support/sse.js';
import { realTime, until } from '../support/wait.js';

/** `make crowd` opens 10,000. */
const IDLE = Number(process.env['CROWD_CONNECTIONS'] ?? 1_000);
const STREAMS = 1_000;
const STREAMS_OF_A_KEY = 40;
const MB_OF_STREAMS = 100;
const SLOW = 100;
/**
 * Headers and handshakes have a timeout of 10 s, JSON bodies 20 s, whole requests on other ports 60 s. A busy
 * machine checks late.
 */
const CLOSED_WITHIN_MS = 90_000;
/** An answer takes milliseconds, and the rest of the request has 2 s. The public API answers 20 s after a body is due. */
const ANSWERED_WITHIN_MS = 30_000;
/** The API may grow by KB_EACH per connection, and by MB_MORE for serving others meanwhile. */
const KB_EACH = 40;
const MB_MORE = 120;

describe('listeners with many open connections', () => {
  let stage: Stage;
  let metricsPort: number;
  beforeAll(async () => {
    metricsPort = await pickPort();
    stage = await openStage('crowd', { settings: { api: { GWK_API_METRICS_PORT: String(metricsPort) } } });
  });
  afterAll(() => stage?.close());

  const inCrowd = async (address: string, work: (crowd: Crowd) => Promise<void>): Promise<void> => {
    const crowd = Crowd.to(address);
    try {
      await work(crowd);
    } finally {
      crowd.end();
    }
  };
  const api = (): string => stage.gateway.urls[0]!;
  const at = (port: string | number): string => `http://127.0.0.1:${port}`;
  const internal = (): string => stage.gateway.internalUrls[0]!;
  const megabytes = () => {
    const status = readFileSync(`/proc/${stage.gateway.apis[0]!.pid!}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)![1]) / 1024;
  };
  const served = async (times: number): Promise<number> => {
    const took: number[] = [];
    for (let i = 0; i < times; i++) {
      const began = performance.now();
      const { id } = await stage.customer.client.acceptedText(
        stage.instance.id,
        testPhone(i),
        `in a crowd ${i}`,
      );
      expect((await stage.customer.client.message(id)).id).toBe(id);
      took.push(performance.now() - began);
    }
    return took.sort((a, b) => a - b)[Math.floor(times / 2)]!;
  };

  test(`serves others beside ${IDLE} idle connections, within the memory limit per connection`, async () => {
    const alone = await served(20);
    const before = megabytes();
    await inCrowd(api(), async (crowd) => {
      // Half of them received a response and keep their connection, like load balancers.
      const kept = Math.ceil(IDLE / 2);
      await crowd.open(kept, 'GET /livez HTTP/1.1\r\nHost: gwk\r\n\r\n');
      await crowd.open(IDLE - kept);
      const crowded = await served(20);
      const grown = megabytes() - before;
      report(`with ${IDLE} idle connections`, {
        'median of a send and a read, alone, ms': Math.round(alone),
        'the same beside them, ms': Math.round(crowded),
        'the API has grown by, MB': Math.round(grown),
      });
      expect(grown).toBeLessThan((IDLE * KB_EACH) / 1024 + MB_MORE);
      // The API closes connections that never sent a byte.
      await until(() => crowd.closed >= IDLE - kept, {
        what: 'idle connections are closed',
        timeoutMs: realTime(CLOSED_WITHIN_MS),
      });
    });
  });

  test(`serves others beside ${STREAMS} event streams, within their memory limit`, async () => {
    const alone = await served(20);
    const before = megabytes();
    await inCrowd(api(), async (crowd) => {
      for (let opened = 0; opened < STREAMS; opened += STREAMS_OF_A_KEY) {
        // Those of the first key receive the events of the sends.
        const reader = opened === 0 ? stage.customer : await newCustomer(stage.gateway, `reader ${opened}`);
        const request = `GET /v1/events/stream HTTP/1.1\r\nHost: gwk\r\nAuthorization: Bearer ${reader.key.api_key}\r\n\r\n`;
        await crowd.open(STREAMS_OF_A_KEY, request);
        if (opened > 0) reader.close();
      }
      const watched = openStream(`${api()}/v1/events/stream`, stage.customer.key.api_key);
      await until(() => watched.state.lastId, { what: 'a stream among them begins' });
      const crowded = await served(20);
      await until(() => watched.events.filter(({ event }) => event === 'message.sent').length >= 20, {
        what: 'its events arrive',
      });
      watched.close();
      const grown = megabytes() - before;
      report(`with ${STREAMS} event streams`, {
        'median of a send and a read, alone, ms': Math.round(alone),
        'the same beside them, ms': Math.round(crowded),
        'the API has grown by, MB': Math.round(grown),
      });
      expect(crowd.closed).toBe(0);
      expect(grown).toBeLessThan(MB_OF_STREAMS);
      expect(crowded).toBeLessThan(realTime(500));
    });
  });

  type Case = [name: string, work: () => Promise<void>];
  const HEADERS = 'POST /v1/messages HTTP/1.1\r\nHost: gwk\r\n';
  const bodyOf = (key: string) =>
    `${HEADERS}Authorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{`;
  const internalBody = (): string =>
    `POST /operator/project HTTP/1.1\r\nHost: gwk\r\nAuthorization: Bearer ${stage.gateway.settings.operatorToken}\r\n` +
    'Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{';
  type Trickle = [
    port: string,
    what: string,
    address: () => string,
    first: () => string,
    piece: string,
    answer: RegExp,
  ];
  const TOO_SLOW = /^$|^HTTP\/1\.1 408 /;
  const headersAt = (port: string, address: () => string): Trickle => [
    port,
    'headers',
    address,
    () => HEADERS,
    'X-More: a\r\n',
    TOO_SLOW,
  ];
  const TRICKLES: Trickle[] = [
    ['public', 'headers', () => api(), () => HEADERS, 'X-More: a\r\n', /^HTTP\/1\.1 (4\d\d)/],
    ['public', 'bodies', () => api(), () => bodyOf(stage.customer.key.api_key), ' ', /^HTTP\/1\.1 422/],
    headersAt('internal', internal),
    ['internal', 'bodies', internal, internalBody, ' ', TOO_SLOW],
    headersAt("API's metrics", () => at(metricsPort)),
    headersAt("worker's", () => at(stage.gateway.workers[0]!.options.env['GWK_WORKER_PORT']!)),
    headersAt("operator's", () => at(stage.gateway.settings.operatorPort)),
    headersAt("engine's", () => at(stage.gateway.enginePorts()[0]!.port)),
  ];
  const testTrickle = ([port, what, address, first, piece, answer]: Trickle): Case => [
    `the ${port} port closes connections whose ${what} trickle in, and serves others`,
    () =>
      inCrowd(address(), async (crowd) => {
        crowd.trickle(await crowd.open(SLOW, first()), piece, 500);
        expect(await served(3)).toBeGreaterThan(0);
        await until(() => crowd.closed >= SLOW, {
          what: 'they are closed',
          timeoutMs: realTime(CLOSED_WITHIN_MS),
        });
        for (const said of crowd.answers) expect(said).toMatch(answer);
        expect((await fetch(new URL('/livez', address()))).status).toBeLessThan(500);
      }),
  ];

  const ANNOUNCED = [1, 1_000, 65_536, 100_000];
  type Listener = [port: string, address: () => string];
  const LISTENERS: Listener[] = [
    ['public', api],
    ['internal', internal],
    ["API's metrics", () => at(metricsPort)],
    ["worker's", () => at(stage.gateway.workers[0]!.options.env['GWK_WORKER_PORT']!)],
    ["operator's", () => at(stage.gateway.settings.operatorPort)],
    ["engine's", () => at(stage.gateway.enginePorts()[0]!.port)],
  ];
  const testLateBody = ([port, address]: Listener): Case => [
    `the ${port} port closes connections whose body trickles in after the answer`,
    () =>
      inCrowd(address(), async (crowd) => {
        for (const request of ['GET /livez', 'POST /v1/opt-outs', 'POST /nowhere']) {
          for (const bytes of ANNOUNCED) {
            const head = `${request} HTTP/1.1\r\nHost: gwk\r\nContent-Length: ${bytes}\r\n\r\n`;
            const some = await crowd.open(5, head);
            // The last byte never comes.
            if (bytes > 1) crowd.trickle(some, ' ', 500);
          }
        }
        await until(() => crowd.standing === 0, {
          what: 'they are closed',
          timeoutMs: realTime(ANSWERED_WITHIN_MS),
        });
        for (const said of crowd.answers) expect(said).toMatch(/^HTTP\/1\.1 [2-5]\d\d /);
      }),
  ];

  const post = (line: string, ...headers: string[]): string =>
    [`POST /v1/opt-outs ${line}`, 'Host: gwk', ...headers, '', ''].join('\r\n');
  const ODD: [what: string, first: string, piece: string][] = [
    ['an expected 100 and no body', post('HTTP/1.1', 'Expect: 100-continue', 'Content-Length: 10'), ''],
    ['trailers', `${post('HTTP/1.1', 'Transfer-Encoding: chunked')}1\r\n \r\n0\r\n`, 'X-More: a\r\n'],
    ['an extension of a chunk', `${post('HTTP/1.1', 'Transfer-Encoding: chunked')}1;`, 'a'],
    ['a body of HTTP/1.0', post('HTTP/1.0', 'Content-Length: 1000'), ' '],
    [
      'a pipelined body',
      post('HTTP/1.1', 'Content-Length: 0') + post('HTTP/1.1', 'Content-Length: 1000'),
      ' ',
    ],
    [
      'a body of an upgrade',
      post('HTTP/1.1', 'Connection: Upgrade', 'Upgrade: websocket', 'Content-Length: 1000'),
      ' ',
    ],
  ];
  const testUnusual = ([port, address]: Listener): Case => [
    `the ${port} port closes connections whose unusual request trickles in`,
    async () => {
      const closeAll = ODD.map(([what, first, piece]) =>
        inCrowd(address(), async (crowd) => {
          const some = await crowd.open(3, first);
          if (piece !== '') crowd.trickle(some, piece, 500);
          for (const socket of await crowd.open(2, first)) socket.end();
          await until(() => crowd.standing === 0, {
            what: `those with ${what} are closed`,
            timeoutMs: realTime(ANSWERED_WITHIN_MS),
          });
        }),
      );
      await Promise.all(closeAll);
    },
  ];

  const testHandshake = async (): Promise<void> => {
    const { gateway } = stage;
    const file = (name: string) => join(gateway.folder, name);
    const { cert, key } = await makeServerCertificate(['localhost']);
    writeFileSync(file('crowd.crt'), cert);
    writeFileSync(file('crowd.key'), key);
    const ports = { port: await pickPort(), internalPort: await pickPort() };
    const program = new Program({
      name: 'api-tls',
      args: [GWK, 'api'],
      env: {
        ...apiEnvironment(gateway.settings, ports),
        GWK_API_INTERNAL_TLS_CERT_FILE: file('crowd.crt'),
        GWK_API_INTERNAL_TLS_KEY_FILE: file('crowd.key'),
      },
      logFile: file('api-tls.log'),
      ready: async () => (await fetch(`${at(ports.port)}/readyz`)).ok,
    });
    gateway.guests.push(program);
    await program.start();
    await inCrowd(at(ports.internalPort), async (crowd) => {
      await crowd.open(SLOW);
      await until(() => crowd.closed >= SLOW, {
        what: 'they are closed',
        timeoutMs: realTime(CLOSED_WITHIN_MS),
      });
      expect(crowd.answers.join('')).toBe('');
    });
    await program.stop();
  };

  describe('timeouts', () => {
    const cases: Case[] = [
      ...TRICKLES.map(testTrickle),
      ...LISTENERS.map(testLateBody),
      ...LISTENERS.map(testUnusual),
      ['the internal API with TLS closes connections that start no handshake', testHandshake],
    ];
    let running: Promise<void>[];
    beforeAll(() => {
      // All at once: each waits for a timeout of 2 to 60 s.
      running = cases.map(([, work]) => work());
      for (const one of running) one.catch(() => undefined);
    });
    afterAll(() => Promise.allSettled(running ?? []));

    test.each(cases.map(([name], index) => ({ name, index })))('$name', ({ index }) => running[index]);
  });

  test('answers 300 pipelined requests of one connection in order', async () => {
    const { api_key } = stage.customer.key;
    const one = (i: number) =>
      `GET /v1/instances HTTP/1.1\r\nHost: gwk\r\nAuthorization: Bearer ${api_key}\r\nX-Request-ID: r${i}\r\n\r\n`;
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(api()).port) });
    let said = '';
    socket.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const count = 300;
    socket.write(Array.from({ length: count }, (_, i) => one(i)).join(''));
    expect(await served(3)).toBeGreaterThan(0);
    const ids = () => [...said.matchAll(/^x-request-id: (r\d+)/gim)].map(([, id]) => id);
    await until(() => ids().length === count, { what: 'all are answered' });
    socket.destroy();
    expect(ids()).toEqual(Array.from({ length: count }, (_, i) => `r${i}`));
    expect(said.match(/HTTP\/1\.1 200/g)).toHaveLength(count);
  });

  test('accepts 300 short headers and rejects 3,000', async () => {
    const headers = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-many-${i}`, 'a']));
    expect((await fetch(new URL('/livez', api()), { headers: headers(300) })).status).toBe(200);
    expect((await fetch(new URL('/livez', api()), { headers: headers(3_000) })).status).toBe(413);
  });
});
