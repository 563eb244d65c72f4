import {
  InternalApiRefusal,
  InternalApiUnreachable,
  type OperatorClient,
} from '@gwk/core/protocol/internal-client';
import type { InstanceFacts } from '@gwk/core/protocol/operator';
import {
  createInternalApiClient,
  type InternalApiClient,
} from '@gwk/operator/controller/internal-api-client';
import type { RejectionReason } from '@gwk/operator/controller/observed';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';

/**
 * A fake internal API for operators and fake engines. It fails like a real one: before a call takes effect, after it,
 * late, or with stale data.
 */
export interface Faults {
  /** Probability of each fault per call of the operator. */
  before: number;
  after: number;
  late: number;
  stale: number;
}

export const NO_FAULTS: Faults = { before: 0, after: 0, late: 0, stale: 0 };
const LATE_MS = 900;

interface Row {
  uid: string;
  facts: InstanceFacts;
  /** Earlier, stale facts. */
  former: InstanceFacts;
  token: string | null;
}

type Body = Record<string, unknown>;
type Reply = { code: number; body: unknown };

export class FakeInternalApi {
  faults: Faults = NO_FAULTS;
  /** Reason for rejecting a resource; null accepts it. */
  refuse: (resource: InstanceResource) => RejectionReason | null = () => null;
  /** Code returned while a pairing session is open. */
  pairingCode: string | null = null;
  /** Address of the page for the passkey that the phone waits for. */
  passkeyPage: string | null = null;
  /** State of a new row. An unpaired one stays unpaired when its engine runs. */
  firstState: InstanceFacts['state'] = 'connecting';
  /** Long in tests that do not wait for its end, so that a slow machine loses no lease. */
  leaseMs = 3000;
  /** Neither the operator nor an engine gets an answer. */
  isAway = false;
  /** Called before a removal is decided. */
  removing: (facts: InstanceFacts) => void = () => undefined;
  /** Sent to engines with their lease. */
  behaviour: () => object = () => ({});
  readonly rows = new Map<string, Row>();
  readonly calls = new Map<string, number>();
  readonly #random: () => number;
  readonly #server: Server;

