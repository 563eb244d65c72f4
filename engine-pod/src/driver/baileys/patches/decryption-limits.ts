import './silence-console.js';
import { GroupCipher } from '@whiskeysockets/baileys/lib/Signal/Group/index.js';
import type { SenderKeyState } from '@whiskeysockets/baileys/lib/Signal/Group/sender-key-state.js';
import * as libsignal from 'libsignal';
import protobufs from 'libsignal/src/protobufs.js';
import { DecryptionBudget, STEPS } from './decryption-budget.js';
import { trimSessions, type Chain, type Session } from './trim-sessions.js';

/** libsignal's cipher, as far as it is changed. */
export interface Cipher {
  addr: { id: string };
  getRecord: () => Promise<{ sessions: Record<string, Session> } | null>;
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
/** Beyond it libsignal refuses on its own, before it derives anything. */
const MAX_SKIPPED = 2_000;

/**
 * Parses the position that a message states in the clear. Null when it states none; libsignal then refuses it
 * cheaply.
 */
function parseRatchetPosition(data: Buffer) {
  try {
    const { ephemeralKey, counter, previousCounter } = protobufs.WhisperMessage.decode(
      data.subarray(VERSION_BYTES, -CODE_BYTES),
    );
    return ephemeralKey?.length === KEY_BYTES ? { ephemeralKey, counter, previousCounter } : null;
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
  const position = parseRatchetPosition(data);
  if (!position) return 0;
  const chain = findChain(session, position.ephemeralKey);
  if (chain) return countSkipped(chain, position.counter);
  const former = findChain(session, session.currentRatchet.lastRemoteEphemeralKey);
  const closingSteps = former ? countSkipped(former, position.previousCounter) : STEPS.session;
  return closingSteps + STEPS.ratchet + countSkipped(undefined, position.counter);
}

/** Limits the keys that messages make libsignal derive and keep (decryption-budget.ts, trim-sessions.ts). */
export function limitDecryption(budget = new DecryptionBudget()): void {
  const cipher = libsignal.SessionCipher.prototype as unknown as Cipher;
  const { decryptWithSessions, doDecryptWhisperMessage, storeRecord } = cipher;
  // A chain belongs to one session. If the chain is known, no other session has to be tried.
  cipher.decryptWithSessions = function (data, sessions) {
    const key = parseRatchetPosition(data)?.ephemeralKey;
    const own = key ? sessions.filter((session) => findChain(session, key)) : [];
    return decryptWithSessions.call(this, data, own.length > 0 ? own : sessions);
  };
  cipher.doDecryptWhisperMessage = async function (data, session) {
    // Without a session nothing is derived; libsignal refuses the message.
    const steps = session ? countSteps(data, session) : 0;
    budget.spend(this.addr.id, data, steps);
    try {
      return await doDecryptWhisperMessage.call(this, data, session);
    } catch (error) {
      budget.recordFailure(this.addr.id, steps);
      throw error;
    }
  };
  cipher.storeRecord = function (record) {
    trimSessions(record.sessions);
    return storeRecord.call(this, record);
  };
  limitGroupDecryption(budget);
}

/** Members sign their messages, so the sender is certain, but not whether the message can be decrypted. */
function limitGroupDecryption(budget: DecryptionBudget): void {
  const cipher = GroupCipher.prototype as unknown as StockGroupCipher;
  const { getSenderKey } = cipher;
  cipher.getSenderKey = function (state, iteration) {
    const skipped = iteration - state.getSenderChainKey().getIteration();
    const steps = skipped > MAX_SKIPPED ? 0 : Math.max(0, skipped) * STEPS.groupKey;
    budget.spend(this.senderKeyName.getSender().id, {}, steps);
    return getSenderKey.call(this, state, iteration);
  };
}
