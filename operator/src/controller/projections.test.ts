import { InternalApiRefusal, InternalApiUnreachable } from '@gwk/core/protocol/internal-client';
import type { InstanceFacts, Projection } from '@gwk/core/protocol/operator';
import { facts, free, heldBy, ID, NOW, resource } from '@gwk/test/support/operator/build';
import type { InternalApiClient } from './internal-api-client.js';
import { Projections } from './projections.js';

/** A port that answers what the test says, and a clock that it moves. */
class ScriptedPort implements InternalApiClient {
  pair = () => Promise.reject(new Error('nobody pairs here'));
  projects: (() => Projection)[] = [];
  rows: InstanceFacts[] = [facts()];
  observed: string[][] = [];
  down = false;

  async project(): Promise<Projection> {
    const next = this.projects.shift();
    if (this.down || !next) throw new InternalApiUnreachable('down');
    return next();
  }

  async observe(ids: string[]): Promise<{ instances: InstanceFacts[] }> {
    if (this.down) throw new InternalApiUnreachable('down');
    this.observed.push(ids);
    return { instances: this.rows.filter(({ id }) => ids.includes(id)) };
  }

  issueToken = () => Promise.reject(new Error('not asked here'));
  engineEnded = () => Promise.reject(new Error('not asked here'));
  remove = () => Promise.reject(new Error('not asked here'));
}

let api: ScriptedPort;
let projections: Projections;
let now: number;
const KEY = 'default/shop';
const accept =
  (special: Partial<InstanceFacts> = {}) =>
  (): Projection => ({ accepted: true, facts: facts(special) });
const reject =
  (row: InstanceFacts | null = null) =>
  (): Projection => ({ accepted: false, reason: 'NameTaken', message: 'taken', facts: row });
const ask = (generation = 1) => projections.of(KEY, resource({}, { generation }));

beforeEach(() => {
  now = NOW;
  api = new ScriptedPort();
  projections = new Projections(api, () => now);
});

describe('asking', () => {
  test('an accepted generation is asked about once', async () => {
    api.projects = [accept()];
    expect(await ask()).toMatchObject({ kind: 'accepted', generation: 1, behind: false });
    expect(await ask()).toMatchObject({ kind: 'accepted', behind: false });
  });

  test('a new generation is asked about; without an answer the old one holds', async () => {
    api.projects = [accept()];
    await ask();
    expect(await ask(2)).toMatchObject({ kind: 'accepted', generation: 1, behind: true });
    api.projects = [accept()];
    expect(await ask(2)).toMatchObject({ kind: 'accepted', generation: 2, behind: false });
  });

  test('a resource that was never answered for is unknown, and why is said', async () => {
    expect(await ask()).toEqual({ kind: 'unknown', error: 'The API does not answer', behind: true });
    api.projects = [
      () => {
        throw new InternalApiRefusal('unauthorized', null);
      },
    ];
    expect(await ask()).toMatchObject({ kind: 'unknown', error: 'The API refused: unauthorized' });
  });

  test('a refusal is asked about again each time', async () => {
    api.projects = [reject(), reject(), accept()];
    expect(await ask()).toMatchObject({ kind: 'rejected', reason: 'NameTaken', known: null, behind: false });
    expect(await ask()).toMatchObject({ kind: 'rejected' });
    expect(await ask()).toMatchObject({ kind: 'accepted' });
  });

  test('a refused change keeps what the row says, and it goes on being observed', async () => {
    api.projects = [reject(facts())];
    expect(await ask(2)).toMatchObject({ kind: 'rejected', known: { facts: { id: ID } } });
    await projections.observe();
    expect(api.observed).toEqual([[ID]]);
  });

  test('a row that is gone makes the resource be asked about anew', async () => {
    api.projects = [accept(), () => ({ accepted: false, reason: 'Deleted', message: 'deleted' })];
    await ask();
    api.rows = [];
    expect(await projections.observe()).toEqual([KEY]);
    expect(await projections.observe()).toEqual([]);
    expect(await ask()).toMatchObject({ kind: 'rejected', reason: 'Deleted' });
  });
});

