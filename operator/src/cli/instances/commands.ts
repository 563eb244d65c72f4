import type { DesiredState, Place } from '@gwk/core/desired-state/desired-state';
import { toResourceName, type InstanceResource } from '@gwk/core/resources/manifest';
import { CliError } from '@gwk/core/process/cli-error';

export async function listInstances(state: DesiredState): Promise<object[]> {
  return (await state.list(null)).map(summarize);
}

function summarize({ metadata: { namespace, name }, spec, status }: InstanceResource): object {
  const ready = status?.conditions.find(({ type }) => type === 'Ready');
  return {
    namespace,
    name,
    id: status?.id ?? null,
    account: spec.account,
    displayName: spec.displayName ?? name,
    kind: spec.kind,
    state: status?.state ?? null,
    ready: ready?.status ?? 'Unknown',
    reason: ready?.reason ?? null,
  };
}

/** @throws CliError */
export async function getInstance(state: DesiredState, given: Place): Promise<InstanceResource> {
  const place = toPlace(given);
  const resource = await state.get(place);
  if (!resource) throw new CliError(`Instance "${place.namespace}/${place.name}" not found`);
  return resource;
}

/** Starts the deletion. @throws CliError */
export async function deleteInstance(state: DesiredState, given: Place): Promise<object> {
  const { namespace, name } = (await getInstance(state, given)).metadata;
  await state.delete({ namespace, name });
  return { namespace, name, deleting: true };
}

/** Accepts the id of an instance too: on one machine the API names all resources after the id. */
export const toPlace = ({ namespace, name }: Place): Place => ({ namespace, name: toResourceName(name) });
