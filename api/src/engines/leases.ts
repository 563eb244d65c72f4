import { randomUUID } from 'node:crypto';
import { Batcher } from '../platform/batcher.js';
import { resolvePolicy, type PolicyOverrides } from '../policy/policy.js';
import type { EngineRequest, EngineResponse, LeaseIdentity } from '@gwk/core/protocol/engine';
import type { InstanceKind, InstanceState } from '@gwk/core/states';
import { openCommandKey } from '../engine-commands/commands.js';
import { writeStates } from '../instances/state/write.js';
import { isRolledBack } from '../database/grouping.js';
import type { InternalDeps } from './dependencies.js';
import { fence, leaseArrays, type EngineCaller } from '../fencing/fence.js';
import { RefusalError, type LeaseRefusal } from '../fencing/refusal.js';
import { describeSession, toOpenPairing, type OpenPairingRow } from '../instances/pairing/sessions.js';
import type { RedisUsers } from './redis-users.js';

type RenewItem = LeaseIdentity & Pick<EngineCaller, 'instanceId'>;

interface RenewRow extends OpenPairingRow {
  place: number;
  id: string;
  unlink_id: string | null;
  refusal: LeaseRefusal;
  instance_policy: PolicyOverrides;
  account_policy: PolicyOverrides;
}

type Renewal = { refusal: LeaseRefusal } & EngineResponse<'renew'>;

type Terms = Pick<EngineResponse<'renew'>, 'messages_per_minute' | 'reject_calls'>;
const NO_TERMS: Terms = { messages_per_minute: 0, reject_calls: false };

interface TakeRow {
  outcome: 'acquired' | 'gone' | 'unauthorized' | 'lease-held';
  new_epoch: number;
  retry_after_ms: number;
  /** Since when the previous engine has been unresponsive, if the instance is stored as connected. */
  unresponsive_since: Date | null;
}

/**
 * Leases, which allow one engine per phone number (docs/architecture.md). A lease is a row with the times of Postgres. An epoch has
 * a random holder id: a restored backup may repeat the number, but never the pair.
 */
