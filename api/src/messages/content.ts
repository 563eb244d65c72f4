import type { Sealer } from '@gwk/core/crypto/encryption';
import type { SentMenu } from '@gwk/core/protocol/engine';

/** Encrypted columns of a message: content, encoded form for the network, card for quotes, and menu. Their scope is the instance. */
const CONTENT = 'message_contents.content_sealed';
const BUILT = 'message_contents.built_sealed';
const CARD = 'message_cards.card_sealed';
const MENU_OPTIONS = 'menus.options_sealed';

/** @param content JSON of OutboundContent */
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

/** @param card in base64, as engines report it */
export function sealCard(sealer: Sealer, instanceId: string, card: string): Buffer {
  return sealer.seal(instanceId, CARD, Buffer.from(card, 'base64'));
}

export function openCard(sealer: Sealer, instanceId: string, sealed: Uint8Array): string {
  return sealer.open(instanceId, CARD, sealed).toString('base64');
}

/** The confidential part of a menu, which is stored encrypted. */
type MenuContent = Pick<SentMenu, 'options' | 'selectable' | 'secret'>;

/** The row of a menu is created with the encoded message, before the first stanza. Replies match it once `sent_at` is set. */
export function sealMenu(sealer: Sealer, instanceId: string, menu: MenuContent): Buffer {
  const { options, selectable, secret } = menu;
  return sealer.sealJson(instanceId, MENU_OPTIONS, { options, selectable, secret });
}

export function openMenu(sealer: Sealer, instanceId: string, sealed: Uint8Array): MenuContent {
  return sealer.openJson(instanceId, MENU_OPTIONS, sealed) as MenuContent;
}
