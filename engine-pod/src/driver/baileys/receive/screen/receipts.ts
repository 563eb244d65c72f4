import type { BinaryNode, WASocket } from '@whiskeysockets/baileys';
import type { ReceiptFields } from '@gwk/core/resources/message';
import type { Receipt } from '../../../driver.js';
import { interceptEvent } from '../../patches/socket-internals.js';

/** Maximum number of messages that one receipt may list. */
const MAX_LISTED = 5_000;
/** Maximum number of receipts that wait to be stored while the API is slow or unavailable. */
const MAX_WAITING = 10_000;

const KINDS = new Map<string | undefined, ReceiptFields>([
  [undefined, { status: 'delivered' }],
  ['read', { status: 'read' }],
  ['played', { status: 'read', played: true }],
]);

/** Parses receipts for our own messages. Empty for all others: from our own devices, and resend requests. */
export function parseReceipts({ attrs, content }: BinaryNode, isOwn: (jid: string) => boolean): Receipt[] {
  const fields = KINDS.get(attrs['type']);
  const by = attrs['participant'] ?? attrs['from'] ?? '';
  if (!fields || isOwn(by)) return [];
  const at = new Date(Number(attrs['t'] ?? 0) * 1_000 || Date.now());
  const list = Array.isArray(content) ? content.find(({ tag }) => tag === 'list') : undefined;
  const items = Array.isArray(list?.content) ? list.content : [];
  const ids = [attrs['id'], ...items.map((item) => item.attrs['id'])];
  return ids
    .slice(0, MAX_LISTED)
    .filter((id) => id !== undefined)
    .map((waMessageId) => ({ waMessageId, ...fields, at }));
}

/**
 * Stores receipts before Baileys acknowledges them; after that the network does not send them again. It reads the
 * stanza, because Baileys groups its events and merges "delivered" and "read".
 */
export function storeReceipts(
  socket: Pick<WASocket, 'ws'>,
  isOwn: (jid: string) => boolean,
  store: (receipt: Receipt) => Promise<void>,
): void {
  let waiting = 0;
  interceptEvent(socket, 'CB:receipt', (node: BinaryNode, pass) => {
    const receipts = parseReceipts(node, isOwn);
    // Senders choose how many receipts come. This one comes again with the next connection.
    if (waiting + receipts.length > MAX_WAITING) return;
    waiting += receipts.length;
    Promise.all(receipts.map(store))
      .finally(() => (waiting -= receipts.length))
      .then(
        () => pass(node),
        // Comes again with the next connection too.
        () => undefined,
      );
  });
}
