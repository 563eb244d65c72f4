import { request as httpRequest } from 'node:http';
import type { MessageOut } from '@gwk/core/resources/message';
import type { InstanceOut } from '@gwk/api/resources/instance';
import { ENGINE_ROUTES, type EngineRoute } from '@gwk/core/protocol/engine';
import { RawChannel } from '../support/api/raw-channel.js';
import { report } from '../support/gateway/check-traffic.js';
import { newCustomer, type Customer } from '../support/gateway/customer.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { testPhone } from '../support/gateway/traffic.js';
import { residentMemory } from '../support/processes.js';
import { pause, realTime } from '../support/wait.js';
import { impersonateEngine, type Impersonation } from '../processes/impersonation.js';

const MB = 1024 * 1024;
/** `SECONDS=60` for a measurement. */
const SECONDS = Number(process.env['SECONDS'] ?? 5);
const MAX_GROWTH = 0.25;
const MAX_P99_MS = 500;
const CONNECTIONS = 24;
/** 250 sends in 5 s: of a hundred, the 99th percentile would be the slowest one. */
const SEND_EVERY_MS = 20;

/** Without those that end the lease. */
const ROUTES = (Object.keys(ENGINE_ROUTES) as EngineRoute[]).filter(
  (route) => route !== 'acquire' && route !== 'release',
);
const WARM_UP = 5;

let stage: Stage;
let thief: Customer;
let engine: Impersonation;
let stolen: InstanceOut;
beforeAll(async () => {
  stage = await openStage('compromised');
  thief = await newCustomer(stage.gateway, 'thief');
  stolen = await thief.client.connectedInstance('thief');
  // The operator stays stopped, so nobody starts the engine again.
  engine = await impersonateEngine(stage.gateway, stolen.id, 'thief');
});
afterAll(async () => {
  engine?.close();
  await stage?.gateway.operator.kill('SIGCONT');
  thief?.close();
  await stage?.close();
});

const encode = (size: number) => Buffer.alloc(size, 7).toString('base64');
/** Made once: this process also measures the sends. */
const BUILT = encode(10_000);
const SESSION_VALUE = encode(60_000);
const TEXT = 'x'.repeat(10_000);
const now = () => new Date().toISOString();
const uuid = () => crypto.randomUUID();
let number = 1_000;
let serial = 0;

/** The most costly body of each route that the schema accepts. */
const BODIES: Record<EngineRoute, () => object> = {
  acquire: () => ({ pod: 'thief', version: 'x' }),
  renew: () => ({ connected: true }),
  release: () => ({}),
  'redis-user': () => ({}),
  claims: () => ({ repeated: true, claim_id: uuid(), limit: 500, followers: true }),
  usernames: () => ({
    people: Array.from({ length: 500 }, (_, place) => ({
      lid: `${10_000_000 + place}@lid`,
      username: `name.${serial++}`,
    })),
  }),
  names: () => ({ lid: `${10_000_000 + serial++}@lid`, phone: '5511912345678' }),
  built: () => ({
    messages: Array.from({ length: 200 }, () => ({
      message_id: uuid(),
      built: BUILT,
      rendered_as: null,
    })),
  }),
  sent: () => ({ wa_message_id: `none${serial++}` }),
  restricted: () => ({ until: now() }),
  outcomes: () => ({
    outcomes: Array.from({ length: 500 }, () => ({
      kind: 'failed',
      message_id: uuid(),
      at: now(),
      error: { code: 'timeout', message: null },
    })),
  }),
  state: () => ({
    changes: Array.from({ length: 50 }, () => ({ state: 'connected', at: now(), reason: null })),
  }),
  pairing: () => ({ session: uuid(), news: { kind: 'qr', code: 'x'.repeat(2_000), expires_in_ms: 1_000 } }),
  unlinked: () => ({ id: uuid() }),
  'client-version': () => ({
    event: 'connecting',
    version: null,
    bundled: '2.3000.1023456789',
    setting: 'auto',
    pairing: false,
    refused: [],
    target: null,
  }),
  'session-read': () => ({ wanted: [{ type: 'session', keys: null }] }),
  'session-write': () => ({
    entries: Array.from({ length: 50 }, () => ({
      type: 'session',
      key: `k${serial++ % 2_000}`,
      value: SESSION_VALUE,
    })),
  }),
  inbound: () => ({ messages: Array.from({ length: 200 }, () => inbound()) }),
  notices: () => ({ notices: Array.from({ length: 100 }, () => call()) }),
};

