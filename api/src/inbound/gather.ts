import { toPublicId } from '@gwk/core/ids';
import type { OpenMenu } from '@gwk/core/menus/replies';
import type { Recipient } from '@gwk/core/recipients';
import type { Sealer } from '@gwk/core/encryption';
import type { Database } from '../database/database.js';
import { toFields } from '../database/model-columns.js';
import { openMenu } from '../messages/content.js';
import { mediaId, readsMenus, targetId, findVoter, type Arrival } from './arrival.js';

/** A sent menu, with the number of selectable options (null: not a poll). */
export interface KnownMenu extends OpenMenu {
  selectable: number | null;
}

/** The target message of a click, vote, edit, deletion or reaction. */
export interface Target {
  messageId: string;
  direction: 'inbound' | 'outbound';
  participant: string | null;
}

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

interface MenuRow {
  message_id: string;
  wa_message_id: string;
  kind: 'interactive' | 'poll';
  mode: OpenMenu['mode'];
  options: string;
  sent_at: number | null;
  answered: boolean;
}

interface TargetRow {
  message_id: string | null;
  direction: Target['direction'];
  participant: string | null;
}

/** Reads the facts of all arrivals with one statement, and one more for target messages; results in the same order. */
export async function gather(
  database: Pick<Database, '$queryRaw' | 'media'>,
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
    const open = menuOpener(sealer, arrival);
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
  database: Pick<Database, '$queryRaw' | 'media'>,
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
  database: Pick<Database, '$queryRaw' | 'media'>,
  arrivals: readonly Arrival[],
  rows: readonly Pick<Known, 'conversationId'>[],
): Promise<(Target | undefined)[]> {
  const wanted = arrivals.map((arrival, index) => (rows[index]!.conversationId ? targetId(arrival) : null));
  const places = wanted.flatMap((target, index) => (target === null ? [] : [index]));
  if (places.length === 0) return [];
  const found = await database.$queryRaw<TargetRow[]>`
    SELECT * FROM gwk_receive_targets(
      ${places.map((index) => arrivals[index]!.instanceId)}::uuid[],
      ${places.map((index) => rows[index]!.conversationId)}::uuid[],
      ${places.map((index) => wanted[index])}::text[])`;
  const targets: (Target | undefined)[] = [];
  found.forEach(({ message_id: messageId, direction, participant }, index) => {
    if (messageId !== null) targets[places[index]!] = { messageId, direction, participant };
  });
  return targets;
}

type OpenOne = (row: MenuRow | null) => KnownMenu | null;

function menuOpener(sealer: Sealer, { instanceId }: Arrival): OpenOne {
  return (row) => {
    if (row === null) return null;
    const { options, selectable } = openMenu(sealer, instanceId, Buffer.from(row.options, 'base64'));
    return {
      messageId: row.message_id,
      waMessageId: row.wa_message_id,
      kind: row.kind,
      mode: row.mode,
      options,
      selectable,
      // No time yet: the contact clicked before the engine reported that the menu was sent.
      sentAt: new Date(row.sent_at ?? Date.now()),
      answeredAt: row.answered ? new Date(0) : null,
    };
  };
}
