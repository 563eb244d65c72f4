import { toPublicId } from '@gwk/core/ids/ids';
import type { OpenMenu } from './menus/replies.js';
import { exactDigits } from '@gwk/core/ids/recipients';
import type { Sealer } from '@gwk/core/crypto/encryption';
import type { Database } from '../database/database.js';
import { toFields } from '../database/model-columns.js';
import { Prisma } from '../generated/prisma/client.js';
import { openFilename } from '../media/files.js';
import { openMenu } from '../messages/content.js';
import { mediaId, otherName, readsMenus, targetId, voterNames, type Arrival } from './arrival.js';
import { gatherTargets, type Target } from './targets.js';

/** A sent menu, with the number of selectable options (null: not a poll). */
export interface KnownMenu extends OpenMenu {
  selectable: number | null;
  /** A menu of another conversation. */
  elsewhere?: boolean;
}

/** Facts about one arrival, as gwk_receive_gather returns them. */
interface Gathered<Menu> {
  /** Null: no such instance. */
  accountId: string | null;
  isSandbox: boolean | null;
  /** Policy overrides as JSON; null if nothing was typed. */
  accountPolicy: string | null;
  instancePolicy: string | null;
  contactId: string | null;
  conversationId: string | null;
  /** The contact's ids as this instance knows them. */
  lid: string | null;
  phone: string | null;
  username: string | null;
  senderId: string | null;
  /** Phone number of the sender in a group, as this instance knows it. */
  senderPhone: string | null;
  /** The account's, of a sender in a group. */
  senderUsername: string | null;
  altId: string | null;
  /** The username of the author of the quoted message. */
  authorUsername: string | null;
  newestMenu: Menu | null;
  quotedMenu: Menu | null;
  targetMenu: Menu | null;
  /** Options chosen by the voter so far; null: has not voted. */
  chosen: number[] | null;
}

export interface Known extends Gathered<KnownMenu> {
  target: Target | null;
  /** The file of the message, if the instance has it. */
  file: ReceivedFile | null;
}

/** A received file, in its public form. */
export interface ReceivedFile {
  media_id: string;
  mimetype: string;
  size: number;
  sha256: string;
  filename?: string;
}

/** A menu as gwk_menu_facts returns it, with encrypted options. */
interface MenuRow extends Omit<OpenMenu, 'options' | 'sentAt' | 'answeredAt'> {
  options: string;
  sentAt: number | null;
  answered: boolean;
  elsewhere?: boolean;
}

type GatherDatabase = Pick<Database, 'queryRows' | '$queryRaw' | 'media' | 'contactName'>;

/** Reads the facts of all arrivals with one statement, and more for target messages and files; results in the same order. */
export async function gather(
  database: GatherDatabase,
  sealer: Sealer,
  arrivals: readonly Arrival[],
): Promise<Known[]> {
  const asked = arrivals.map((arrival) => ({
    instance_id: arrival.instanceId,
    ...namesOf(arrival),
    target: targetId(arrival),
    quote: arrival.message.quoted_wa_message_id,
    author: arrival.message.quoted?.author,
    typed: readsMenus(arrival),
    voters: voterNames(arrival),
  }));
  const rows = toFields<Gathered<MenuRow>>(
    await database.queryRows(Prisma.sql`SELECT * FROM gwk_receive_gather(${JSON.stringify(asked)}::jsonb)`),
  );
  const targets = await gatherTargets(database, arrivals, rows);
  const files = await gatherFiles(database, sealer, arrivals);
  return rows.map((row, index) => {
    const arrival = arrivals[index]!;
    const open = (menu: MenuRow | null) => openKnown(sealer, arrival, menu);
    return {
      ...row,
      newestMenu: open(row.newestMenu),
      quotedMenu: open(row.quotedMenu),
      targetMenu: open(row.targetMenu),
      target: targets[index] ?? null,
      file: files(arrival),
    };
  });
}

function namesOf(arrival: Arrival) {
  const { chat } = arrival;
  const isGroup = chat.kind === 'group';
  const sender = isGroup && arrival.sender?.kind === 'contact' ? arrival.sender : null;
  const alt = otherName(arrival);
  return {
    name: isGroup ? null : chat.name,
    exact: exactDigits(chat),
    group_id: isGroup ? chat.name : null,
    sender: sender && sender.name,
    sender_exact: sender && exactDigits(sender),
    alt: alt && alt.name,
    alt_exact: alt && exactDigits(alt),
  };
}

/** Reads the files by the ids from engines. Only files of the same instance are returned. */
async function gatherFiles(
  database: GatherDatabase,
  sealer: Sealer,
  arrivals: readonly Arrival[],
): Promise<(arrival: Arrival) => ReceivedFile | null> {
  const ids = arrivals.flatMap((arrival) => mediaId(arrival) ?? []);
  if (ids.length === 0) return () => null;
  const select = {
    ...{ id: true, accountId: true, instanceIds: true },
    ...{ mimetype: true, size: true, sha256: true, filenameSealed: true },
  } as const;
  const rows = await database.media.findMany({ where: { id: { in: ids } }, select });
  const byId = new Map(rows.map((row) => [row.id, row]));
  return (arrival) => {
    const row = byId.get(mediaId(arrival) ?? '');
    if (!row?.instanceIds.includes(arrival.instanceId)) return null;
    const { id, mimetype, size } = row;
    const sha256 = Buffer.from(row.sha256).toString('hex');
    const filename = openFilename(row, sealer);
    return {
      media_id: toPublicId('media', id),
      mimetype,
      size,
      sha256,
      ...(filename !== null && { filename }),
    };
  };
}

function openKnown(sealer: Sealer, { instanceId }: Arrival, row: MenuRow | null): KnownMenu | null {
  if (row === null) return null;
  return {
    ...row,
    ...openMenu(sealer, instanceId, Buffer.from(row.options, 'base64')),
    // No time yet: the contact clicked before the engine reported that the menu was sent.
    sentAt: new Date(row.sentAt ?? Date.now()),
    answeredAt: row.answered ? new Date(0) : null,
  };
}
