import { isDeepStrictEqual } from 'node:util';
import { newUuid, parseUuidTime } from '@gwk/core/ids';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import type { Sealer } from '@gwk/core/encryption';
import { audit, CLUSTER } from '../accounts/audit-log.js';
import type { Caller } from '../accounts/caller.js';
import type { Database } from '../database/database.js';
import type { Instance, Prisma } from '../generated/prisma/client.js';
import { newCommandKey } from './command-key.js';
import {
  getDisplayName,
  validateResource,
  labelledId,
  type KnownInstance,
  type Observed,
  type RejectionReason,
  type Verdict,
} from './validate.js';

export interface ProjectionOptions {
  /** `environment` of new instances. */
  environment: string;
  /** Namespace in which the API creates resources. */
  apiNamespace: string;
  /** Limit of web instances for accounts without one of their own. */
  maxInstances: number;
  /** Caller of the request that wrote the resource; absent: a change in the cluster. */
  by?: Caller;
}

export type ProjectionResult =
  | { accepted: true; id: string; changed: boolean; created: boolean }
  /** `id`: row of the refused resource, unchanged, if it has one. */
  | { accepted: false; reason: RejectionReason; message: string; id: string | null };

/**
 * Projects an Instance resource into its row. The API calls this after its own write, the operator through the internal API,
 * possibly at the same time. The lock of the account's row serialises them, and names and limits are checked under it.
 */
export async function projectResource(
  db: Database,
  sealer: Sealer,
  resource: InstanceResource,
  options: ProjectionOptions,
): Promise<ProjectionResult> {
  return db.$transaction((tx) => projectWithin(tx, sealer, resource, options));
}

/** Projects a resource in the caller's transaction. */
export async function projectWithin(
  tx: Prisma.TransactionClient,
  sealer: Sealer,
  resource: InstanceResource,
  options: ProjectionOptions,
): Promise<ProjectionResult> {
  const { verdict, seen } = await decideWithin(tx, resource, options);
  if (verdict.do === 'reject') {
    const { reason, message, id } = verdict;
    return { accepted: false, reason, message, id };
  }
  if (verdict.do === 'create') {
    const id = verdict.id ?? newUuid();
    await insertInstance(tx, { id, accountId: seen.account!.id, resource, sealer, options });
    await note(tx, { id, resource, options, before: null });
    return { accepted: true, id, changed: true, created: true };
  }
  if (verdict.do === 'update') await updateInstance(tx, verdict.id, resource, options);
  return { accepted: true, id: verdict.id, changed: verdict.do === 'update', created: false };
}

/** Decides about a resource without writing; locks the account until the end of the transaction. */
export async function decideWithin(
  tx: Prisma.TransactionClient,
  resource: InstanceResource,
  options: ProjectionOptions,
): Promise<{ verdict: Verdict; seen: Observed }> {
  const seen = await observe(tx, resource, options);
  return { verdict: validateResource(resource, seen), seen };
}

/** Reads and locks the account until the end of the transaction. Sends do not wait for this lock. */
export async function lockAccountByName(
  tx: Prisma.TransactionClient,
  name: string,
): Promise<{ id: string; namespaces: string[]; maxInstances: number | null } | null> {
  const rows = await tx.$queryRaw<{ id: string; namespaces: string[]; maxInstances: number | null }[]>`
    SELECT id, namespaces, max_instances AS "maxInstances" FROM accounts WHERE name = ${name} FOR NO KEY UPDATE`;
  return rows[0] ?? null;
}

const KNOWN = { id: true, accountId: true, kind: true, resourceGeneration: true, deletedAt: true } as const;

async function observe(
  tx: Prisma.TransactionClient,
  resource: InstanceResource,
  options: ProjectionOptions,
): Promise<Observed> {
  const account = await lockAccountByName(tx, resource.spec.account);
  const rows = await observeRows(tx, resource, options);
  const self = rows.own?.id ?? rows.namesake?.id;
  return {
    account: account && { ...account, maxInstances: account.maxInstances ?? options.maxInstances },
    apiNamespace: options.apiNamespace,
    ...rows,
    ...(await observeAccount(tx, account?.id ?? null, resource, self)),
  };
}

async function observeRows(
  tx: Prisma.TransactionClient,
  resource: InstanceResource,
  options: ProjectionOptions,
): Promise<Pick<Observed, 'own' | 'namesake' | 'labelled'>> {
  const { uid, namespace, name } = resource.metadata;
  const find = async (where: Prisma.InstanceWhereInput): Promise<KnownInstance | null> =>
    known(await tx.instance.findFirst({ where, select: KNOWN }));
  const place = { resourceNamespace: namespace, resourceName: name };
  const own = await find({ ...place, resourceUid: uid });
  if (own) return { own, namesake: null, labelled: null };
  const id = labelledId(resource, options.apiNamespace);
  return {
    own,
    namesake: await find({ ...place, deletedAt: null }),
    labelled: id === null ? null : await find({ id }),
  };
}