describe('observing', () => {
  beforeEach(async () => {
    api.projects = [accept()];
    await ask();
    now += 1000;
  });

  const observe = async (special: Partial<InstanceFacts>, ms = 1000) => {
    now += ms;
    api.rows = [facts({ ...special })];
    return projections.observe();
  };

  test('the same again is no news, nor is a lease renewed', async () => {
    expect(await projections.observe()).toEqual([]);
    const renewed = { ...heldBy('ins-1-first'), expires_at: new Date(NOW + 90_000).toISOString() };
    expect(await observe({ lease: renewed })).toEqual([]);
  });

  test.each<[string, Partial<InstanceFacts>]>([
    ['another state', { state: 'disconnected' }],
    ['a pairing session', { pairing: true }],
    ['another holder', { lease: heldBy('ins-1-second') }],
    ['another epoch', { lease: { ...heldBy('ins-1-first'), epoch: 5 } }],
    ['a lease given up', { lease: free }],
    [
      'a lease that ended unrenewed',
      { lease: { ...heldBy('ins-1-first'), expires_at: new Date(NOW).toISOString() } },
    ],
  ])('%s is news', async (_, special) => {
    expect(await observe(special)).toEqual([KEY]);
    expect(await observe(special)).toEqual([]);
  });

  const freeSince = () => {
    const projection = projections.cached(resource().metadata.uid);
    return projection.kind === 'accepted' ? projection.known.leaseFreeSince : undefined;
  };

  test('since when a lease is free is remembered, and forgotten when somebody takes it', async () => {
    await observe({ lease: free });
    const since = now;
    await observe({ lease: free });
    expect(freeSince()).toBe(since);
    await observe({});
    expect(freeSince()).toBeNull();
  });

  test('time in which the API was not heard does not count as time in which the lease was free', async () => {
    await observe({ lease: free });
    await observe({ lease: free }, 60_000);
    expect(freeSince()).toBe(now);
  });

  test('when a pairing session was last open is remembered', async () => {
    await observe({ pairing: true });
    const seen = now;
    await observe({ pairing: false });
    const projection = projections.cached(resource().metadata.uid);
    expect(projection).toMatchObject({ known: { pairingSeenAt: seen, facts: { pairing: false } } });
  });

  test('an API that does not answer changes nothing, and is not heard', async () => {
    await projections.observe();
    const heard = projections.answeredAt;
    api.down = true;
    now += 5000;
    await expect(projections.observe()).rejects.toThrow(InternalApiUnreachable);
    expect(projections.answeredAt).toBe(heard);
    expect(projections.cached(resource().metadata.uid)).toMatchObject({ kind: 'accepted' });
  });

  test('between two looks at all only some are asked for, and nobody where they are none', async () => {
    await projections.observe();
    const heard = projections.answeredAt;
    api.observed = [];
    now += 250;
    api.rows = [facts({ state: 'disconnected' })];
    expect(await projections.observe(new Set(['default/other']))).toEqual([]);
    expect(api.observed).toEqual([]);
    expect(await projections.observe(new Set([KEY]))).toEqual([KEY]);
    expect(projections.answeredAt).toBe(heard);
  });

  test('of an answer that is no news the lease is taken: its end is known anew', async () => {
    const expires = new Date(NOW + 90_000).toISOString();
    await observe({ lease: { ...heldBy('ins-1-first'), expires_at: expires } });
    const projection = projections.cached(resource().metadata.uid);
    expect(projection).toMatchObject({
      known: { observedAt: now, facts: { lease: { expires_at: expires } } },
    });
  });

  test('more than a thousand are asked for in several requests', async () => {
    api.observed = [];
    for (let i = 0; i < 1500; i++) {
      api.projects = [accept({ id: `id-${i}` })];
      await projections.of(`default/n${i}`, resource({}, { uid: `uid-${i}` }));
    }
    await projections.observe();
    expect(api.observed.map((ids) => ids.length)).toEqual([1000, 501]);
  });
});
