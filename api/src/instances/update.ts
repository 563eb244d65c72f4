import { ResourceConflict } from '@gwk/core/desired-state/desired-state';
import { isDeepStrictEqual } from 'node:util';
import type { PolicyOverrides } from '@gwk/core/policy/policy';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import type { InstanceKind, InteractiveMode } from '@gwk/core/states';
import type { Caller } from '../accounts/caller.js';
import type { Instance, Prisma } from '../generated/prisma/client.js';
import { checkIfMatch } from '../http/etag.js';
import type { Services } from '../http/services.js';
import { projectionOptions } from './create.js';
import { draftResource, problemOfRejection, toWriteProblem } from './desired.js';
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
      return await services.limitClusterCalls(() => services.db.$transaction(update));
    } catch (error) {
      if (!(error instanceof ResourceConflict) || attempt === TRIES) throw toWriteProblem(error);
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
  const place = { namespace: known.resourceNamespace, name: known.resourceName };
  const resource = await services.resources.get(place);
  const row = resource ? await catchUp(tx, services, caller, { known, resource }) : known;
  checkIfMatch(change.ifMatch, row.version);
  if (isUnchanged(row, change)) return row;

  const options = projectionOptions(services);
  const wanted = { metadata: place, spec: changeSpec(row, caller.accountName, change) };
  const draft = draftResource(wanted, resource);
  const { verdict } = await decideWithin(tx, draft, options);
  const kind = row.kind as InstanceKind;
  if (verdict.do === 'reject') throw problemOfRejection(verdict.reason, verdict.message, kind);
  const written = resource
    ? await services.resources.change({ ...resource, spec: draft.spec })
    : await services.resources.create(wanted);
  const result = await projectWithin(tx, services.sealer, written, { ...options, by: caller });
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

/** Includes the unchanged fields of the row, which repair a resource whose last change was refused. */
function changeSpec(row: Instance, account: string, { name, mode, policy }: InstanceChange) {
  return {
    account,
    displayName: name ?? row.name,
    kind: row.kind as InstanceKind,
    interactiveMode: mode ?? (row.interactiveMode as InteractiveMode),
    policy: policy ?? (row.policy as PolicyOverrides),
  };
}
