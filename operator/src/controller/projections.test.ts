import { InternalApiRefusal, InternalApiUnreachable } from '@gwk/core/protocol/internal-client';
import type { InstanceFacts, OperatorResponse, Projection } from '@gwk/core/protocol/operator';
import { facts, free, heldBy, ID, NOW, resource } from '@gwk/test/support/operator/build';
import type { InternalApiClient } from './internal-api-client.js';
import { Projections } from './projections.js';

/** An API with scripted answers, and a clock that the test moves. */
class ScriptedApi implements InternalApiClient {
  pair = () => Promise.reject(new Error('not used in this test'));
  projects: (() => Projection)[] = [];
  rows: InstanceFacts[] = [facts()];
  observed: string[][] = [];
  answered: InstanceFacts[] = [];
  down = false;

  async project(): Promise<Projection> {
    const next = this.projects.shift();
    if (this.down || !next) throw new InternalApiUnreachable('down');
    return next();
  }

  /** Answers like the API: only rows whose digest is another one. */
  async observe(known: { id: string; digest: string }[]): Promise<OperatorResponse<'observe'>> {
    if (this.down) throw new InternalApiUnreachable('down');
    this.observed.push(known.map(({ id }) => id));
    const find = (id: string) => this.rows.find((row) => row.id === id);
    this.answered = known.flatMap(({ id, digest }) => {
      const row = find(id);
      return row && digestOf(row) !== digest ? [{ ...row, digest: digestOf(row) }] : [];
    });
    return {
      instances: this.answered,
      gone: known.flatMap(({ id }) => (find(id) ? [] : [id])),
      leases_end_at: known.map(({ id }) => {
        const end = find(id)?.lease.expires_at ?? null;
        return end === null ? null : Date.parse(end);
      }),
    };
  }

  issueToken = () => Promise.reject(new Error('not used in this test'));
  engineEnded = () => Promise.reject(new Error('not used in this test'));
  remove = () => Promise.reject(new Error('not used in this test'));
}

function digestOf({ digest: _, lease: { expires_at: __, ...lease }, ...others }: InstanceFacts): string {
  return JSON.stringify([others, lease]);
}

let api: ScriptedApi;
let projections: Projections;
let now: number;
const KEY = 'default/shop';
const accept =
  (special: Partial<InstanceFacts> = {}) =>
  (): Projection => ({ accepted: true, facts: facts(special) });
const reject =
  (row: InstanceFacts | null = null) =>
  (): Projection => ({ accepted: false, reason: 'NameTaken', message: 'taken', facts: row });
const ask = (generation = 1) => projections.project(KEY, resource({}, { generation }));

beforeEach(() => {
  now = NOW;
  api = new ScriptedApi();
  projections = new Projections(api, () => now);
});

