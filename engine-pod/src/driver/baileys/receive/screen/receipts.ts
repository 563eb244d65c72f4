import { isJidGroup, type BinaryNode, type WASocket } from '@whiskeysockets/baileys';
import type { ReceiptFields } from '@gwk/core/resources/message';
import { parseUsername } from '@gwk/core/ids/recipients';
import type { Receipt } from '../../../driver.js';
import { interceptEvent } from '../../patches/socket-internals.js';
import { normaliseJid, readTime } from '../../stanza-attrs.js';

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
    .map(({ waMessageId, by, username, at }) => {
      return { waMessageId, ...fields, ...nameMember(stanza, by, username), at };
    });
}

/** In a group many members confirm a message. */
function nameMember({ attrs }: BinaryNode, by: string, stated: string | undefined): Partial<ReceiptFields> {
  const participant = isJidGroup(attrs['from']) ? normaliseJid(by) : '';
  const username = parseUsername(stated);
  if (participant === '') return {};
  return { participant, ...(username !== null && { participant_username: username }) };
}

interface Confirmation {
  waMessageId: string;
  by: string;
  username: string | undefined;
  at: Date;
}

/** One member confirms a list of messages, or in a group many members confirm one message each time. */
function listConfirmations(stanza: BinaryNode): Confirmation[] {
  const { attrs } = stanza;
  const grouped = listChildren(stanza, 'participants');
  if (grouped.length > 0) {
    return grouped.flatMap((message) =>
      listChildren(message, 'user').flatMap((member) =>
        confirm(message.attrs['key'], member.attrs['jid'], { t: attrs['t'], ...member.attrs }),
      ),
    );
  }
  const items = listChildren(stanza, 'list').flatMap((list) => listChildren(list, 'item'));
  const by = attrs['participant'] ?? attrs['from'];
  return [attrs['id'], ...items.map((item) => item.attrs['id'])].flatMap((id) => confirm(id, by, attrs));
}

function confirm(
  waMessageId: string | undefined,
  by = '',
  attrs: Partial<BinaryNode['attrs']>,
): Confirmation[] {
  if (waMessageId === undefined) return [];
  const at = new Date(readTime(attrs['t']));
  return [{ waMessageId, by, username: attrs['participant_username'], at }];
}

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
