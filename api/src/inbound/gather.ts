import { toPublicId } from '@gwk/core/ids';
import type { OpenMenu } from '@gwk/core/menus/replies';
import type { Recipient } from '@gwk/core/recipients';
import type { Sealer } from '@gwk/core/encryption';
import type { Database } from '../database/database.js';
import type { Message } from '../generated/prisma/client.js';
import { toFields } from '../database/model-columns.js';
import { openMenu } from '../messages/content.js';
import { findByNetworkIds } from '../messages/list.js';
import { mediaId, readsMenus, targetId, findVoter, type Arrival } from './arrival.js';

/** A sent menu, with the number of selectable options (null: not a poll). */
export interface KnownMenu extends OpenMenu {
  selectable: number | null;
}

/** The target message of a click, vote, edit, deletion or reaction. */
export type Target = Pick<Message, 'id' | 'direction' | 'participant'>;

/** Facts about one arrival, as gwk_receive_gather returns them. */
interface Gathered<Menu> {
  /** Null: no such instance. */
  accountId: string | null;
  /** Policy overrides as JSON; null if nothing was typed. */
  accountPolicy: string | null;
  instancePolicy: string | null;
  contactId: string | null;
  contactName: string | null;
  conversationId: string | null;
  senderId: string | null;
  senderName: string | null;
  altId: string | null;
  altName: string | null;
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
}

/** A menu as gwk_menu_facts returns it, with encrypted options. */
interface MenuRow extends Omit<OpenMenu, 'options' | 'sentAt' | 'answeredAt'> {
  options: string;
  sentAt: number | null;
  answered: boolean;
}

type GatherDatabase = Pick<Database, '$queryRaw' | 'media'>;

/** Reads the facts of all arrivals with one statement, and more for target messages and files; results in the same order. */
export async function gather(
  database: GatherDatabase,
  sealer: Sealer,
  arrivals: readonly Arrival[],
): Promise<Known[]> {
  const nameOf = (one: Recipient | null, kind: Recipient['kind']): string | null =>
    one?.kind === kind ? one.name : null;
  const asked = arrivals.map((arrival) => ({
    instance_id: arrival.instanceId,
    name: nameOf(arrival.chat, 'contact'),
    group_id: nameOf(arrival.chat, 'group'),
    sender: arrival.chat.kind === 'group' ? nameOf(arrival.sender, 'contact') : null,
    alt: arrival.alt,
    target: targetId(arrival),
    quote: arrival.message.quoted_wa_message_id,
    typed: readsMenus(arrival),
    voter: findVoter(arrival),
  }));
  const rows = toFields<Gathered<MenuRow>>(
    await database.$queryRaw`SELECT * FROM gwk_receive_gather(${JSON.stringify(asked)}::jsonb)`,
  );
  const targets = await gatherTargets(database, arrivals, rows);
  const files = await gatherFiles(database, arrivals);
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

/** Reads the files by the ids from engines. Only files of the same instance are returned. */
async function gatherFiles(
  database: GatherDatabase,
  arrivals: readonly Arrival[],
): Promise<(arrival: Arrival) => ReceivedFile | null> {
  const ids = arrivals.flatMap((arrival) => mediaId(arrival) ?? []);
  if (ids.length === 0) return () => null;
  const select = { id: true, instanceIds: true, mimetype: true, size: true, sha256: true } as const;
  const rows = await database.media.findMany({ where: { id: { in: ids } }, select });
  const byId = new Map(rows.map((row) => [row.id, row]));
  return (arrival) => {
    const row = byId.get(mediaId(arrival) ?? '');
    if (!row?.instanceIds.includes(arrival.instanceId)) return null;
    const { id, mimetype, size, sha256 } = row;
    const digest = Buffer.from(sha256).toString('hex');
    return { media_id: toPublicId('media', id), mimetype, size, sha256: digest };
  };
}

async function gatherTargets(
  database: GatherDatabase,
  arrivals: readonly Arrival[],
  rows: readonly Pick<Known, 'conversationId'>[],
): Promise<(Target | undefined)[]> {
  const wanted = arrivals.flatMap((arrival, index) => {
    const waMessageId = targetId(arrival);
    const { conversationId } = rows[index]!;
    if (waMessageId === null || conversationId === null) return [];
    return [{ index, instanceId: arrival.instanceId, conversationId, waMessageId }];
  });
  if (wanted.length === 0) return [];
  const found = await findByNetworkIds(database, wanted);
  const targets: (Target | undefined)[] = [];
  wanted.forEach(({ index }, place) => (targets[index] = found[place]));
  return targets;
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
