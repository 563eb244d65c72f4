import { randomBytes } from 'node:crypto';
import { Batcher } from '@gwk/core/batcher';
import { failpoint } from '@gwk/core/failpoints';
import { newUuid, timeOfUuid, toPublicId } from '@gwk/core/ids';
import { normaliseText } from '@gwk/core/policy/mass-block';
import { isWarmingUp, resolvePolicy, type Policy, type PolicyOverrides } from '@gwk/core/policy/policy';
import { Problem } from '@gwk/core/problems';
import type { MessageOut } from '@gwk/core/resources/message';
import type { Sealer } from '@gwk/core/sealing';
import type { Caller } from '../../accounts/caller.js';
import type { Queryable } from '../../database.js';
import { sealContent } from '../content.js';
import { hashBody, readIdempotencyKey, RESPONSE_COLUMN } from '../../idempotency/store.js';
import { decideGroup, type Decision, type Plan, type Request } from './decide.js';
import type { Doorbell } from './doorbell.js';
import { gather, type Facts } from './gather.js';
import { readDraft, type Draft } from './request.js';
import { write, type Entry } from './write.js';

/**
 * Accepts sends: gathers what Postgres knows about a group of requests in one statement, decides each by pure
 * functions, and writes those accepted in one statement that proves, under locks, that what was decided on still
 * holds. Whatever the world moved under is gathered and decided again.
 */
export interface AcceptorOptions {
  database: Queryable;
  sealer: Sealer;
  doorbell: Doorbell;
  /** Policy overrides of the environment. */
  environmentPolicy: PolicyOverrides;
}

export interface Accepted {
  /** JSON of the message (202). */
  body: string;
  /** The answer is that of an earlier request with the same key. */
  replayed: boolean;
}

/** A request moves on by every other one that is written before it: only a fault makes it run out of turns. */
const MAX_TURNS = 50;
const DEADLINE_MS = 4_500;

type Item = Request & { draft: Draft };

type Result =
  | { kind: 'written'; body: string; rung: Promise<void> }
  | { kind: 'replay'; body: string }
  | { kind: 'refused'; problem: Problem }
  | { kind: 'again' };

export class Acceptor {
  readonly #options: AcceptorOptions;
  readonly #batcher: Batcher<Item, Result>;
  readonly #policies = new Map<string, Policy>();

