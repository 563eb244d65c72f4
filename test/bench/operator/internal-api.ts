import type { InstanceFacts } from '@gwk/core/protocol/operator';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A fake internal API for many healthy instances: engines hold their lease as soon as they run. */
export class BenchInternalApi {
  readonly calls = new Map<string, number>();
  readonly #byUid = new Map<string, InstanceFacts>();
  readonly #byId = new Map<string, InstanceFacts>();
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** Marks the engine of a pod as running with its lease. */
  runs(instanceId: string, engine: string): void {
    const facts = this.#byId.get(instanceId);
    if (!facts) return;
    facts.lease = { pod: engine, epoch: facts.lease.epoch + 1, expires_at: '2099-01-01T00:00:00.000Z' };
    facts.state = 'connected';
  }

  /** Toggles between connected and disconnected. @returns the new state */
  move(uid: string): InstanceFacts['state'] {
    const facts = this.#byUid.get(uid)!;
    facts.state = facts.state === 'connected' ? 'disconnected' : 'connected';
    facts.state_changed_at = new Date().toISOString();
    return facts.state;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
    const route = (request.url ?? '').split('/').at(-1)!;
    this.calls.set(route, (this.calls.get(route) ?? 0) + 1);
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(this.#answer(route, body)));
  }

  #answer(route: string, body: Record<string, unknown>): unknown {
    switch (route) {
      case 'project':
        return { accepted: true, facts: this.#factsOf(body['resource'] as InstanceResource) };
      case 'observe':
        return { instances: (body['ids'] as string[]).map((id) => this.#byId.get(id)) };
      case 'issue-token':
        return { token: 'x'.repeat(43) };
      case 'engine-ended': {
        const facts = this.#byId.get(body['instance_id'] as string);
        if (facts && facts.lease.pod === body['pod'])
          facts.lease = { ...facts.lease, pod: null, expires_at: null };
        return {};
      }
      default:
        return { lease_expires_at: null };
    }
  }

  #factsOf({ metadata: { uid } }: InstanceResource): InstanceFacts {
    const known = this.#byUid.get(uid);
    if (known) return known;
    const now = new Date().toISOString();
    const facts: InstanceFacts = {
      id: randomUUID(),
      state: 'connecting',
      state_reason: null,
      state_changed_at: now,
      first_paired_at: now,
      banned_until: null,
      pairing: false,
      lease: { pod: null, epoch: 0, expires_at: null },
    };
    this.#byUid.set(uid, facts);
    this.#byId.set(facts.id, facts);
    return facts;
  }
}
