import { randomBytes } from 'node:crypto';
import type { Sealer } from '@gwk/core/encryption';

/** The key that signs commands to an instance's engine (core/src/protocol/commands.ts), at rest in its row. */
const COLUMN = 'instances.command_key_sealed';
const BYTES = 32;

export function newCommandKey(sealer: Sealer, instanceId: string): Buffer {
  return sealer.seal(instanceId, COLUMN, randomBytes(BYTES));
}

export function openCommandKey(sealer: Sealer, instanceId: string, sealed: Uint8Array): Buffer {
  return sealer.open(instanceId, COLUMN, sealed);
}
