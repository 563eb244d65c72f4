import type { Connection } from '../transport/connection.js';
import { node } from '../wire/nodes.js';

export interface StreamError {
  code?: string;
  /** A conflict: `replaced` by another connection of the device, or `device_removed`. */
  conflict?: 'replaced' | 'device_removed';
}

/** The network ends a connection and says why. Nothing that the client says from now on counts. */
export function streamError(connection: Connection, { code, conflict }: StreamError): void {
  const content = conflict ? [node('conflict', { type: conflict })] : undefined;
  connection.dismiss(node('stream:error', { code }, content));
}
