import './silence-console.js';
import { GroupCipher } from '@whiskeysockets/baileys/lib/Signal/Group/index.js';
import type { SenderKeyState } from '@whiskeysockets/baileys/lib/Signal/Group/sender-key-state.js';
import * as libsignal from 'libsignal';
import protobufs from 'libsignal/src/protobufs.js';
import { DecryptionBudget, STEPS } from './decryption-budget.js';
import { trimSessions, type Chain, type Session } from './trim-sessions.js';

interface Cipher {
  addr: { id: string };
  decryptWithSessions: (this: Cipher, data: Buffer, sessions: Session[]) => Promise<unknown>;
  doDecryptWhisperMessage: (this: Cipher, data: Buffer, session: Session) => Promise<Buffer>;
  storeRecord: (this: Cipher, record: { sessions: Record<string, Session> }) => Promise<void>;
}

interface StockGroupCipher {
  senderKeyName: { getSender: () => { id: string } };
  getSenderKey: (this: StockGroupCipher, state: SenderKeyState, iteration: number) => unknown;
}

const VERSION_BYTES = 1;
const CODE_BYTES = 8;
const KEY_BYTES = 33;
/** Beyond it libsignal refuses by itself, before it derives anything. */
const MAX_SKIPPED = 2_000;

interface RatchetPosition {
  ephemeralKey: Buffer;
  counter: number;
  previousCounter: number;
}

/** What a message says of its place, to anybody. Null where it says nothing: then it is refused before it costs much. */
function parseRatchetPosition(data: Buffer): RatchetPosition | null {
  try {
    const place = protobufs.WhisperMessage.decode(data.subarray(VERSION_BYTES, -CODE_BYTES));
    const { ephemeralKey } = place;
    return ephemeralKey?.length === KEY_BYTES
      ? { ephemeralKey, counter: place.counter, previousCounter: place.previousCounter }
      : null;
  } catch {
    return null;
  }
}

const findChain = ({ _chains }: Session, key: Buffer): Chain | undefined => _chains[key.toString('base64')];

const countSkipped = (chain: Chain | undefined, counter: number): number => {
  const skipped = counter - (chain?.chainKey.counter ?? -1);
  return skipped > MAX_SKIPPED ? 0 : Math.max(0, skipped);
};

function countSteps(data: Buffer, session: Session): number {
  const place = parseRatchetPosition(data);
  if (!place) return 0;
  const chain = findChain(session, place.ephemeralKey);
  if (chain) return countSkipped(chain, place.counter);
  const former = findChain(session, session.currentRatchet.lastRemoteEphemeralKey);
  const ending = former ? countSkipped(former, place.previousCounter) : STEPS.session;
  return ending + STEPS.ratchet + countSkipped(undefined, place.counter);
}

/** A bound for what messages make libsignal derive and keep (see Effort, trimSessions). */
export function limitDecryption(effort = new DecryptionBudget()): void {
  const cipher = libsignal.SessionCipher.prototype as unknown as Cipher;
  const { decryptWithSessions, doDecryptWhisperMessage, storeRecord } = cipher;
  // A chain belongs to one session: where it is known, no other one has to be tried.
  cipher.decryptWithSessions = function (data, sessions) {
    const key = parseRatchetPosition(data)?.ephemeralKey;
    const own = key ? sessions.filter((session) => findChain(session, key)) : [];
    return decryptWithSessions.call(this, data, own.length > 0 ? own : sessions);
  };
  cipher.doDecryptWhisperMessage = async function (data, session) {
    // Without a session there is nothing to be derived: it is refused.
    const steps = session ? countSteps(data, session) : 0;
    effort.spend(this.addr.id, data, steps);
    try {
      return await doDecryptWhisperMessage.call(this, data, session);
    } catch (error) {
      effort.recordFailure(this.addr.id, steps);
      throw error;
    }
  };
  cipher.storeRecord = function (record) {
    trimSessions(record.sessions);
    return storeRecord.call(this, record);
  };
  limitGroupDecryption(effort);
}

/** Members sign what they write, so it is known whose it is; whether it can be read is not. */
function limitGroupDecryption(effort: DecryptionBudget): void {
  const cipher = GroupCipher.prototype as unknown as StockGroupCipher;
  const { getSenderKey } = cipher;
  cipher.getSenderKey = function (state, iteration) {
    const skipped = iteration - state.getSenderChainKey().getIteration();
    const steps = skipped > MAX_SKIPPED ? 0 : Math.max(0, skipped) * STEPS.groupKey;
    effort.spend(this.senderKeyName.getSender().id, {}, steps);
    return getSenderKey.call(this, state, iteration);
  };
}