const inbound = () => {
  const from = `55119${String(10_000_000 + (serial++ % 10_000))}@s.whatsapp.net`;
  const none = { from_name: null, quoted_wa_message_id: null };
  return {
    ...none,
    wa_message_id: `IN${serial}`,
    chat: from,
    from,
    from_me: false,
    at: now(),
    type: 'text',
    text: TEXT,
  };
};
const call = () => ({
  ...{
    kind: 'call',
    id: `c${serial++}`,
    at: now(),
    from: { id: '5511912345678@s.whatsapp.net', alt: null, name: null },
  },
  ...{ video: false, group: false, chat: null, missed: true, rejected: false },
});

/** Calls the routes at random until the end, and leaves some answers unread unless `reads`. */
async function hammer(isOver: () => boolean, reads: boolean, statuses: Map<string, number>): Promise<void> {
  for (let i = 0; !isOver(); i++) {
    const route = ROUTES[Math.floor(Math.random() * ROUTES.length)]!;
    const status = await post(route, reads || i % 4 !== 0).catch(() => 0);
    statuses.set(`${route} ${status}`, (statuses.get(`${route} ${status}`) ?? 0) + 1);
  }
}

function post(route: EngineRoute, reads: boolean): Promise<number> {
  const body = JSON.stringify({ ...BODIES[route](), ...engine.lease, number: number++ });
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      new URL(`/engine/${route}`, stage.gateway.internalUrls[0]),
      {
        method: 'POST',
        headers: { authorization: `Bearer ${engine.token}`, 'content-type': 'application/json' },
      },
      (response) => {
        if (reads) response.resume().on('end', () => resolve(response.statusCode!));
        else setTimeout(() => (sent.destroy(), resolve(response.statusCode!)), 2_000);
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

async function hammerChannel(isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const channel = await RawChannel.open(stage.gateway.internalUrls[0]!, engine.token).catch(() => null);
    if (channel === null) continue;
    const wanted = [{ type: 'session', keys: null }];
    for (let id = 0; id < 40; id++)
      channel.call(id, 'session-read', { ...engine.lease, wanted }).catch(() => undefined);
    channel.socket.pause();
    await pause(1_000);
    channel.socket.terminate();
  }
}

/** Sends of another account, at a steady rate. Returns how long each request took. */
async function sendSteadily(isOver: () => boolean): Promise<number[]> {
  const times: number[] = [];
  const sends: Promise<void>[] = [];
  for (let i = 0; !isOver(); i++) {
    sends.push(sendOne(i).then((ms) => void times.push(ms)));
    await pause(SEND_EVERY_MS);
  }
  await Promise.all(sends);
  return times;
}

async function sendOne(i: number): Promise<number> {
  const began = performance.now();
  const body = {
    instance_id: stage.instance.id,
    to: testPhone(i % 50),
    type: 'text',
    text: { body: `hello ${i}` },
  };
  await stage.customer.client.expect<MessageOut>(202, 'POST', '/v1/messages', { body });
  return performance.now() - began;
}

const p99 = (times: number[]) => times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]!;

test.each([
  ['reads its answers', true],
  ['leaves answers unread', false],
])(
  'an engine that calls every operation at full speed and %s neither fills the API nor delays others',
  async (kind, reads) => {
    const pid = stage.gateway.apis[0]!.pid!;
    const until = (seconds: number) => {
      const end = performance.now() + seconds * 1_000;
      return () => performance.now() > end;
    };
    // The first large bodies of each kind grow the heap of a process, whichever caller sends them.
    for (let i = 0; i < WARM_UP; i++) for (const route of ROUTES) await post(route, true);
    const alone = await sendSteadily(until(Math.min(SECONDS, 10)));
    const rest = residentMemory(pid) / MB;
    let peak = rest;
    const watch = setInterval(() => (peak = Math.max(peak, residentMemory(pid) / MB)), 100);
    const isOver = until(SECONDS);
    const statuses = new Map<string, number>();
    const attack = [
      ...Array.from({ length: CONNECTIONS }, () => hammer(isOver, reads, statuses)),
      ...(reads ? [] : Array.from({ length: 4 }, () => hammerChannel(isOver))),
    ];
    const beside = await sendSteadily(isOver);
    await Promise.all(attack);
    clearInterval(watch);
    report(`a compromised engine that ${kind}`, {
      seconds: SECONDS,
      'API resident at rest, MB': Math.round(rest),
      'at most, MB': Math.round(peak),
      'sends alone, p99 ms': Math.round(p99(alone)),
      'beside it, p99 ms': Math.round(p99(beside)),
      sends: beside.length,
      ...Object.fromEntries([...statuses].toSorted()),
    });
    expect(peak).toBeLessThan(rest * (1 + MAX_GROWTH));
    expect(p99(beside)).toBeLessThan(realTime(MAX_P99_MS));
  },
);
