import { ResourceConflict, type NewResource } from '@gwk/core/desired-state/desired-state';
import { Problem } from '@gwk/core/problems';
import type { InstanceCreate } from '@gwk/core/resources/instance';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import type { Caller } from '../accounts/caller.js';
import type { Instance, Prisma } from '../generated/prisma/client.js';
import type { Services } from '../http/services.js';
import { draftResource, buildManifest, problemOfRejection, toWriteProblem } from './desired.js';
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
  return services
    .limitClusterCalls(() => services.db.$transaction(create))
    .catch((error: unknown) => {
      throw toWriteProblem(error);
    });
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
  const resource = await createResource(services.resources, manifest);
  const result = await projectWithin(tx, services.sealer, resource, { ...options, by: caller });
  if (!result.accepted) throw problemOfRejection(result.reason, result.message, body.kind);
  if (result.id !== id) throw new Problem('internal-error');
  return tx.instance.findUniqueOrThrow({ where: { id } });
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

export function projectionOptions({ config }: Services): ProjectionOptions {
  return {
    environment: config.environment,
    apiNamespace: config.clusterNamespace,
    maxInstances: config.maxInstances,
  };
}
