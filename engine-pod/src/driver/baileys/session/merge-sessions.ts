import { isLidUser, isPnUser, jidDecode } from '@whiskeysockets/baileys';

/** A session record as libsignal stores it: sessions by the key that each began with. One of them is open. */
export interface StoredRecord {
  _sessions: Record<string, { indexInfo: { closed: number } }>;
}

const OPEN = -1;

/**
 * All sessions of both. The other side may write in any of them, whichever of the two was begun first; this side
 * writes in the one that is open, which stays that of `into` where it has one.
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

export interface SessionMove {
  from: string;
  to: string;
}

/** Where the sessions of a person's devices are kept, by phone and by hidden id; null where it is no such pair. */
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
