import { isDeepStrictEqual } from 'node:util';
import { newUuid, parseUuidTime } from '@gwk/core/ids/ids';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import type { Sealer } from '@gwk/core/crypto/encryption';
import { audit, CLUSTER, describePolicy } from '../accounts/audit-log.js';
import { nameActor, type Caller } from '../accounts/caller.js';
import type { Instance, Prisma } from '../generated/prisma/client.js';
import type { ApiConfig } from '../http/services.js';
import { newCommandKey } from '../engine-commands/commands.js';
import {
  getDisplayName,
  validateResource,
  labelledId,
  type Observed,
  type Rejection,
  type Verdict,
} from './validate.js';

export interface ProjectionDeps {
  config: Pick<ApiConfig, 'environment' | 'clusterNamespace' | 'maxInstances'>;
  sealer: Sealer;
}

/** `id` of a rejection: the row of the refused resource, unchanged, if it has one. */
export type ProjectionResult = { do: 'nothing' | 'update' | 'create'; id: string } | Rejection;

/**
 * Projects an Instance resource into its row. The API calls this after its own write, the operator through the internal API,
 * possibly at the same time. The lock of the account's row serialises them, and names and limits are checked under it.
 * @param by caller of the request that wrote the resource; absent: a change in the cluster
 */
export async function projectResource(
  tx: Prisma.TransactionClient,
  { config, sealer }: ProjectionDeps,
  resource: InstanceResource,
  by?: Caller,
): Promise<ProjectionResult> {
  const { verdict, seen } = await decideProjection(tx, resource, config);
  if (verdict.do === 'create') {
    const id = verdict.id ?? newUuid();
    const commandKeySealed = new Uint8Array(newCommandKey(sealer, id));
    const given = { id, accountId: seen.account!.id, environment: config.environment, commandKeySealed };
    const row = await insertInstance(tx, given, resource);
    await note(tx, row, { resource, by, before: null });
    return { do: 'create', id };
  }
  if (verdict.do === 'update') {
    const { id } = verdict;
    const before = (seen.own ?? seen.namesake)!;
    await tx.instance.update({ where: { id }, data: { ...desired(resource), version: { increment: 1 } } });
    await recordSuspension(tx, id, resource.spec.suspended);
    await note(tx, before, { resource, by, before });
  }
  return verdict;
}

/** Decides about a resource without writing; locks the account until the end of the transaction. */
export async function decideProjection(
  tx: Prisma.TransactionClient,
  resource: InstanceResource,
  { clusterNamespace: apiNamespace, maxInstances }: ProjectionDeps['config'],
): Promise<{ verdict: Verdict; seen: Observed<Instance> }> {
  const account = await lockAccountByName(tx, resource.spec.account);
  const rows = await observeRows(tx, resource, apiNamespace);
  const isUnchanged =
    rows.own !== null && BigInt(resource.metadata.generation) <= rows.own.resourceGeneration;
  const seen = {
    account: account && { ...account, maxInstances: account.maxInstances ?? maxInstances },
    apiNamespace,
    ...rows,
    ...(await observeAccount(
      tx,
      isUnchanged ? null : (account?.id ?? null),
      resource,
      rows.own ?? rows.namesake,
    )),
  };
  return { verdict: validateResource(resource, seen), seen };
}

interface LockedAccount {
  id: string;
  namespaces: string[];
  maxInstances: number | null;
  isSuspended: boolean;
}

/** Reads and locks the account until the end of the transaction. Sends do not wait for this lock. */
export async function lockAccountByName(tx: Prisma.TransactionClient, name: string) {
  const [row] = await tx.$queryRaw<LockedAccount[]>`
    SELECT id, namespaces, max_instances AS "maxInstances", suspended_at IS NOT NULL AS "isSuspended" FROM accounts WHERE name = ${name} FOR NO KEY UPDATE`;
  return row ?? null;
}

