import type { MenuContent } from '@gwk/core/menus/sent-menu';
import type { Sealer } from '@gwk/core/encryption';

/**
 * A menu at rest (menus.options_sealed): JSON of MenuContent, sealed for the instance. The row is made with the
 * encoded message, before its first stanza, and counts once `sent_at` says that it left.
 */
const OPTIONS = 'menus.options_sealed';

export function sealMenu(sealer: Sealer, instanceId: string, { options, selectable }: MenuContent): Buffer {
  return sealer.sealJson(instanceId, OPTIONS, { options, selectable });
}

export function openMenu(sealer: Sealer, instanceId: string, sealed: Uint8Array): MenuContent {
  return sealer.openJson(instanceId, OPTIONS, sealed) as MenuContent;
}
