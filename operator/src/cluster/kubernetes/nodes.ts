import type { V1Node } from '@kubernetes/client-node';
import type { KubeObject } from './informer.js';

export type RawNode = KubeObject & Pick<V1Node, 'spec' | 'status'>;

/** The cached part of a node. */
export interface NodeState {
  lost: boolean;
}

const LOST_TAINTS = new Set(['node.kubernetes.io/unreachable', 'node.kubernetes.io/out-of-service']);

/**
 * A node is lost when its kubelet has been unreachable for so long that the control plane gave it up. A node that
 * reports itself not ready still answers.
 */
export function readNode({ spec, status }: RawNode): NodeState {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const tainted = spec?.taints?.some(({ key }) => LOST_TAINTS.has(key)) ?? false;
  return { lost: ready?.status === 'Unknown' || tainted };
}
