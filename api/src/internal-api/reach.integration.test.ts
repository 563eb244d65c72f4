import { BUNDLED } from '@gwk/core/client-version';
import { newUuid } from '@gwk/core/ids/ids';
import { ENGINE_ROUTES, type EngineRoute } from '@gwk/core/protocol/engine';
import { isNumberedRoute } from '@gwk/core/protocol/numbered-routes';
import {
  sharedInternalApi,
  readRefusal,
  TestEngine,
  type InternalApiWorld,
} from '@gwk/test/support/api/internal-api';

/** Walks every engine route with wrong tokens, wrong leases and the ids of another instance. */
let internalApi: InternalApiWorld;
beforeAll(async () => {
  internalApi = await sharedInternalApi();
});
afterAll(() => internalApi.close());

const now = () => new Date().toISOString();

/** The ids that an intruder would need. */
interface Ids {
  messageId: string;
  waMessageId: string;
  pairingId: string;
  unlinkId: string;
}

/** Bodies that refer to the given ids, also those of another instance. */
const bodies = ({
  messageId,
  waMessageId,
  pairingId,
  unlinkId,
}: Ids): Record<EngineRoute, Record<string, unknown>> => ({
  acquire: { pod: 'pod-1', version: 'test' },
  renew: { connected: true },
  release: {},
  names: { lid: '12345678@lid', phone: '5511987654321' },
  usernames: { people: [{ lid: '12345678@lid', username: 'forged' }] },
  'redis-user': {},
  claims: { claim_id: newUuid(), limit: 100, repeated: true },
  built: { messages: [{ message_id: messageId, built: 'AAAA', rendered_as: 'text_menu' }] },
  sent: { wa_message_id: waMessageId },
  restricted: { until: now() },
  outcomes: {
    outcomes: [
      { kind: 'sent', message_id: messageId, at: now(), rendered_as: null },
      { kind: 'failed', message_id: messageId, at: now(), error: { code: 'wa_error', message: null } },
      { kind: 'returned', message_id: messageId, claim_id: newUuid() },
      { kind: 'receipt', wa_message_id: waMessageId, status: 'read', at: now(), played: true },
    ],
  },
  state: { changes: [{ state: 'logged_out', at: now(), reason: 'forged' }] },
  pairing: { session: pairingId, news: { kind: 'qr', code: 'forged', expires_in_ms: 20_000 } },
  notices: { notices: [{ kind: 'call', id: 'forged', at: now(), from: { id: '12345678@lid', alt: null, name: null }, video: false, group: false, chat: null, missed: false, rejected: false }] }, // prettier-ignore
  unlinked: { id: unlinkId },
  'client-version': { event: 'refused', version: BUNDLED.version, bundled: BUNDLED.version, setting: 'auto', pairing: false, refused: [], target: null }, // prettier-ignore
  'session-read': { wanted: [{ type: 'creds', keys: null }] },
  'session-write': { entries: [{ type: 'creds', key: 'me', value: 'AAAA' }] },
  inbound: {
    messages: [
      {
        wa_message_id: 'forged',
        chat: '5511900000000@s.whatsapp.net',
        from: '5511900000000@s.whatsapp.net',
        from_name: null,
        from_me: false,
        at: now(),
        type: 'text',
        text: 'forged',
        quoted_wa_message_id: null,
      },
    ],
  },
});
const ROUTES = Object.keys(ENGINE_ROUTES) as EngineRoute[];
const LEASED = ROUTES.filter((route) => route !== 'acquire' && route !== 'release');

async function call(
  route: EngineRoute,
  engine: TestEngine,
  body: Record<string, unknown>,
  lease = engine.lease,
) {
  const numbered = isNumberedRoute(route) ? { number: ++engine.number } : {};
  const named = route === 'acquire' ? body : { ...body, ...numbered, ...lease };
  return readRefusal(engine.client.call(route, named as never));
}

