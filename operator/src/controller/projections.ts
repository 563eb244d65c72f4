import { InternalApiRefusal, InternalApiUnreachable } from '@gwk/core/protocol/internal-client';
import type { InternalApiClient } from './internal-api-client.js';
import { InstanceFacts, type OperatorResponse } from '@gwk/core/protocol/operator';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import { leaseInForce, type KnownInstance, type ProjectionResult, type RejectionReason } from './observed.js';

/** Maximum number of instances per `observe` request. */
const OBSERVE_MAX = 1000;
/** A longer gap between two observations may hide a lease that was taken and freed. */
const GAP_MS = 10_000;

interface Entry {
  key: string;
  /** Last generation the API accepted. The operator does not ask again until the entry is stale. */
  generation: number;
  stale: boolean;
  /** The API refused this generation, and has a row for an earlier one. */
  rejection: { reason: RejectionReason; message: string } | null;
  known: KnownInstance;
}

/**
 * The API's answers by resource uid: `project` once per generation, then `observe` for all instances together. Kept
 * in memory only.
 */
export class Projections {
  readonly #entries = new Map<string, Entry>();
  readonly #api: InternalApiClient;
  readonly #now: () => number;
  /** When the API last answered an observation. */
  answeredAt = 0;

  constructor(api: InternalApiClient, now: () => number = Date.now) {
    this.#api = api;
    this.#now = now;
  }

  /**
   * Asks the API unless it has accepted this generation. Never throws.
   *
   * @param skipsApi true in an outage: each call could wait for its timeout, and delay the statuses of others
   */
  async project(
    key: string,
    resource: InstanceResource,
    skipsApi = false,
  ): Promise<ProjectionResult & { behind: boolean }> {
    const { uid, generation } = resource.metadata;
    const entry = this.#entries.get(uid);
    if (entry && !entry.stale && entry.generation >= generation) return { ...read(entry), behind: false };
    try {
      if (skipsApi) throw new InternalApiUnreachable('outage');
      return { ...(await this.#project(key, resource)), behind: false };
    } catch (error) {
      if (entry) return { ...read(entry), behind: true };
      return { kind: 'unknown', error: describeError(error), behind: true };
    }
  }

  /** Cached answer, without asking. */
  cached(uid: string): ProjectionResult {
    const entry = this.#entries.get(uid);
    return entry ? read(entry) : { kind: 'unknown', error: null };
  }

  forget(uid: string): void {
    this.#entries.delete(uid);
  }

  retainOnly(uids: Set<string | undefined>): void {
    for (const uid of this.#entries.keys()) if (!uids.has(uid)) this.#entries.delete(uid);
  }

  /** The next reconcile asks the API again, because its row may come from a restored backup. */
  expire(uid: string): void {
    const entry = this.#entries.get(uid);
    if (entry) entry.stale = true;
  }

  /**
   * Returns the keys whose facts changed. With `only`, asks for those keys alone, and `answeredAt`
   * stays as it is.
   *
   * @throws InternalApiUnreachable, InternalApiRefusal
   */
  async observe(only?: ReadonlySet<string>): Promise<string[]> {
    const all = [...this.#entries.values()];
    const entries = only ? all.filter(({ key }) => only.has(key)) : all;
    const changed: string[] = [];
    // A full observation sends at least one request, which also checks that the API is available.
    for (let from = 0; (from === 0 && !only) || from < entries.length; from += OBSERVE_MAX) {
      const requested = entries.slice(from, from + OBSERVE_MAX);
      const at = this.#now();
      const asked = requested.map(({ known }) => known.facts);
      const readAnswer = readerOf(await this.#api.observe(asked));
      requested.forEach((entry, index) => {
        if (updateEntry(entry, readAnswer(asked[index]!, index), at)) changed.push(entry.key);
      });
    }
    if (!only) this.answeredAt = this.#now();
    return changed;
  }

  async #project(key: string, resource: InstanceResource): Promise<ProjectionResult> {
    const { uid, generation } = resource.metadata;
    const at = this.#now();
    const answer = await this.#api.project(resource);
    const { facts } = answer;
    const known = facts ? knownFrom(this.#entries.get(uid)?.known, facts, at) : null;
    const rejection = answer.accepted ? null : { reason: answer.reason, message: answer.message };
    if (rejection && !known) {
      this.#entries.delete(uid);
      return { kind: 'rejected', generation, ...rejection, known };
    }
    const entry = { key, generation, stale: rejection !== null, rejection, known: known! };
    this.#entries.set(uid, entry);
    return read(entry);
  }
}

const read = ({ generation, known, rejection }: Entry): ProjectionResult =>
  rejection ? { kind: 'rejected', generation, ...rejection, known } : { kind: 'accepted', generation, known };

/** Returns the present facts of the `index`th instance that was asked about; undefined: deleted. */
function readerOf({ instances, gone, leases_end_at: ends }: OperatorResponse<'observe'>) {
  const changed = new Map(instances.map((facts) => [facts.id, facts]));
  const absent = new Set(gone);
  return (asked: InstanceFacts, index: number): InstanceFacts | undefined => {
    if (changed.has(asked.id) || absent.has(asked.id)) return changed.get(asked.id);
    const end = ends[index] ?? null;
    const lease = { ...asked.lease, expires_at: end === null ? null : new Date(end).toISOString() };
    return { ...asked, lease };
  };
}

/** Applies facts to an entry. @returns whether something relevant changed */
function updateEntry(entry: Entry, facts: InstanceFacts | undefined, at: number): boolean {
  // A `project` answer is newer than this request.
  if (entry.known.observedAt > at) return false;
  if (!facts) {
    // The row is gone but the resource exists: the next `project` call decides.
    const isNew = !entry.stale;
    entry.stale = true;
    return isNew;
  }
  const before = entry.known;
  const after = knownFrom(before, facts, at);
  if (isNews(before, after)) {
    entry.known = after;
    return true;
  }
  // Update in place: most of 10,000 instances report the same every second, and new objects would only be garbage.
  before.observedAt = at;
  before.pairingSeenAt = after.pairingSeenAt;
  before.leaseFreeSince = after.leaseFreeSince;
  before.facts.digest = facts.digest;
  before.facts.lease.expires_at = facts.lease.expires_at;
  return false;
}

/** The facts, with values derived from their sequence. */
function knownFrom(before: KnownInstance | undefined, facts: InstanceFacts, at: number): KnownInstance {
  const pairingSeenAt = facts.pairing ? at : (before?.pairingSeenAt ?? null);
  const known = { facts, observedAt: at, pairingSeenAt, leaseFreeSince: null };
  if (leaseInForce(known)) return known;
  const unbroken = before !== undefined && at - before.observedAt <= GAP_MS;
  return { ...known, leaseFreeSince: (unbroken ? before.leaseFreeSince : null) ?? at };
}

/** A renewed lease is not news. A taken, freed or lost lease is news. */
function isNews(before: KnownInstance, after: KnownInstance): boolean {
  const [a, b] = [before.facts, after.facts];
  const leaseMoved = a.lease.pod !== b.lease.pod || a.lease.epoch !== b.lease.epoch;
  return (
    leaseMoved ||
    leaseInForce(before) !== leaseInForce(after) ||
    COMPARED_FIELDS.some((field) => a[field] !== b[field])
  );
}

const COMPARED_FIELDS = InstanceFacts.omit({ lease: true, digest: true }).keyof().options;

function describeError(error: unknown): string {
  if (error instanceof InternalApiUnreachable) return 'The API does not answer';
  if (error instanceof InternalApiRefusal) return `The API refused: ${error.refusal}`;
  return 'The API gave no usable answer';
}
