import type { Connection } from '../transport/connection.js';
import { node } from '../wire/nodes.js';

export interface StreamError {
  code?: string;
  /** A conflict: `replaced` by another connection of the device, or `device_removed`. */
  conflict?: 'replaced' | 'device_removed';
}

/** Ends a connection with an error. The network ignores the client from now on. */
export function streamError(connection: Connection, { code, conflict }: StreamError): void {
  const content = conflict ? [node('conflict', { type: conflict })] : undefined;
  connection.dismiss(node('stream:error', { code }, content));
}
