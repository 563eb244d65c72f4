import type { Account, Companion } from '../people/account.js';
import type { Handset } from '../people/handset.js';
import { listedName } from '../people/lists.js';
import { askedForFile } from '../media/retry.js';
import { sendAgain } from '../people/writing.js';
import { parseJid } from '../wire/jids.js';
import { child, children, node, seconds, type Node } from '../wire/nodes.js';
import type { World } from '../world.js';
import { deliver, settle } from './mail.js';

const MAX_KEPT = 20_000;

interface Confirmation {
  author: Account | undefined;
  stanza: Node;
}

/** Handles a receipt or a retry request of a real client. */
export function takeReceipt(world: World, companion: Companion, stanza: Node): void {
  const { attrs } = stanza;
  const answer = node('ack', {
    class: 'receipt',
    id: attrs.id,
    from: attrs.to,
    type: attrs.type,
    participant: attrs.participant,
  });
  companion.connection?.send(answer);
  const ids = idsOf(stanza);
  const author = world.people.byJid(attrs.participant ?? attrs.to);
  checkList(world, companion, { author, stanza });
  note(world, companion, { author, ids, type: attrs.type ?? 'delivery' });
  if (attrs.type === 'server-error') return askedForFile(world, companion, stanza);
  if (attrs.type === 'retry') {
    const handset = author?.handsets.get(parseJid(attrs.participant ?? attrs.to)?.device ?? 0);
    if (handset) askedAgain(world, companion, handset, stanza);
    return;
  }
  settle(companion, 'message', ids);
  if (author) forward(companion, author, stanza);
}

/** Messages of a broadcast list are confirmed and marked as read in the list, with their author. No others are. */
function checkList(world: World, companion: Companion, { author, stanza }: Confirmation): void {
  const { to } = stanza.attrs;
  for (const id of idsOf(stanza)) {
    const list = author && world.listed.get(listedName(author, id));
    if (list === undefined ? parseJid(to)?.server !== 'broadcast' : to === list) continue;
    world.violated(
      `receipt of ${companion.account.number} for ${id} of ${list ?? 'no list'} went to ${to ?? 'nobody'}`,
    );
  }
}

function askedAgain(world: World, companion: Companion, handset: Handset, stanza: Node): void {
  const count = Number(child(stanza, 'retry')?.attrs.count ?? 1);
  const request = {
    companion,
    id: stanza.attrs.id ?? '',
    count,
    keys: child(stanza, 'keys'),
    receipt: stanza,
  };
  sendAgain(world, handset, request).catch((error: Error) => {
    world.violated(`retry receipt of ${companion.account.number}: ${error.message}`);
  });
}

function idsOf(stanza: Node): string[] {
  const more = children(child(stanza, 'list'), 'item').map((item) => item.attrs.id);
  return [stanza.attrs.id, ...more].filter((id): id is string => id !== undefined);
}

function note(
  world: World,
  companion: Companion,
  receipt: { author: Account | undefined; ids: string[]; type: string },
): void {
  world.receipts.push({
    seq: (world.receipts.at(-1)?.seq ?? 0) + 1,
    at: Date.now(),
    to: receipt.author?.number ?? '',
    from: companion.account.number,
    fromDevice: companion.id,
    ids: receipt.ids,
    type: receipt.type,
  });
  if (world.receipts.length > MAX_KEPT * 1.25) world.receipts.splice(0, world.receipts.length - MAX_KEPT);
  world.changed();
}

/** Forwards receipts to the author's real clients: those of another account, or further ones of this account. */
function forward(companion: Companion, author: Account, stanza: Node): void {
  const { type } = stanza.attrs;
  if (type !== undefined && type !== 'read' && type !== 'played') return;
  const to = parseJid(stanza.attrs.to);
  const server = to?.server === 's.whatsapp.net' ? 'pn' : 'lid';
  const by = companion.account.jid(server, companion.id);
  const isShared = to?.server === 'g.us' || to?.server === 'broadcast';
  const where = isShared ? { from: stanza.attrs.to, participant: by } : { from: by };
  const receipt = node('receipt', { ...where, id: stanza.attrs.id, t: seconds(), type }, stanza.content);
  for (const other of author.companions.values()) {
    if (other !== companion) deliver(other, receipt);
  }
}
