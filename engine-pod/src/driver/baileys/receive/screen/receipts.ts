import type { BinaryNode, WASocket } from '@whiskeysockets/baileys';
import type { Receipt } from '../../../driver.js';

/** Of one receipt: of what may be listed beside the first. */
const MAX_LISTED = 5_000;
/** So many may wait to be stored, while the API is slow or away. */
const MAX_WAITING = 10_000;

type ReceiptStatus = Pick<Receipt, 'status' | 'played'>;

const KINDS = new Map<string | undefined, ReceiptStatus>([
  [undefined, { status: 'delivered' }],
  ['read', { status: 'read' }],
  ['played', { status: 'read', played: true }],
]);

/** What a receipt says of messages of ours; nothing for all others (of our own devices, requests to send again). */
export function parseReceipts({ attrs, content }: BinaryNode, isOwn: (jid: string) => boolean): Receipt[] {
  const status = KINDS.get(attrs['type']);
  const by = attrs['participant'] ?? attrs['from'] ?? '';
  if (!status || isOwn(by)) return [];
  const at = new Date(Number(attrs['t'] ?? 0) * 1_000 || Date.now());
  const list = Array.isArray(content) ? content.find(({ tag }) => tag === 'list') : undefined;
  const items = Array.isArray(list?.content) ? list.content : [];
  const ids = [attrs['id'], ...items.map((item) => item.attrs['id'])];
  return ids
    .slice(0, MAX_LISTED)
    .filter((id) => id !== undefined)
    .map((waMessageId) => ({ waMessageId, ...status, at }));
}

type Listener = (node: BinaryNode) => unknown;

/**
 * Receipts are stored before Baileys acknowledges them, after which the network does not bring them again. Read from
 * the stanza: its events come in groups, in which "delivered" and "read" fall together.
 */
export function storeReceipts(
  socket: Pick<WASocket, 'ws'>,
  isOwn: (jid: string) => boolean,
  store: (receipt: Receipt) => Promise<void>,
): void {
  const name = 'CB:receipt';
  let waiting = 0;
  const acknowledging = socket.ws.listeners(name) as Listener[];
  socket.ws.removeAllListeners(name);
  socket.ws.on(name, (node: BinaryNode) => {
    const receipts = parseReceipts(node, isOwn);
    // Whoever writes chooses how many come. This one comes again with the next connection.
    if (waiting + receipts.length > MAX_WAITING) return;
    waiting += receipts.length;
    Promise.all(receipts.map(store))
      .finally(() => (waiting -= receipts.length))
      .then(
        () => {
          for (const acknowledge of acknowledging) acknowledge(node);
        },
        // As above.
        () => undefined,
      );
  });
}
