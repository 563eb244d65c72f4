import { ANNOTATIONS, COMPONENT, LABELS, MANAGED_BY } from '@gwk/core/kubernetes/names';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import type { V1Pod } from '@kubernetes/client-node';

/** Why the pod must not be deleted. Pure. */
export function findObstacle(
  { metadata, status }: InstanceResource,
  pod: V1Pod,
  isForced: boolean,
): string | null {
  const { name, labels = {}, annotations = {} } = pod.metadata!;
  const isEngine =
    labels[LABELS.managedBy] === MANAGED_BY &&
    labels[LABELS.component] === COMPONENT &&
    annotations[ANNOTATIONS.uid] === metadata.uid;
  if (!isEngine) return `pod ${name} is not the engine of this Instance`;
  const isRefused = status?.conditions.some(({ reason }) => reason === 'ClientVersionRefused') ?? false;
  if (!isRefused || isForced) return null;
  return 'the network refuses the client version, so a restarted engine stays offline; --force restarts it';
}
