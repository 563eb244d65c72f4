import { NETWORK } from '../wire/jids.js';
import { node, seconds, type Node } from '../wire/nodes.js';
import type { World } from '../world.js';

/** A notification whose content is JSON. */
export function mexNotification(world: World, operation: string, data: Record<string, unknown>): Node {
  const update = node('update', { op_name: operation }, Buffer.from(JSON.stringify({ data })));
  const attributes = { from: NETWORK, type: 'mex', id: world.nextId('mex-'), t: seconds() };
  return node('notification', attributes, [update]);
}
