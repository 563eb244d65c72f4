import { isJidGroup, jidNormalizedUser, type BinaryNode, type WASocket } from '@whiskeysockets/baileys';
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
export function parseReceipts(stanza: BinaryNode, isOwn: (jid: string) => boolean): Receipt[] {
  const fields = KINDS.get(stanza.attrs['type']);
  if (!fields) return [];
  return listConfirmations(stanza)
    .slice(0, MAX_LISTED)
    .filter(({ by }) => !isOwn(by))
    .map(({ waMessageId, by, at }) => ({ waMessageId, ...fields, ...nameMember(stanza, by), at }));
}

/** In a group many members confirm a message. */
function nameMember({ attrs }: BinaryNode, by: string): Pick<ReceiptFields, 'participant'> {
  const participant = isJidGroup(attrs['from']) ? jidNormalizedUser(by) : '';
  return participant === '' ? {} : { participant };
}

interface Confirmation {
  waMessageId: string;
  by: string;
  at: Date;
}

/** One member confirms a list of messages, or in a group many members confirm one message each time. */
function listConfirmations(stanza: BinaryNode): Confirmation[] {
  const { attrs } = stanza;
  const grouped = listChildren(stanza, 'participants');
  if (grouped.length > 0) {
    return grouped.flatMap((message) =>
      listChildren(message, 'user').flatMap((member) =>
        confirm(message.attrs['key'], member.attrs['jid'], member.attrs['t'] ?? attrs['t']),
      ),
    );
  }
  const items = listChildren(stanza, 'list').flatMap((list) => listChildren(list, 'item'));
  const by = attrs['participant'] ?? attrs['from'];
  return [attrs['id'], ...items.map((item) => item.attrs['id'])].flatMap((id) => confirm(id, by, attrs['t']));
}

const confirm = (waMessageId: string | undefined, by = '', t = '0'): Confirmation[] =>
  waMessageId === undefined ? [] : [{ waMessageId, by, at: new Date(Number(t) * 1_000 || Date.now()) }];

const listChildren = ({ content }: BinaryNode, tag: string): BinaryNode[] =>
  Array.isArray(content) ? content.filter((child) => child.tag === tag) : [];

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
