import { isDeepStrictEqual } from 'node:util';
import { toPublicId } from '@gwk/core/ids/ids';
import {
  DesiredStateUnavailable,
  ResourceConflict,
  ResourceInvalid,
  type NewResource,
} from '@gwk/core/desired-state/desired-state';
import type { PolicyOverrides } from '../policy/policy.js';
import { Problem } from '@gwk/core/problems/problems';
import type { InstanceCreate } from '../resources/instance.js';
import {
  ID_LABEL,
  MANIFEST_API_VERSION,
  toResourceName,
  type InstanceResource,
  type InstanceSpec,
} from '@gwk/core/resources/manifest';
import type { InstanceKind, InteractiveMode, OtherAccountMode } from '@gwk/core/states';
import type { Caller } from '../accounts/caller.js';
import type { Instance, Prisma } from '../generated/prisma/client.js';
import { checkIfMatch } from '../http/etag.js';
import type { Services } from '../http/services.js';
import { newSuspensionProblem } from '../http/suspension.js';
import { findInstance } from '../accounts/find-instance.js';
import { decideProjection, lockAccountByName, projectResource } from './projection.js';
import type { Rejection } from './validate.js';

/**
 * Creates an instance under the lock of the account. So limits and names hold, and a refusal leaves no resource. A crash
 * between resource and row leaves a resource, which the operator projects and a retry finds under the same id.
 */
export async function createInstance(
  services: Services,
  caller: Caller,
  { id, body }: { id: string; body: InstanceCreate },
): Promise<Instance> {
  const manifest = buildManifest(id, caller.accountName, body, services.config.clusterNamespace);
  const create = async (tx: Prisma.TransactionClient): Promise<Instance> => {
    const row = await writeResource(tx, services, caller, {
      draft: draftResource(manifest, null),
      write: () => createResource(services.resources, manifest),
    });
    if (row.id !== id) throw new Problem('internal-error');
    return row;
  };
  return inClusterTransaction(services, create).catch((error: unknown) => {
    throw toWriteProblem(error);
  });
}

/** An earlier request with the same id may have created it already. */
async function createResource(
  resources: Services['resources'],
  wanted: NewResource,
): Promise<InstanceResource> {
  try {
    return await resources.create(wanted);
  } catch (error) {
    const present = error instanceof ResourceConflict ? await resources.get(wanted.metadata) : null;
    if (!present) throw error;
    return present;
  }
}

interface InstanceChange {
  id: string;
  /** Null or undefined: unchanged. */
  name?: string | null | undefined;
  mode?: InteractiveMode | null | undefined;
  onOtherAccount?: OtherAccountMode | null | undefined;
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
      return await inClusterTransaction(services, update);
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
  const { resources } = services;
  await lockAccountByName(tx, caller.accountName);
  const known = await findInstance(tx, caller, change.id);
  const metadata = { namespace: known.resourceNamespace, name: known.resourceName };
  const resource = await resources.get(metadata);
  // A refused change of the resource leaves the row unchanged.
  const caughtUp = resource && (await projectResource(tx, services, resource));
  const row = caughtUp?.do === 'update' ? await findInstance(tx, caller, known.id) : known;
  checkIfMatch(change.ifMatch, row.version);
  const spec = changeSpec(row, caller.accountName, change);
  const isUnchanged =
    spec.displayName === row.name &&
    spec.interactiveMode === row.interactiveMode &&
    spec.onOtherAccount === row.onOtherAccount &&
    isDeepStrictEqual(spec.policy, row.policy);
  if (isUnchanged) return row;

  const wanted = { metadata, spec };
  const draft = draftResource(wanted, resource);
  const write = () =>
    resource ? resources.change({ ...resource, spec: draft.spec }) : resources.create(wanted);
  return writeResource(tx, services, caller, { draft, write });
}

