import { randomBytes } from 'node:crypto';
import type { Sealer } from '@gwk/core/encryption';

/** Key of the commands to an instance's engine (core/src/protocol/commands.ts), stored encrypted in the instance's row. */
const COLUMN = 'instances.command_key_sealed';
const BYTES = 32;

export function newCommandKey(sealer: Sealer, instanceId: string): Buffer {
  return sealer.seal(instanceId, COLUMN, randomBytes(BYTES));
}

export function openCommandKey(sealer: Sealer, instanceId: string, sealed: Uint8Array): Buffer {
  return sealer.open(instanceId, COLUMN, sealed);
}
