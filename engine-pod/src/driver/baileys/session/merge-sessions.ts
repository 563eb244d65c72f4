import { isLidUser, isPnUser, jidDecode } from '@whiskeysockets/baileys';

/** A session record as libsignal stores it: sessions by the base key they began with. One of them is open. */
export interface StoredRecord {
  _sessions: Record<string, { indexInfo: { closed: number } }>;
}

const OPEN = -1;

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
  const hasOpen = Object.values(into._sessions).some(({ indexInfo }) => indexInfo.closed === OPEN);
  const added = Object.entries(from._sessions).map(([key, session]) => {
    const closed = hasOpen && session.indexInfo.closed === OPEN ? now : session.indexInfo.closed;
    return [key, { ...session, indexInfo: { ...session.indexInfo, closed } }] as const;
  });
  return { ...into, _sessions: { ...Object.fromEntries(added), ...into._sessions } };
}

interface SessionMove {
  from: string;
  to: string;
}

/**
 * The names under which the sessions of a person's devices are stored, by phone number and by LID. Null for other
 * pairs.
 */
export function listSessionMoves(
  phoneJid: string,
  lidJid: string,
  devices: readonly string[],
): SessionMove[] | null {
  if (!isPnUser(phoneJid) || !isLidUser(lidJid)) return null;
  const [phone, lid] = [jidDecode(phoneJid)!, jidDecode(lidJid)!];
  const all = new Set([...devices, String(phone.device ?? 0), '0']);
  return [...all].map((device) => ({ from: `${phone.user}.${device}`, to: `${lid.user}_1.${device}` }));
}
