import type { Sealer } from '@gwk/core/encryption';

/** The content of a message, and its encoded form for the network. Both are encrypted with the instance's key. */
const CONTENT = 'message_contents.content_sealed';
const BUILT = 'message_contents.built_sealed';

/** `content`: JSON of OutboundContent. */
export function sealContent(sealer: Sealer, instanceId: string, content: string): Buffer {
  return sealer.seal(instanceId, CONTENT, content);
}

export function openContent(sealer: Sealer, instanceId: string, sealed: Uint8Array): string {
  return sealer.open(instanceId, CONTENT, sealed).toString('utf8');
}

export function sealBuilt(sealer: Sealer, instanceId: string, built: Uint8Array): Buffer {
  return sealer.seal(instanceId, BUILT, built);
}

export function openBuilt(sealer: Sealer, instanceId: string, sealed: Uint8Array): Buffer {
  return sealer.open(instanceId, BUILT, sealed);
}