describe('asking', () => {
  test('projects an accepted generation once', async () => {
    api.projects = [accept()];
    expect(await ask()).toMatchObject({ kind: 'accepted', generation: 1, behind: false });
    expect(await ask()).toMatchObject({ kind: 'accepted', behind: false });
  });

  test('projects a new generation, and keeps the old one without an answer', async () => {
    api.projects = [accept()];
    await ask();
    expect(await ask(2)).toMatchObject({ kind: 'accepted', generation: 1, behind: true });
    api.projects = [accept()];
    expect(await ask(2)).toMatchObject({ kind: 'accepted', generation: 2, behind: false });
  });

  test('reports an unanswered resource as unknown, with the reason', async () => {
    expect(await ask()).toEqual({ kind: 'unknown', error: 'The API does not answer', behind: true });
    api.projects = [
      () => {
        throw new InternalApiRefusal('unauthorized', null);
      },
    ];
    expect(await ask()).toMatchObject({ kind: 'unknown', error: 'The API refused: unauthorized' });
  });

  test('projects a rejected resource again each time', async () => {
    api.projects = [reject(), reject(), accept()];
    expect(await ask()).toMatchObject({ kind: 'rejected', reason: 'NameTaken', known: null, behind: false });
    expect(await ask()).toMatchObject({ kind: 'rejected' });
    expect(await ask()).toMatchObject({ kind: 'accepted' });
  });

  test('keeps the rejection of a change while the API does not answer', async () => {
    api.projects = [reject(facts())];
    await ask(2);
    expect(await ask(2)).toMatchObject({ kind: 'rejected', reason: 'NameTaken', behind: true });
  });

  test('does not ask an API that is known to be away', async () => {
    api.projects = [accept()];
    const shown = await projections.project(KEY, resource(), true);
    expect(shown).toEqual({ kind: 'unknown', error: 'The API does not answer', behind: true });
    expect(api.projects).toHaveLength(1);
  });

  test('keeps observing the row of a rejected change', async () => {
    api.projects = [reject(facts())];
    expect(await ask(2)).toMatchObject({ kind: 'rejected', known: { facts: { id: ID } } });
    await projections.observe();
    expect(api.observed).toEqual([[ID]]);
  });

  test('projects again when the row is deleted', async () => {
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

  test('ignores equal facts and renewed leases', async () => {
    expect(await projections.observe()).toEqual([]);
    const renewed = { ...heldBy('ins-1-first'), expires_at: new Date(NOW + 90_000).toISOString() };
    expect(await observe({ lease: renewed })).toEqual([]);
  });

  test.each<[string, Partial<InstanceFacts>]>([
    ['another state', { state: 'disconnected' }],
    ['a pairing session', { pairing: true }],
    ['another holder', { lease: heldBy('ins-1-second') }],
    ['another epoch', { lease: { ...heldBy('ins-1-first'), epoch: 5 } }],
    ['a released lease', { lease: free }],
    ['an expired lease', { lease: { ...heldBy('ins-1-first'), expires_at: new Date(NOW).toISOString() } }],
  ])('reports %s', async (_, special) => {
    expect(await observe(special)).toEqual([KEY]);
    expect(await observe(special)).toEqual([]);
  });

  const freeSince = () => {
    const projection = projections.cached(resource().metadata.uid);
    return projection.kind === 'accepted' ? projection.known.leaseFreeSince : undefined;
  };

  test('keeps the time since when a lease is free until somebody takes it', async () => {
    await observe({ lease: free });
    const since = now;
    await observe({ lease: free });
    expect(freeSince()).toBe(since);
    await observe({});
    expect(freeSince()).toBeNull();
  });

  test('does not count time without an answer as time with a free lease', async () => {
    await observe({ lease: free });
    await observe({ lease: free }, 60_000);
    expect(freeSince()).toBe(now);
  });

  test('keeps the time when a pairing session was last open', async () => {
    await observe({ pairing: true });
    const seen = now;
    await observe({ pairing: false });
    const projection = projections.cached(resource().metadata.uid);
    expect(projection).toMatchObject({ known: { pairingSeenAt: seen, facts: { pairing: false } } });
  });

  test('changes nothing while the API does not answer', async () => {
    await projections.observe();
    const before = projections.answeredAt;
    api.down = true;
    now += 5000;
    await expect(projections.observe()).rejects.toThrow(InternalApiUnreachable);
    expect(projections.answeredAt).toBe(before);
    expect(projections.cached(resource().metadata.uid)).toMatchObject({ kind: 'accepted' });
  });

  test('asks only for the given keys, and not at all without any', async () => {
    await projections.observe();
    const before = projections.answeredAt;
    api.observed = [];
    now += 250;
    api.rows = [facts({ state: 'disconnected' })];
    expect(await projections.observe(new Set(['default/other']))).toEqual([]);
    expect(api.observed).toEqual([]);
    expect(await projections.observe(new Set([KEY]))).toEqual([KEY]);
    expect(projections.answeredAt).toBe(before);
  });

  test('takes the new end of a renewed lease, although the API does not repeat the facts', async () => {
    await projections.observe();
    const expires = new Date(NOW + 90_000).toISOString();
    await observe({ lease: { ...heldBy('ins-1-first'), expires_at: expires } });
    expect(api.answered).toEqual([]);
    const projection = projections.cached(resource().metadata.uid);
    expect(projection).toMatchObject({
      known: { observedAt: now, facts: { lease: { expires_at: expires } } },
    });
  });

  test('splits more than 1,000 instances into several requests', async () => {
    api.observed = [];
    for (let i = 0; i < 1500; i++) {
      api.projects = [accept({ id: `id-${i}` })];
      await projections.project(`default/n${i}`, resource({}, { uid: `uid-${i}` }));
    }
    await projections.observe();
    expect(api.observed.map((ids) => ids.length)).toEqual([1000, 501]);
  });
});
