import {
  isLidUser,
  isPnUser,
  jidDecode,
  type SignalRepositoryWithLIDStore as Repository,
} from '@whiskeysockets/baileys';
import type { SignalTransactions } from '../session/signal-transactions.js';

/** A session record as libsignal stores it: sessions by the base key they began with. One of them is open. */
export interface StoredRecord {
  version?: string;
  _sessions: Record<string, { indexInfo: { closed: number }; registrationId?: number }>;
}

/** Records of other versions are for libsignal to read. */
export const RECORD_VERSION = 'v1';
const OPEN = -1;

/** The session in which this side writes. */
export const findOpenSession = ({ _sessions }: StoredRecord): StoredRecord['_sessions'][string] | undefined =>
  Object.values(_sessions).find(({ indexInfo }) => indexInfo.closed === OPEN);

/**
 * Merges all sessions of both records. The other side may write in any of them, whichever began first. This side
 * writes in the open one: that of `into` if it has one.
 */
export function mergeSessionRecords(
  into: StoredRecord | undefined,
  from: StoredRecord,
  now: number,
): StoredRecord {
  if (!into) return from;
  const hasOpen = findOpenSession(into) !== undefined;
  const added = Object.entries(from._sessions).map(([key, session]) => {
    const closed = hasOpen && session.indexInfo.closed === OPEN ? now : session.indexInfo.closed;
    return [key, { ...session, indexInfo: { ...session.indexInfo, closed } }] as const;
  });
  return { ...into, _sessions: { ...Object.fromEntries(added), ...into._sessions } };
}

/**
 * The names under which the sessions of a person's devices are stored, by phone number and by LID. The last one is that of a
 * business at the Cloud API. Null for other pairs.
 */
export function listSessionMoves(
  phoneJid: string,
  lidJid: string,
  devices: readonly string[],
): { from: string; to: string }[] | null {
  if (!isPnUser(phoneJid) || !isLidUser(lidJid)) return null;
  const [phone, lid] = [jidDecode(phoneJid)!, jidDecode(lidJid)!];
  const all = new Set([...devices, String(phone.device ?? 0), '0']);
  const moves = [...all].map((device) => ({
    from: `${phone.user}.${device}`,
    to: `${lid.user}_1.${device}`,
  }));
  return [...moves, { from: `${phone.user}_128.99`, to: `${lid.user}_129.99` }];
}

/**
 * Moves sessions from a person's phone number to the LID, in place of Baileys' `migrateSession`. Sessions may have
 * begun under both at once, and stock Baileys discards those under the LID. Null for ids that it does not move.
 */
export async function migrateSessions(
  keys: SignalTransactions,
  from: string,
  to: string,
): Promise<Awaited<ReturnType<Repository['migrateSession']>> | null> {
  const user = jidDecode(from)?.user ?? '';
  const { [user]: devices = [] } = await keys.get('device-list', [user]);
  const moves = listSessionMoves(from, to, devices);
  if (!moves) return null;
  const read = (names: string[]) =>
    keys.get('session', names) as unknown as Promise<Record<string, StoredRecord | undefined>>;
  const records = await read(moves.map((move) => move.from));
  const existing = moves.filter((move) => records[move.from]);
  const targets = await read(existing.map((move) => move.to));
  const changes: Record<string, StoredRecord | null> = {};
  for (const move of existing) {
    changes[move.to] = mergeSessionRecords(targets[move.to], records[move.from]!, Date.now());
    changes[move.from] = null;
  }
  const migrated = existing.length;
  if (migrated > 0) await keys.set({ session: changes });
  return { migrated, skipped: moves.length - migrated, total: moves.length };
}
