import type { MenuContent } from '@gwk/core/menus/sent-menu';
import type { Sealer } from '@gwk/core/encryption';

/**
 * JSON of MenuContent, encrypted with the instance's key. The row is created with the encoded message, before the first
 * stanza. Replies match it only after `sent_at` is set.
 */
const OPTIONS = 'menus.options_sealed';

export function sealMenu(sealer: Sealer, instanceId: string, { options, selectable }: MenuContent): Buffer {
  return sealer.sealJson(instanceId, OPTIONS, { options, selectable });
}

export function openMenu(sealer: Sealer, instanceId: string, sealed: Uint8Array): MenuContent {
  return sealer.openJson(instanceId, OPTIONS, sealed) as MenuContent;
}
