import type { OpenApiDocument } from '@gwk/api/openapi/document';
import type { InstanceOut } from '@gwk/api/resources/instance';
import type { Answer, GatewayClient } from './client.js';
import { findBreach, type KeyRights } from '../hostile/matrix.js';
import { testPhone } from './traffic.js';
import type { Ids } from '../hostile/described-operations.js';
import type { HostileRequest } from '../hostile/hostile-requests.js';
import { MAX_HOLD_MS, SETTLE_MS, type LoopTime } from './loop-time.js';
import { pause, until } from '../wait.js';

/** A key of the account with other rights than `client`. */
export interface WeakerKey {
  client: GatewayClient;
  rights: KeyRights;
}

/** Account that receives hostile requests, with values to build them from. */
export interface HostileAccount {
  client: GatewayClient;
  /** Keys that take turns in `sendByKeys`. */
  weaker?: readonly WeakerKey[];
  instance: InstanceOut;
  endpointId: string;
}

const AT_ONCE = 10;
/** Few enough that their processor time rarely adds up to one long turn. */
const AT_ONCE_WATCHED = 4;

export class HostileClient {
  readonly #account: HostileAccount;
  /** Requests that may still cause work. */
  #recent: { at: number; request: HostileRequest }[] = [];
  #turn = 0;
  /** Number of answers to weaker keys by status. */
  readonly answersByKey: Record<number, number> = {};

  private constructor(
    account: HostileAccount,
    readonly document: OpenApiDocument,
    /** Ids of existing resources of the account. */
    readonly ids: Ids,
    readonly loops: readonly LoopTime[],
  ) {
    this.#account = account;
  }

  /** @param loops of the programs whose event loops no request may hold */
  static async of(account: HostileAccount, loops: readonly LoopTime[] = []): Promise<HostileClient> {
    const answer = await fetch(`${account.client.baseUrl}/openapi.json`);
    return new HostileClient(account, (await answer.json()) as OpenApiDocument, await idsOf(account), loops);
  }

  /**
   * Sends requests, several at a time.
   * @throws Error on a 500, a missing response, an undocumented response, or requests that hold an event loop too long
   */
  send(requests: readonly HostileRequest[]): Promise<void> {
    return this.#sendAll(requests, (request) => this.#send(request));
  }

  /**
   * Sends each request by the key of the account and by a weaker one in turn.
   * @throws Error as `send`, and on an answer to a weaker key that its scopes do not allow
   */
  sendByKeys(requests: readonly HostileRequest[]): Promise<void> {
    const { weaker = [] } = this.#account;
    return this.#sendAll(requests, async (request) => {
      const { client, rights } = weaker[this.#turn++ % weaker.length]!;
      await this.#send(request);
      const { status, body } = await this.#send(request, client);
      const breach = findBreach(rights, request, { status, body });
      if (breach !== null) throw new Error(`${breach}, to ${describe(request)}`);
      this.answersByKey[status] = (this.answersByKey[status] ?? 0) + 1;
    });
  }

  async #sendAll(
    requests: readonly HostileRequest[],
    send: (request: HostileRequest) => Promise<unknown>,
  ): Promise<void> {
    const size = this.loops.length > 0 ? AT_ONCE_WATCHED : AT_ONCE;
    for (let i = 0; i < requests.length; i += size) {
      const batch = requests.slice(i, i + size);
      await Promise.all(batch.map(send));
      const at = Date.now();
      this.#recent = [
        ...this.#recent.filter((earlier) => at - earlier.at < SETTLE_MS),
        ...batch.map((request) => ({ at, request })),
      ];
      await this.#checkLoops();
    }
  }

  /** A long turn is an accident, for example a garbage collection, unless the recent requests cause it again. */
  async #checkLoops(): Promise<void> {
    for (const loop of this.loops) {
      if (loop.longest() <= MAX_HOLD_MS) continue;
      const cause = await this.#findCause(
        this.#recent.map(({ request }) => request),
        loop,
      );
      if (cause !== null) throw new Error(`${loop.program} was held for ${cause}`);
    }
  }

  /** Repeats requests one after the other, and narrows them down to those that still hold the loop. */
  async #findCause(requests: readonly HostileRequest[], loop: LoopTime): Promise<string | null> {
    const held = await loop.confirm(async () => {
      for (const request of requests) await this.#send(request);
    });
    if (held <= MAX_HOLD_MS) return null;
    const middle = Math.ceil(requests.length / 2);
    const halves = requests.length > 1 ? [requests.slice(0, middle), requests.slice(middle)] : [];
    for (const half of halves) {
      const cause = await this.#findCause(half, loop);
      if (cause !== null) return cause;
    }
    return `${Math.round(held)} ms by ${requests.map(describe).join('\nand ')}`;
  }

  /** Checks that a message is still accepted and sent, and that no loop was held since. */
  async staysInGoodHealth(): Promise<void> {
    const { client, instance } = this.#account;
    await client.expect(200, 'PATCH', `/v1/instances/${instance.id}`, { body: { policy: null } });
    await client.untilConnected(instance.id);
    const { id } = await client.acceptedText(instance.id, testPhone(3), 'after all');
    await until(async () => (await client.message(id)).sent_at !== null, { what: 'it leaves' });
    await pause(this.loops.length > 0 ? SETTLE_MS : 0);
    await this.#checkLoops();
  }

  async #send(request: HostileRequest, client = this.#account.client): Promise<Answer> {
    const { method, path, headers, body } = request;
    const call = { patient: false, headers, ...(body !== undefined && { body }) };
    const answer = await client.call(method, path, call).catch((error: unknown) => {
      throw new Error(`${(error as Error).message}, to ${describe(request)}`);
    });
    if (answer.status === 500) throw new Error(`500, to ${describe(request)}`);
    return answer;
  }
}

const describe = (request: HostileRequest): string =>
  JSON.stringify({ ...request, body: request.body?.toString().slice(0, 2_000) }).slice(0, 4_000);

async function idsOf({ client, instance, endpointId }: HostileAccount): Promise<Ids> {
  const message = await client.acceptedText(instance.id, testPhone(1), 'x');
  const { conversation_id } = await client.message(message.id);
  const event = await until(async () => (await client.events())[0], { what: 'an event' });
  const delivery = await until(async () => (await client.deliveries(endpointId))[0], { what: 'a delivery' });
  return {
    instance_id: instance.id,
    message_id: message.id,
    conversation_id: conversation_id!,
    media_id: `med_${'0'.repeat(32)}`,
    event_id: event.id,
    endpoint_id: endpointId,
    delivery_id: delivery.id,
    phone: testPhone(2),
    chat: testPhone(2),
    group: '120363000000000000@g.us',
  };
}
