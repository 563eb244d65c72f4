import type { V1Node } from '@kubernetes/client-node';
import type { KubeObject } from './informer.js';

export type RawNode = KubeObject & Pick<V1Node, 'spec' | 'status'>;

/** What is kept of a node. */
export interface NodeState {
  lost: boolean;
}

const LOST_TAINTS = new Set(['node.kubernetes.io/unreachable', 'node.kubernetes.io/out-of-service']);

/**
 * Lost: its kubelet has not been heard for so long that the control plane gave it up. One that says of itself that it
 * is not ready still answers.
 */
export function readNode({ spec, status }: RawNode): NodeState {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const tainted = spec?.taints?.some(({ key }) => LOST_TAINTS.has(key)) ?? false;
  return { lost: ready?.status === 'Unknown' || tainted };
}
