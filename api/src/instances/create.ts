import { Problem } from '@gwk/core/problems';
import type { InstanceCreate } from '@gwk/core/resources/instance';
import type { Caller } from '../accounts/caller.js';
import type { Instance, Prisma } from '../generated/prisma/client.js';
import type { Services } from '../http/services.js';
import { draftResource, buildManifest, problemOfRejection } from './desired.js';
import { decideWithin, projectWithin, type ProjectionOptions } from './projection.js';

/**
 * Creates an instance under the lock of the account: validates it, writes the resource and projects it into a row. So limits
 * and names hold, and a refusal leaves no resource. A crash in between leaves a resource, which the operator projects and a
 * retry finds under the same id.
 */
export function createInstance(
  services: Services,
  caller: Caller,
  request: { id: string; body: InstanceCreate },
): Promise<Instance> {
  const options = projectionOptions(services);
  const create = (tx: Prisma.TransactionClient) =>
    createWithin(tx, { services, caller, options, ...request });
  return services.clusterCalls.run(() => services.db.$transaction(create));
}

interface Creation {
  services: Services;
  caller: Caller;
  options: ProjectionOptions;
  id: string;
  body: InstanceCreate;
}

async function createWithin(tx: Prisma.TransactionClient, creation: Creation): Promise<Instance> {
  const { services, caller, options, id, body } = creation;
  const manifest = buildManifest(id, caller.accountName, body, options.apiNamespace);
  const { verdict } = await decideWithin(tx, draftResource(manifest, null), options);
  if (verdict.do === 'reject') throw problemOfRejection(verdict.reason, verdict.message, body.kind);
  // An earlier request or the operator may have applied it already; applying it again changes nothing.
  const resource = await services.cluster.apply(manifest);
  const result = await projectWithin(tx, services.sealer, resource, { ...options, by: caller });
  if (!result.accepted) throw problemOfRejection(result.reason, result.message, body.kind);
  if (result.id !== id) throw new Problem('internal-error');
  return tx.instance.findUniqueOrThrow({ where: { id } });
}

export function projectionOptions({ config }: Services): ProjectionOptions {
  return {
    environment: config.environment,
    apiNamespace: config.clusterNamespace,
    maxInstances: config.maxInstances,
  };
}