export class Leases {
  readonly #renewals = new Batcher<RenewItem, Renewal>({
    run: (items) => this.#renewAll(items),
    mayIsolate: isRolledBack,
  });

  constructor(
    private readonly deps: InternalDeps,
    private readonly redisUsers: RedisUsers,
  ) {}

  async acquire(caller: EngineCaller, request: EngineRequest<'acquire'>): Promise<EngineResponse<'acquire'>> {
    const holder = request.holder ?? randomUUID();
    const row = await this.#take(caller, request, holder);
    if (row.outcome === 'lease-held') {
      throw new RefusalError('lease-held', { retry_after_ms: row.retry_after_ms });
    }
    if (row.outcome !== 'acquired') throw new RefusalError(row.outcome);
    const lease = { epoch: row.new_epoch, holder };
    this.deps.log.info(
      { instance: caller.instanceId, pod: caller.pod, epoch: lease.epoch },
      'lease acquired',
    );
    const redis = await this.redisUsers.grant(caller.instanceId, lease);
    return this.#terms(caller.instanceId, lease, redis);
  }

  /**
   * Acquires the lease. If the previous engine became unresponsive while connected, also ends its interval: the instance was
   * offline between its last renewal and now.
   */
  #take(
    { instanceId, tokenId }: EngineCaller,
    request: EngineRequest<'acquire'>,
    holder: string,
  ): Promise<TakeRow> {
    const { database, sealer, config } = this.deps;
    return database.$transaction(async (tx) => {
      const [row] = await tx.$queryRaw<TakeRow[]>`
        SELECT * FROM gwk_acquire_lease(${instanceId}::uuid, ${tokenId}::uuid, ${request.pod}, ${request.version},
          ${holder}::uuid, ${config.leaseMs}::integer)`;
      const at = row!.unresponsive_since;
      if (at) {
        const change = { state: 'connecting', at, reason: 'engine_silent' } as const;
        await writeStates(tx, sealer, instanceId, [change]);
      }
      return row!;
    });
  }

  async #terms(
    instanceId: string,
    lease: LeaseIdentity,
    redis: EngineResponse<'acquire'>['redis'],
  ): Promise<EngineResponse<'acquire'>> {
    const row = await this.deps.database.instance.findUniqueOrThrow({
      where: { id: instanceId },
      include: { account: { select: { policy: true } }, pairing: true },
    });
    const { pairing } = row;
    const { leaseMs, leaseRenewMs } = this.deps.config;
    return {
      ...lease,
      lease_ms: leaseMs,
      renew_ms: leaseRenewMs,
      instance: {
        id: row.id,
        kind: row.kind as InstanceKind,
        state: row.state as InstanceState,
        state_reason: row.stateReason,
        first_paired_at: iso(row.firstPairedAt),
        banned_until: iso(row.bannedUntil),
        reconnect_count: row.reconnectCount,
        reconnect_at: iso(row.reconnectAt),
      },
      pairing: pairing && describeSession(this.deps.sealer, pairing, row),
      unlink: row.unlinkId,
      ...this.#resolveTerms(row.policy as PolicyOverrides, row.account.policy as PolicyOverrides),
      redis,
      command_key: openCommandKey(this.deps.sealer, row.id, row.commandKeySealed).toString('base64'),
    };
  }

  async renew(
    { instanceId }: EngineCaller,
    { epoch, holder }: LeaseIdentity,
  ): Promise<EngineResponse<'renew'>> {
    const { refusal, ...renewal } = await this.#renewals.submit({ instanceId, epoch, holder });
    if (refusal) throw new RefusalError(refusal);
    return renewal;
  }

  async #renewAll(items: readonly RenewItem[]): Promise<Renewal[]> {
    const rows = await this.deps.database.$queryRaw<RenewRow[]>`
      SELECT r.place::integer, r.refusal, i.id, i.policy AS instance_policy, a.policy AS account_policy,
        i.unlink_id, i.on_other_account AS "onOtherAccount", i.last_jid AS "lastJid", i.last_lid AS "lastLid",
        p.id AS session, p.method, p.phone_sealed, p.passkeys, p.passkey_count
      FROM unnest(gwk_renew_leases(${leaseArrays(items)}, ${this.deps.config.leaseMs}::integer),
        ${items.map((item) => item.instanceId)}::uuid[])
        WITH ORDINALITY AS r(refusal, instance_id, place)
      JOIN instances i ON i.id = r.instance_id
      JOIN accounts a ON a.id = i.account_id
      LEFT JOIN pairing_sessions p ON p.instance_id = i.id AND p.state = 'pairing'
      ORDER BY r.place`;
    const byPlace = new Map(rows.map((row) => [row.place, row]));
    return items.map((_, index) => this.#renewal(byPlace.get(index + 1)));
  }

  #renewal(row: RenewRow | undefined): Renewal {
    return {
      refusal: row ? row.refusal : 'gone',
      lease_ms: this.deps.config.leaseMs,
      ...(row ? this.#resolveTerms(row.instance_policy, row.account_policy) : NO_TERMS),
      pairing: row ? toOpenPairing(this.deps.sealer, row.id, row) : null,
      unlink: row?.unlink_id ?? null,
    };
  }

  #resolveTerms(instance: PolicyOverrides, account: PolicyOverrides): Terms {
    const levels = { environment: this.deps.environmentPolicy, account, instance };
    const { messages_per_minute, reject_calls } = resolvePolicy(levels, { warmingUp: false });
    return { messages_per_minute, reject_calls: reject_calls.enabled };
  }

  /** Ends the lease of an engine that has closed its socket; queries for ended leases find it at once. */
  async release(caller: EngineCaller, { epoch, holder }: LeaseIdentity): Promise<void> {
    const released = await this.deps.database.$executeRaw`
      UPDATE instance_leases SET holder = NULL, expires_at = now()
      WHERE instance_id = ${caller.instanceId}::uuid AND epoch = ${epoch}::integer AND holder = ${holder}::uuid`;
    if (released === 0) throw new RefusalError('fenced');
    this.deps.log.info({ instance: caller.instanceId, pod: caller.pod, epoch }, 'lease released');
  }

  /** Releases the lease of a pod whose process has ended, as the operator saw. */
  async engineEnded(instanceId: string, pod: string): Promise<void> {
    const released = await this.deps.database.$executeRaw`
      UPDATE instance_leases SET holder = NULL, expires_at = LEAST(expires_at, now())
      WHERE instance_id = ${instanceId}::uuid AND pod = ${pod} AND holder IS NOT NULL`;
    if (released > 0) this.deps.log.info({ instance: instanceId, pod }, 'lease of an ended engine released');
  }

  async restoreRedisUser(caller: EngineCaller, lease: LeaseIdentity): Promise<void> {
    await fence(this.deps.database, caller.instanceId, lease);
    if (!(await this.redisUsers.restore(caller.instanceId, lease))) throw new RefusalError('unavailable');
  }
}

const iso = (time: Date | null): string | null => time?.toISOString() ?? null;
