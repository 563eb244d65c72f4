import { InternalApiRefusal, InternalApiUnreachable } from '@gwk/core/protocol/internal-client';
import type { InternalApiClient } from './internal-api-client.js';
import type { InstanceFacts } from '@gwk/core/protocol/operator';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import { leaseInForce, type KnownInstance, type ProjectionResult } from './observed.js';

/** One request of `observe` names at most this many. */
const OBSERVE_MAX = 1000;
/** An observation this much later than the one before leaves a gap: nobody knows what a lease did meanwhile. */
const GAP_MS = 10_000;

interface Entry {
  key: string;
  /** The generation last accepted; nothing is asked about it again until it is stale. */
  generation: number;
  stale: boolean;
  known: KnownInstance;
}

/**
 * What the API has said of each resource, by uid: from `project` once per generation, and from `observe` for all of
 * them at once from then on. Nothing here is written anywhere.
 */
export class Projections {
  readonly #entries = new Map<string, Entry>();
  readonly #port: InternalApiClient;
  readonly #now: () => number;
  #answeredAt = 0;

  constructor(port: InternalApiClient, now: () => number = Date.now) {
    this.#port = port;
    this.#now = now;
  }

  /** When the API last answered an observation. */
  get answeredAt(): number {
    return this.#answeredAt;
  }

  /** Asks the API only where it is not known to have accepted this generation. Never throws. */
  async of(key: string, resource: InstanceResource): Promise<ProjectionResult & { behind: boolean }> {
    const { uid, generation } = resource.metadata;
    const entry = this.#entries.get(uid);
    if (entry && !entry.stale && entry.generation >= generation) return { ...accepted(entry), behind: false };
    try {
      return { ...(await this.#project(key, resource)), behind: false };
    } catch (error) {
      if (entry) return { ...accepted(entry), behind: true };
      return { kind: 'unknown', error: inWords(error), behind: true };
    }
  }

  /** What is known already, without asking. */
  cached(uid: string): ProjectionResult {
    const entry = this.#entries.get(uid);
    return entry ? accepted(entry) : { kind: 'unknown', error: null };
  }

  forget(uid: string): void {
    this.#entries.delete(uid);
  }

  forgetAllBut(uids: Set<string | undefined>): void {
    for (const uid of this.#entries.keys()) if (!uids.has(uid)) this.#entries.delete(uid);
  }

  /** The next pass asks the API anew: its row may have been restored from a backup. */
  expire(uid: string): void {
    const entry = this.#entries.get(uid);
    if (entry) entry.stale = true;
  }

  /**
   * Keys whose facts changed. `only` some keys: the others are not asked for, and the API does not count as heard.
   *
   * @throws InternalApiUnreachable, InternalApiRefusal
   */
  async observe(only?: ReadonlySet<string>): Promise<string[]> {
    const all = [...this.#entries.values()];
    const entries = only ? all.filter(({ key }) => only.has(key)) : all;
    const changed: string[] = [];
    // Of all at least one request: it also tells whether the API is there.
    for (let from = 0; (from === 0 && !only) || from < entries.length; from += OBSERVE_MAX) {
      const asked = entries.slice(from, from + OBSERVE_MAX);
      const at = this.#now();
      const { instances } = await this.#port.observe(asked.map(({ known }) => known.facts.id));
      const facts = new Map(instances.map((item) => [item.id, item]));
      for (const entry of asked)
        if (take(entry, facts.get(entry.known.facts.id), at)) changed.push(entry.key);
    }
    if (!only) this.#answeredAt = this.#now();
    return changed;
  }

  async #project(key: string, resource: InstanceResource): Promise<ProjectionResult> {
    const { uid, generation } = resource.metadata;
    const at = this.#now();
    const answer = await this.#port.project(resource);
    const { facts } = answer;
    const known = facts ? knownFrom(this.#entries.get(uid)?.known, facts, at) : null;
    if (known) this.#entries.set(uid, { key, generation, stale: !answer.accepted, known });
    else this.#entries.delete(uid);
    if (answer.accepted) return { kind: 'accepted', generation, known: known! };
    return { kind: 'rejected', generation, reason: answer.reason, message: answer.message, known };
  }
}

const accepted = ({ generation, known }: Entry): ProjectionResult => ({ kind: 'accepted', generation, known });

/** Whether it is news. */
function take(entry: Entry, facts: InstanceFacts | undefined, at: number): boolean {
  // An answer to `project` that is newer than this request.
  if (entry.known.observedAt > at) return false;
  if (!facts) {
    // The row is gone though the resource is not: the projection says what is to be done about it.
    const news = !entry.stale;
    entry.stale = true;
    return news;
  }
  const before = entry.known;
  const after = knownFrom(before, facts, at);
  if (isNews(before, after)) {
    entry.known = after;
    return true;
  }
  // In place: of ten thousand nearly all say the same each second, and new objects would be the garbage of old ones.
  before.observedAt = at;
  before.pairingSeenAt = after.pairingSeenAt;
  before.leaseFreeSince = after.leaseFreeSince;
  if (before.facts.lease.expires_at !== facts.lease.expires_at)
    before.facts.lease.expires_at = facts.lease.expires_at;
  return false;
}

/** The facts with what only their sequence tells. */
function knownFrom(before: KnownInstance | undefined, facts: InstanceFacts, at: number): KnownInstance {
  const pairingSeenAt = facts.pairing ? at : (before?.pairingSeenAt ?? null);
  const known = { facts, observedAt: at, pairingSeenAt, leaseFreeSince: null };
  if (leaseInForce(known)) return known;
  const unbroken = before !== undefined && at - before.observedAt <= GAP_MS;
  return { ...known, leaseFreeSince: (unbroken ? before.leaseFreeSince : null) ?? at };
}

/** A lease renewed is no news; one that was taken, freed or lost is. So is one that stays free for long. */
function isNews(before: KnownInstance, after: KnownInstance): boolean {
  const [a, b] = [before.facts, after.facts];
  const leaseMoved = a.lease.pod !== b.lease.pod || a.lease.epoch !== b.lease.epoch;
  return (
    leaseMoved || leaseInForce(before) !== leaseInForce(after) || TOLD.some((field) => a[field] !== b[field])
  );
}

type Told = Exclude<keyof InstanceFacts, 'lease'>;

/** All that is said of an instance, but its lease. */
const TOLD = Object.keys({
  id: 0,
  state: 0,
  state_reason: 0,
  state_changed_at: 0,
  jid: 0,
  first_paired_at: 0,
  banned_until: 0,
  pairing: 0,
} satisfies Record<Told, 0>) as Told[];
function inWords(error: unknown): string {
  if (error instanceof InternalApiUnreachable) return 'The API does not answer';
  if (error instanceof InternalApiRefusal) return `The API refused: ${error.refusal}`;
  return 'The API gave no usable answer';
}