/** Reads everything stored about an instance and its messages. */
async function readStored(instanceId: string): Promise<string> {
  const { database } = internalApi.world;
  const where = { instanceId };
  const rows = [
    await database.instance.findUnique({ where: { id: instanceId }, include: { lease: true } }),
    await database.message.findMany({ where, orderBy: { id: 'asc' } }),
    await database.messageContent.findMany({ where, orderBy: { messageId: 'asc' } }),
    await database.outboxEntry.findMany({ where, orderBy: { messageId: 'asc' } }),
    await database.engineCall.findMany({ where, orderBy: { route: 'asc' } }),
    await database.sessionKey.findMany({ where, orderBy: [{ type: 'asc' }, { key: 'asc' }] }),
    await database.instanceState.findMany({ where, orderBy: { id: 'asc' } }),
    await database.event.findMany({ where, orderBy: { id: 'asc' } }),
    await database.conversation.findMany({ where, orderBy: { id: 'asc' } }),
    await database.engineToken.findMany({ where, orderBy: { id: 'asc' } }),
    await database.pairingSession.findMany({ where }),
  ];
  return JSON.stringify(rows, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

/**
 * An instance with an unconfirmed send, a queued message, a session, an open pairing and a requested unlink.
 */
async function createVictim() {
  const engine = await (await internalApi.addEngine()).acquire();
  const unconfirmed = await internalApi.accept({ instance: engine.instanceId, to: '5511977770001' });
  const [claimed] = await engine.claim();
  await engine.build(unconfirmed);
  await internalApi.accept({ instance: engine.instanceId, to: '5511977770002' });
  await engine.call('session-write', { entries: [{ type: 'creds', key: 'me', value: 'c2VjcmV0' }] });
  const { database } = internalApi.world;
  const { instanceId } = engine;
  const [pairingId, unlinkId] = [newUuid(), newUuid()];
  await database.pairingSession.create({
    data: { instanceId, id: pairingId, method: 'qr', state: 'pairing' },
  });
  await database.instance.update({ where: { id: instanceId }, data: { unlinkId } });
  return { engine, messageId: unconfirmed, waMessageId: claimed!.wa_message_id, pairingId, unlinkId };
}

describe('an engine with the ids of another instance', () => {
  let engine: TestEngine;
  let ids: Ids;
  let before: string;
  beforeAll(async () => {
    ({ engine, ...ids } = await createVictim());
    before = await readStored(engine.instanceId);
  });

  test.each(ROUTES)('changes nothing of it on %s', async (route) => {
    const stranger = await (await internalApi.addEngine()).acquire();
    const body = bodies(ids)[route];
    // First the other lease with its own token, then its own lease.
    const expected = route === 'acquire' ? 'lease-held' : 'fenced';
    expect(await call(route, stranger, body, engine.lease)).toBe(expected);
    await call(route, stranger, body);
    expect(await readStored(engine.instanceId)).toBe(before);
  });

  test('reads nothing of it', async () => {
    const stranger = await (await internalApi.addEngine()).acquire();
    expect(await stranger.claim()).toEqual([]);
    const wanted = [
      { type: 'creds', keys: null },
      { type: 'creds', keys: ['me'] },
    ];
    expect(await stranger.call('session-read', { wanted })).toEqual({ entries: [] });
    expect((await engine.call('session-read', { wanted })).entries).toHaveLength(1);
  });
});

const withLease = (owner: TestEngine, lease: Partial<TestEngine['lease']>): TestEngine =>
  new TestEngine(owner.client, owner.instanceId, owner.pod, owner.token).with({ ...owner.lease, ...lease });

type Intruder = [
  what: string,
  refusal: string,
  make: (owner: TestEngine) => TestEngine | Promise<TestEngine>,
];
const INTRUDERS: Intruder[] = [
  ['an older epoch', 'fenced', (owner) => withLease(owner, { epoch: owner.lease.epoch - 1 })],
  ['a later epoch', 'fenced', (owner) => withLease(owner, { epoch: owner.lease.epoch + 1 })],
  ['another holder of the same epoch', 'fenced', (owner) => withLease(owner, { holder: newUuid() })],
  [
    'a released lease',
    'fenced',
    async (owner) => {
      const copy = withLease(owner, {});
      await owner.call('release', {});
      await owner.acquire();
      return copy;
    },
  ],
  [
    'a revoked token',
    'unauthorized',
    async (owner) => {
      await owner.call('release', {});
      const next = await (await internalApi.addPod(owner.instanceId, 'pod-2')).acquire();
      return withLease(owner, next.lease);
    },
  ],
  [
    'an unknown token',
    'unauthorized',
    (owner) => {
      const client = internalApi.clientWith(`gwk_engine_${'x'.repeat(43)}`);
      return new TestEngine(client, owner.instanceId, owner.pod, '').with(owner.lease);
    },
  ],
];

describe.each(INTRUDERS)('with %s', (_label, refusal, make) => {
  let intruder: TestEngine;
  let ids: Ids;
  let before: string;
  beforeAll(async () => {
    const { engine, ...theirs } = await createVictim();
    ids = theirs;
    intruder = await make(engine);
    before = await readStored(engine.instanceId);
  });

  test.each(LEASED)('%s is refused and changes nothing', async (route) => {
    expect(await call(route, intruder, bodies(ids)[route])).toBe(refusal);
    expect(await readStored(intruder.instanceId)).toBe(before);
  });
});