/** Includes the unchanged fields of the row, which repair a resource whose last change was refused. */
function changeSpec(row: Instance, account: string, change: InstanceChange) {
  const { name, mode, onOtherAccount, policy } = change;
  return {
    account,
    displayName: name ?? row.name,
    kind: row.kind as InstanceKind,
    interactiveMode: mode ?? (row.interactiveMode as InteractiveMode),
    onOtherAccount: onOtherAccount ?? (row.onOtherAccount as OtherAccountMode),
    policy: policy ?? (row.policy as PolicyOverrides),
  };
}

const inClusterTransaction = <T>(
  { db, limitClusterCalls }: Services,
  work: (tx: Prisma.TransactionClient) => Promise<T>,
): Promise<T> => limitClusterCalls(() => db.$transaction(work));

/** Validates the resource that a write would produce, writes it and projects it. Locks the account. */
async function writeResource(
  tx: Prisma.TransactionClient,
  services: Services,
  caller: Caller,
  { draft, write }: { draft: InstanceResource; write: () => Promise<InstanceResource> },
): Promise<Instance> {
  const { kind } = draft.spec;
  const { verdict, seen } = await decideProjection(tx, draft, services.config);
  // The cached session or key of the caller may have a former name of the account, which another account can have by now.
  if (seen.account?.id !== caller.accountId)
    throw new Problem('engine-unavailable', { retryAfter: RETRY_AFTER_SECONDS });
  if (verdict.do === 'reject') throw toProblem(verdict, kind);
  const result = await projectResource(tx, services, await write(), caller);
  if (result.do === 'reject') throw toProblem(result, kind);
  return tx.instance.findUniqueOrThrow({ where: { id: result.id } });
}

/** Builds an Instance resource as the API writes it. */
function buildManifest(
  id: string,
  accountName: string,
  body: InstanceCreate,
  namespace: string,
): NewResource {
  const publicId = toPublicId('instance', id);
  return {
    metadata: { namespace, name: toResourceName(publicId), labels: { [ID_LABEL]: publicId } },
    spec: {
      account: accountName,
      displayName: body.name,
      kind: body.kind,
      interactiveMode: body.interactive_mode,
      onOtherAccount: body.on_other_account,
    },
  };
}

/** Builds the resource that a write would produce, for validation before the write. */
function draftResource(manifest: NewResource, present: InstanceResource | null): InstanceResource {
  const spec = { ...present?.spec, ...manifest.spec } as InstanceSpec;
  return {
    apiVersion: MANIFEST_API_VERSION,
    kind: 'Instance',
    metadata: {
      uid: '',
      resourceVersion: '',
      creationTimestamp: '',
      ...present?.metadata,
      ...manifest.metadata,
      generation: (present?.metadata.generation ?? 0) + 1,
    },
    spec: { ...spec, suspended: spec.suspended ?? false },
  };
}

function toProblem({ reason, message }: Rejection, kind: InstanceKind): Problem {
  switch (reason) {
    case 'NameTaken':
      return new Problem('instance-name-taken');
    case 'InstanceLimitReached':
      return new Problem(kind === 'sandbox' ? 'sandbox-limit-reached' : 'instance-limit-reached');
    case 'InvalidSpec':
      return new Problem('validation-error', { errors: [{ path: '', code: 'custom', message }] });
    case 'AccountSuspended':
      return newSuspensionProblem();
    case 'Deleted':
    case 'AccountNotAllowed':
      return new Problem('not-found');
  }
}

const RETRY_AFTER_SECONDS = 2;

/** Consumers may retry whatever prevented a write of the desired state. Other errors stay as they are. */
function toWriteProblem(error: unknown): unknown {
  const kinds = [DesiredStateUnavailable, ResourceConflict, ResourceInvalid];
  if (!kinds.some((kind) => error instanceof kind)) return error;
  const problem = new Problem('engine-unavailable', { retryAfter: RETRY_AFTER_SECONDS });
  problem.cause = error;
  return problem;
}