async function observeRows(tx: Prisma.TransactionClient, resource: InstanceResource, apiNamespace: string) {
  const { uid, namespace, name } = resource.metadata;
  const place = { resourceNamespace: namespace, resourceName: name };
  const own = await tx.instance.findFirst({ where: { ...place, resourceUid: uid } });
  if (own) return { own, namesake: null, labelled: null };
  const id = labelledId(resource, apiNamespace);
  return {
    own,
    namesake: await tx.instance.findFirst({ where: { ...place, deletedAt: null } }),
    labelled: id === null ? null : await tx.instance.findUnique({ where: { id } }),
  };
}

/**
 * Other instances of the account, as far as the verdict depends on them. Only a new instance takes a slot: reading thousands
 * of rows at each resync of each of them would use a core.
 *
 * @param accountId null: the resource cannot collide
 */
async function observeAccount(
  tx: Prisma.TransactionClient,
  accountId: string | null,
  resource: InstanceResource,
  self: Instance | null,
): Promise<Pick<Observed, 'nameTaken' | 'counts'>> {
  const counts = { web: 0, sandbox: 0 };
  if (accountId === null) return { nameTaken: false, counts };
  const live = { accountId, deletedAt: null };
  const named = await tx.instance.findFirst({
    where: { ...live, name: getDisplayName(resource), ...(self && { id: { not: self.id } }) },
    select: { id: true },
  });
  const { kind } = resource.spec;
  if (self === null) counts[kind] = await tx.instance.count({ where: { ...live, kind } });
  return { nameTaken: named !== null, counts };
}

/** Columns that the resource determines. */
function desired(resource: InstanceResource) {
  const { spec, metadata } = resource;
  return {
    name: getDisplayName(resource),
    interactiveMode: spec.interactiveMode,
    onOtherAccount: spec.onOtherAccount,
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
  given: Pick<Prisma.InstanceUncheckedCreateInput, 'id' | 'accountId' | 'environment' | 'commandKeySealed'>,
  resource: InstanceResource,
): Promise<Instance> {
  const { id: instanceId } = given;
  const { kind, suspended } = resource.spec;
  const since = new Date();
  // A sandbox connects by itself.
  const state = kind === 'sandbox' ? 'connecting' : 'pending_pair';
  const createdAt = new Date(parseUuidTime(instanceId));
  const row = await tx.instance.create({
    data: {
      ...given,
      ...desired(resource),
      kind,
      state,
      stateChangedAt: since,
      createdAt,
      lease: { create: {} },
      counters: { create: {} },
      states: { create: { id: newUuid(), state, since } },
    },
  });
  await recordSuspension(tx, instanceId, suspended);
  return row;
}

/** Writes the change and its author to the audit log. */
async function note(
  tx: Prisma.TransactionClient,
  { id, accountId }: Pick<Instance, 'id' | 'accountId'>,
  change: { resource: InstanceResource; by: Caller | undefined; before: Instance | null },
): Promise<void> {
  const { resource, by, before } = change;
  const { namespace, name } = resource.metadata;
  await audit(tx, {
    actor: by ? nameActor(by.credential) : CLUSTER,
    accountId,
    action: before ? 'instance.update' : 'instance.create',
    subject: id,
    detail: { ...(!by && { namespace, resource: name }), ...novelties(resource, before) },
  });
}

function novelties(resource: InstanceResource, before: Instance | null): Prisma.InputJsonObject {
  const { name, interactiveMode, onOtherAccount, policy, suspended } = desired(resource);
  if (!before) return { name, kind: resource.spec.kind, ...(suspended && { suspended }) };
  return {
    ...(name !== before.name && { name }),
    ...(interactiveMode !== before.interactiveMode && { interactive_mode: interactiveMode }),
    ...(onOtherAccount !== before.onOtherAccount && { on_other_account: onOtherAccount }),
    ...(!isDeepStrictEqual(policy, before.policy) && { policy: describePolicy(policy) }),
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