  constructor(random: () => number) {
    this.#random = random;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  /** Facts of the row of a resource. */
  factsOf(uid: string): InstanceFacts | undefined {
    return this.rows.get(uid)?.facts;
  }

  /** The operator's calls without a network. @throws InternalApiUnreachable, InternalApiRefusal */
  inProcess(): InternalApiClient {
    const call = (route: string, body: Body): Promise<unknown> => {
      this.#count(route);
      if (this.#random() < this.faults.before) return Promise.reject(new InternalApiUnreachable('no answer'));
      const { code, body: answer } = structuredClone(this.#operator(route, body));
      if (code === 200) return Promise.resolve(answer);
      return Promise.reject(
        new InternalApiRefusal((answer as { error: InternalApiRefusal['refusal'] }).error, null),
      );
    };
    return createInternalApiClient({ call } as unknown as OperatorClient);
  }

  /** A call by an engine. */
  engine(route: string, token: string, body: { pod: string }): Reply {
    this.#count(route);
    return this.#engine(route, token, body);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    if (this.isAway) return void response.destroy();
    const body = JSON.parse(Buffer.concat(chunks).toString() || '{}') as Body;
    const [, side, route = ''] = (request.url ?? '').split('/');
    const token = (request.headers.authorization ?? '').slice('Bearer '.length);
    this.#count(route);
    const work = () => (side === 'operator' ? this.#operator(route, body) : this.#engine(route, token, body));
    if (side === 'operator') await this.#withFaults(response, work);
    else send(response, work());
  }

  #count(route: string): void {
    this.calls.set(route, (this.calls.get(route) ?? 0) + 1);
  }

  async #withFaults(response: ServerResponse, work: () => Reply): Promise<void> {
    const { before, after, late } = this.faults;
    const dice = this.#random();
    if (dice < before) return void response.destroy();
    if (dice < before + after) {
      work();
      return void response.destroy();
    }
    // The caller has given up by then, but the call takes effect.
    if (dice < before + after + late)
      await new Promise((resolve) => setTimeout(resolve, this.#random() * LATE_MS));
    send(response, work());
  }

  #operator(route: string, body: Body): Reply {
    switch (route) {
      case 'project':
        return this.#project(body['resource'] as InstanceResource);
      case 'observe': {
        const ids = body['ids'] as string[];
        const rows = [...this.rows.values()].filter((row) => ids.includes(row.facts.id));
        const gone = ids.filter((id) => !rows.some((row) => row.facts.id === id));
        return ok({ instances: rows.map((row) => this.#readFacts(row)), gone, leases_end_at: [] });
      }
      case 'issue-token':
        return this.#createState(body['instance_id'] as string, body['pod'] as string);
      case 'pair':
        return this.#pair(body['instance_id'] as string, body['open']);
      case 'engine-ended':
        for (const { facts } of this.rows.values())
          if (facts.lease.pod === body['pod']) facts.lease = freed(facts);
        return ok({});
      default:
        return this.#remove(body['uid'] as string);
    }
  }

  /** State of a pairing. The test sets the state when a phone scans. */
  #pair(instanceId: string, open: unknown): Reply {
    const facts = [...this.rows.values()].find((row) => row.facts.id === instanceId)?.facts;
    if (!facts) return { code: 404, body: { error: 'gone' } };
    const unpaired = facts.state === 'pending_pair' || facts.state === 'logged_out';
    if (open !== null && unpaired) facts.pairing = true;
    const code = facts.pairing ? this.pairingCode : null;
    const expires = code === null ? null : new Date(Date.now() + 20_000).toISOString();
    const passkey = this.passkeyPage === null ? null : { page: this.passkeyPage };
    const session = { open: facts.pairing, code, code_expires_at: expires, error: null, passkey };
    return ok({ state: facts.state, ...session });
  }

  #engine(route: string, token: string, body: Body): Reply {
    const [instanceId] = token.split('/');
    const row = [...this.rows.values()].find(({ facts }) => facts.id === instanceId);
    if (!row) return { code: 404, body: { error: 'gone' } };
    const { facts } = row;
    const pod = body['pod'] as string;
    const heldByOther =
      facts.lease.pod !== null && facts.lease.pod !== pod && Date.parse(facts.lease.expires_at!) > Date.now();
    if (heldByOther) return { code: 409, body: { error: 'lease-held' } };
    // A revoked lease cannot be renewed, only acquired again.
    if (route === 'renew' && facts.lease.pod !== pod) return { code: 409, body: { error: 'fenced' } };
    row.former = structuredClone(facts);
    if (route === 'release') facts.lease = freed(facts);
    else
      facts.lease = {
        pod,
        epoch: facts.lease.epoch + 1,
        expires_at: new Date(Date.now() + this.leaseMs).toISOString(),
      };
    if (route === 'acquire' && facts.state === 'connecting') facts.state = 'connected';
    return ok({ lease_ms: this.leaseMs, behaviour: route === 'acquire' ? this.behaviour() : undefined });
  }

  #project(resource: InstanceResource): Reply {
    const reason = this.refuse(resource);
    if (reason !== null) return ok({ accepted: false, reason, message: `refused: ${reason}`, facts: null });
    return ok({ accepted: true, facts: this.#readFacts(this.#buildRow(resource)) });
  }

  #buildRow({ metadata: { uid } }: InstanceResource): Row {
    const row = this.rows.get(uid);
    if (row) return row;
    const facts: InstanceFacts = {
      id: randomUUID(),
      digest: '1',
      state: this.firstState,
      state_reason: null,
      state_changed_at: new Date().toISOString(),
      first_paired_at: this.firstState === 'pending_pair' ? null : new Date().toISOString(),
      banned_until: null,
      pairing: false,
      lease: { pod: null, epoch: 0, expires_at: null },
    };
    const fresh: Row = { uid, facts, former: structuredClone(facts), token: null };
    this.rows.set(uid, fresh);
    return fresh;
  }

  #readFacts(row: Row): InstanceFacts {
    return this.#random() < this.faults.stale ? row.former : row.facts;
  }

  #createState(instanceId: string, pod: string): Reply {
    const known = [...this.rows.values()].some(({ facts }) => facts.id === instanceId);
    return known ? ok({ token: `${instanceId}/${pod}` }) : { code: 404, body: { error: 'gone' } };
  }

  #remove(uid: string): Reply {
    const row = this.rows.get(uid);
    if (!row) return ok({ lease_expires_at: null });
    this.removing(row.facts);
    const { pod, expires_at: end } = row.facts.lease;
    const held = pod !== null && Date.parse(end!) > Date.now();
    if (!held) this.rows.delete(uid);
    return ok({ lease_expires_at: held ? end : null });
  }
}

const freed = ({ lease }: InstanceFacts): InstanceFacts['lease'] => ({
  ...lease,
  pod: null,
  expires_at: null,
});
const ok = (body: unknown): Reply => ({ code: 200, body });

function send(response: ServerResponse, { code, body }: Reply): void {
  response.writeHead(code, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** The same sequence for the same seed. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