  constructor(options: AcceptorOptions) {
    this.#options = options;
    this.#batcher = new Batcher({
      run: (group) => this.#run(group),
      mayIsolate: wasRolledBack,
      deadlineMs: DEADLINE_MS,
      onTimeout: () => new Problem('internal-error'),
    });
  }

  /**
   * @param header the `Idempotency-Key`, where there is one
   * @throws Problem
   */
  async accept(
    request: { body: unknown; idempotencyKey: string | undefined },
    caller: Pick<Caller, 'accountId' | 'instances' | 'suspended'>,
  ): Promise<Accepted> {
    const item = this.#read(request, caller);
    for (let turn = 0; turn < MAX_TURNS; turn++) {
      const result = await this.#batcher.submit(item);
      if (result.kind === 'again') continue;
      if (result.kind === 'refused') throw result.problem;
      if (result.kind === 'replay') return { body: result.body, replayed: true };
      await result.rung;
      failpoint('api.accept.after-xadd');
      return { body: result.body, replayed: false };
    }
    throw new Problem('internal-error');
  }

  #read(
    { body, idempotencyKey }: { body: unknown; idempotencyKey: string | undefined },
    { accountId, instances, suspended }: Pick<Caller, 'accountId' | 'instances' | 'suspended'>,
  ): Item {
    const key = readIdempotencyKey(idempotencyKey);
    if (suspended) throw new Problem('account-suspended');
    const draft = readDraft(body);
    const { instanceId, recipient, content, replyTo } = draft;
    if (instanceId === null || (instances !== null && !instances.has(instanceId)))
      throw new Problem('not-found');
    const { sealer } = this.#options;
    return {
      draft,
      accountId,
      instanceId,
      recipient,
      key,
      bodyHash: key === null ? null : hashBody(sealer, accountId, body),
      fingerprint: sealer.fingerprint(accountId, 'mass send', normaliseText(content.text?.body ?? '')),
      replyTo,
    };
  }

  async #run(group: readonly Item[]): Promise<Result[]> {
    const { database, doorbell, environmentPolicy } = this.#options;
    const minutes = environmentPolicy.mass_block?.window_minutes ?? DEFAULT_MASS_MINUTES;
    const facts = await gather(database, group, minutes);
    const decisions = decideGroup(group, facts, (seen) => this.#policyOf(seen));
    const entries = new Map<number, Entry & { body: string }>();
    decisions.forEach((decision, index) => {
      if (decision.do === 'write') entries.set(index, this.#entry(group[index]!, decision.plan));
    });
    if (entries.size === 0)
      return decisions.map((decision, index) => this.#settle(group[index]!, decision, false));

    const outcome = await write(database, [...entries.values()]);
    failpoint('api.accept.after-commit');
    const written = new Set([...entries.keys()].filter((_, place) => outcome[place]));
    const heads = [...written]
      .map((index) => entries.get(index)!)
      .filter(({ plan }) => plan.releaseAt === null);
    const rung = doorbell.ring(
      heads.map(({ request, messageId }) => ({ instanceId: request.instanceId, messageId })),
    );
    const allWritten = written.size === entries.size;
    return decisions.map((decision, index) => {
      if (written.has(index)) return { kind: 'written', body: entries.get(index)!.body, rung };
      return this.#settle(group[index]!, decision, !allWritten);
    });
  }

  /** The result of a request that was not written. */
  #settle(item: Item, decision: Decision, moved: boolean): Result {
    if (decision.do === 'replay') {
      const body = this.#options.sealer
        .open(item.accountId, RESPONSE_COLUMN, decision.sealed)
        .toString('utf8');
      return { kind: 'replay', body };
    }
    if (decision.do === 'refuse' && !(decision.tentative && moved)) {
      return { kind: 'refused', problem: decision.problem };
    }
    return { kind: 'again' };
  }

  #entry(item: Item, plan: Plan): Entry & { body: string } {
    const { sealer } = this.#options;
    const { draft, accountId, instanceId } = item;
    const messageId = newUuid();
    const createdAt = timeOfUuid(messageId);
    const body = JSON.stringify(acceptedMessage(item, plan, { messageId, createdAt }));
    return {
      request: item,
      plan,
      messageId,
      createdAt,
      to: draft.to,
      type: draft.type,
      waMessageId: newWaMessageId(),
      contentSealed: sealContent(sealer, instanceId, JSON.stringify(draft.content)),
      responseSealed: item.key === null ? null : sealer.seal(accountId, RESPONSE_COLUMN, body),
      body,
    };
  }

  /** Policies are read with every group; only the work of resolving one that was seen before is saved. */
  #policyOf({ accountPolicy, instancePolicy, warmUpFrom, at }: Facts): Policy {
    const warmingUp = isWarmingUp(warmUpFrom === null ? null : new Date(warmUpFrom), new Date(at));
    const key = `${warmingUp} ${accountPolicy} ${instancePolicy}`;
    let policy = this.#policies.get(key);
    if (!policy) {
      const levels = {
        environment: this.#options.environmentPolicy,
        account: JSON.parse(accountPolicy ?? '{}') as PolicyOverrides,
        instance: JSON.parse(instancePolicy ?? '{}') as PolicyOverrides,
      };
      policy = resolvePolicy(levels, { warmingUp });
      if (this.#policies.size >= MAX_POLICIES) this.#policies.clear();
      this.#policies.set(key, policy);
    }
    return policy;
  }
}

const DEFAULT_MASS_MINUTES = 60;
const MAX_POLICIES = 10_000;

function acceptedMessage(
  item: Item,
  plan: Plan,
  { messageId, createdAt }: { messageId: string; createdAt: number },
): MessageOut {
  const time = new Date(createdAt).toISOString();
  return {
    id: toPublicId('message', messageId),
    instance_id: toPublicId('instance', item.instanceId),
    direction: 'outbound',
    to: item.draft.to,
    type: item.draft.type,
    status: 'queued',
    wa_message_id: null,
    rendered_as: null,
    error: null,
    created_at: time,
    sent_at: null,
    delivered_at: null,
    read_at: null,
    failed_at: null,
    ...(plan.releaseAt && { scheduled_for: plan.releaseAt.toISOString() }),
    updated_at: time,
  };
}

/** The id on the network: chosen now, the same for every attempt. */
function newWaMessageId(): string {
  return `3EB0${randomBytes(9).toString('hex').toUpperCase()}`;
}

/** Postgres answered, and so undid, the statement: it may be tried again in parts. */
function wasRolledBack(error: unknown): boolean {
  const cause = (error as { meta?: { driverAdapterError?: { cause?: { originalCode?: string } } } }).meta
    ?.driverAdapterError?.cause;
  const code = cause?.originalCode;
  return code !== undefined && !/^(08|57|58|53)/.test(code);
}
