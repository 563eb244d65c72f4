import { isDeepStrictEqual } from 'node:util';
import type { PolicyOverrides } from '@gwk/core/policy/policy';
import { Problem } from '@gwk/core/problems';
import type { InstanceUpdate } from '@gwk/core/resources/instance';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import type { InstanceKind, InteractiveMode } from '@gwk/core/states';
import type { Caller } from '../accounts/caller.js';
import { ResourceConflict, type AppliedManifest } from './resource-client.js';
import type { Instance, Prisma } from '../generated/prisma/client.js';
import { checkIfMatch } from '../http/etag.js';
import type { Services } from '../http/services.js';
import { projectionOptions } from './create.js';
import { draftResource, problemOfRejection } from './desired.js';
import { findInstance } from './find.js';
import { decideWithin, lockAccountByName, projectWithin } from './projection.js';

interface InstanceChange {
  id: string;
  /** Null or undefined: unchanged. */
  name?: string | null | undefined;
  mode?: InteractiveMode | null | undefined;
  /** Undefined: unchanged. */
  policy?: PolicyOverrides | undefined;
  ifMatch: string | undefined;
}

const TRIES = 3;

/**
 * Changes an instance under the lock of the account: first the resource, then the row from it. Earlier changes by others
 * (kubectl) are projected before `If-Match` is checked; changes between read and write cause a conflict and a retry.
 */
export async function updateInstance(
  services: Services,
  caller: Caller,
  change: InstanceChange,
): Promise<Instance> {
  const update = (tx: Prisma.TransactionClient) => updateWithin(tx, services, caller, change);
  for (let attempt = 1; ; attempt++) {
    try {
      return await services.clusterCalls.run(() => services.db.$transaction(update));
    } catch (error) {
      if (!(error instanceof ResourceConflict)) throw error;
      if (attempt === TRIES) throw new Problem('engine-unavailable', { retryAfter: 1 });
    }
  }
}

async function updateWithin(
  tx: Prisma.TransactionClient,
  services: Services,
  caller: Caller,
  change: InstanceChange,
): Promise<Instance> {
  await lockAccountByName(tx, caller.accountName);
  const known = await findInstance(tx, caller, change.id);
  const resource = await services.cluster.get(known.resourceNamespace, known.resourceName);
  const row = resource ? await catchUp(tx, services, caller, { known, resource }) : known;
  checkIfMatch(change.ifMatch, row.version);
  if (isUnchanged(row, change)) return row;

  const options = projectionOptions(services);
  const manifest = changedManifest(row, caller.accountName, change, resource);
  const { verdict } = await decideWithin(tx, draftResource(manifest, resource), options);
  const kind = row.kind as InstanceKind;
  if (verdict.do === 'reject') throw problemOfRejection(verdict.reason, verdict.message, kind);
  const applied = await services.cluster.apply(manifest);
  const result = await projectWithin(tx, services.sealer, applied, { ...options, by: caller });
  if (!result.accepted) throw problemOfRejection(result.reason, result.message, kind);
  return tx.instance.findUniqueOrThrow({ where: { id: row.id } });
}

/** Projects the current resource; a refused change leaves the row unchanged. */
async function catchUp(
  tx: Prisma.TransactionClient,
  services: Services,
  caller: Caller,
  { known, resource }: { known: Instance; resource: InstanceResource },
): Promise<Instance> {
  const result = await projectWithin(tx, services.sealer, resource, projectionOptions(services));
  return result.accepted && result.changed ? findInstance(tx, caller, known.id) : known;
}

function isUnchanged(row: Instance, { name, mode, policy }: InstanceChange): boolean {
  return (
    (name ?? row.name) === row.name &&
    (mode ?? row.interactiveMode) === row.interactiveMode &&
    (policy === undefined || isDeepStrictEqual(policy, row.policy))
  );
}

/** Includes all fields that the API owns, because server-side apply removes omitted ones. */
function changedManifest(
  row: Instance,
  accountName: string,
  { name, mode, policy }: InstanceChange,
  resource: InstanceResource | null,
): AppliedManifest {
  return {
    metadata: {
      namespace: row.resourceNamespace,
      name: row.resourceName,
      ...(resource && { resourceVersion: resource.metadata.resourceVersion }),
      ...(resource?.metadata.labels && { labels: resource.metadata.labels }),
    },
    spec: {
      account: accountName,
      displayName: name ?? row.name,
      kind: row.kind as InstanceKind,
      interactiveMode: mode ?? (row.interactiveMode as InteractiveMode),
      policy: policy ?? (row.policy as PolicyOverrides),
    },
  };
}

/** Change of a request; `policy` is validated. */
export function buildChange(
  id: string,
  body: InstanceUpdate,
  policy: PolicyOverrides | undefined,
  ifMatch: string | undefined,
): InstanceChange {
  return { id, name: body.name, mode: body.interactive_mode, policy, ifMatch };
}
