import type { MenuOption } from '@gwk/core/menus/replies';
import type { Sealer } from '@gwk/core/sealing';

/**
 * The options of a menu at rest (menus.options_sealed): JSON of MenuOption[], sealed for the instance. The row is
 * made with the encoded message, before its first stanza, and counts once `sent_at` says that it left.
 */
const OPTIONS = 'menus.options_sealed';

export function sealOptions(sealer: Sealer, instanceId: string, options: readonly MenuOption[]): Buffer {
  return sealer.sealJson(instanceId, OPTIONS, options);
}

export function openOptions(sealer: Sealer, instanceId: string, sealed: Uint8Array): MenuOption[] {
  return sealer.openJson(instanceId, OPTIONS, sealed) as MenuOption[];
}