async function observeAccount(
  tx: Prisma.TransactionClient,
  accountId: string | null,
  resource: InstanceResource,
  self: string | undefined,
): Promise<Pick<Observed, 'nameTaken' | 'counts'>> {
  const counts = { web: 0, sandbox: 0 };
  if (accountId === null) return { nameTaken: false, counts };
  const live = { accountId, deletedAt: null };
  const named = await tx.instance.findFirst({
    where: { ...live, name: getDisplayName(resource), ...(self !== undefined && { id: { not: self } }) },
    select: { id: true },
  });
  const groups = await tx.instance.groupBy({ by: ['kind'], where: live, _count: true });
  for (const group of groups) counts[group.kind as 'web' | 'sandbox'] = group._count;
  return { nameTaken: named !== null, counts };
}

function known(
  row: {
    id: string;
    accountId: string;
    kind: string;
    resourceGeneration: bigint;
    deletedAt: Date | null;
  } | null,
): KnownInstance | null {
  if (!row) return null;
  const { id, accountId, kind, resourceGeneration, deletedAt } = row;
  return { id, accountId, kind, generation: resourceGeneration, deleted: deletedAt !== null };
}

/** Columns that the resource determines. */
function desired(resource: InstanceResource) {
  const { spec, metadata } = resource;
  return {
    name: getDisplayName(resource),
    interactiveMode: spec.interactiveMode,
    policy: (spec.policy ?? {}) as Prisma.InputJsonObject,
    suspended: spec.suspended,
    resourceNamespace: metadata.namespace,
    resourceName: metadata.name,
    resourceUid: metadata.uid,
    resourceGeneration: BigInt(metadata.generation),
  };
}

async function insertInstance(
  tx: Prisma.TransactionClient,
  given: {
    id: string;
    accountId: string;
    resource: InstanceResource;
    sealer: Sealer;
    options: ProjectionOptions;
  },
): Promise<void> {
  const { id, accountId, resource, sealer, options } = given;
  const now = new Date();
  // A sandbox connects by itself.
  const state = resource.spec.kind === 'sandbox' ? 'connecting' : 'pending_pair';
  await tx.instance.create({
    data: {
      id,
      accountId,
      ...desired(resource),
      kind: resource.spec.kind,
      environment: options.environment,
      state,
      stateChangedAt: now,
      commandKeySealed: new Uint8Array(newCommandKey(sealer, id)),
      createdAt: new Date(parseUuidTime(id)),
    },
  });
  await tx.instanceLease.create({ data: { instanceId: id } });
  await tx.instanceCounters.create({ data: { instanceId: id } });
  await tx.instanceState.create({ data: { id: newUuid(), instanceId: id, state, since: now } });
  await recordSuspension(tx, id, resource.spec.suspended);
}

async function updateInstance(
  tx: Prisma.TransactionClient,
  id: string,
  resource: InstanceResource,
  options: ProjectionOptions,
): Promise<void> {
  const before = await tx.instance.findUniqueOrThrow({ where: { id } });
  await tx.instance.update({ where: { id }, data: { ...desired(resource), version: { increment: 1 } } });
  await recordSuspension(tx, id, resource.spec.suspended);
  await note(tx, { id, resource, options, before });
}

/** Writes the change and its author to the audit log. */
async function note(
  tx: Prisma.TransactionClient,
  change: { id: string; resource: InstanceResource; options: ProjectionOptions; before: Instance | null },
): Promise<void> {
  const { id, resource, options, before } = change;
  const { accountId } = before ?? (await tx.instance.findUniqueOrThrow({ where: { id } }));
  const { namespace, name } = resource.metadata;
  const { by } = options;
  await audit(tx, {
    actor: by ? `key:${by.keyId}` : CLUSTER,
    accountId,
    action: before ? 'instance.update' : 'instance.create',
    subject: id,
    detail: { ...(!by && { namespace, resource: name }), ...novelties(resource, before) },
  });
}

function novelties(resource: InstanceResource, before: Instance | null): Prisma.InputJsonObject {
  const { name, interactiveMode, policy, suspended } = desired(resource);
  if (!before) return { name, kind: resource.spec.kind, ...(suspended && { suspended }) };
  return {
    ...(name !== before.name && { name }),
    ...(interactiveMode !== before.interactiveMode && { interactive_mode: interactiveMode }),
    ...(!isDeepStrictEqual(policy, before.policy) && { policy }),
    ...(suspended !== before.suspended && { suspended }),
  };
}

/** Opens or ends the interval of a suspension, if it is not open or ended already. */
async function recordSuspension(
  tx: Prisma.TransactionClient,
  instanceId: string,
  suspended: boolean,
): Promise<void> {
  if (!suspended) {
    const present = { instanceId, endedAt: null };
    await tx.instanceSuspension.updateMany({ where: present, data: { endedAt: new Date() } });
    return;
  }
  await tx.$executeRaw`
    INSERT INTO instance_suspensions (id, instance_id, since) VALUES (${newUuid()}::uuid, ${instanceId}::uuid, now())
    ON CONFLICT (instance_id) WHERE ended_at IS NULL DO NOTHING`;
}
