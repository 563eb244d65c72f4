import './silence-console.js';
import './native-crypto.js';
import { Curve, generateSignalPubKey } from '@whiskeysockets/baileys';
import { SenderKeyState } from '@whiskeysockets/baileys/lib/Signal/Group/sender-key-state.js';
import * as libsignal from 'libsignal';
import libsignalCurve from 'libsignal/src/curve.js';
import { limitDecryption } from './decryption-limits.js';

/**
 * As it comes, `Curve.verify` ignores that libsignal says "no", so that a forged certificate of the network and a
 * forged account signature pass.
 */
export function repairVerify(): void {
  Curve.verify = (publicKey, message, signature) => {
    try {
      const key = Buffer.from(generateSignalPubKey(Buffer.from(publicKey)));
      return libsignalCurve.verifySignature(key, Buffer.from(message), Buffer.from(signature)) === true;
    } catch {
      return false;
    }
  };
}

/**
 * As it comes, the key of a group message that others have overtaken cannot be used once it was stored: it is read
 * back as an object.
 */
export function repairSenderKeys(): void {
  const stock = Object.getOwnPropertyDescriptor(SenderKeyState.prototype, 'removeSenderMessageKey')!
    .value as SenderKeyState['removeSenderMessageKey'];
  SenderKeyState.prototype.removeSenderMessageKey = function (iteration) {
    for (const key of this.getStructure().senderMessageKeys) key.seed = Buffer.from(key.seed);
    return stock.call(this, iteration);
  };
}

interface Session {
  indexInfo: { baseKey: Buffer };
}
interface Cipher {
  getRecord(): Promise<{ sessions: Record<string, Session> } | null>;
  doDecryptWhisperMessage: (this: Cipher, data: Uint8Array, session: Session) => Promise<Buffer>;
}

/**
 * As it comes, libsignal tries a message in one session after the other, and stores those that it did not fit half
 * advanced: what is sent in one of them later cannot be read. They are put back as they were.
 */
export function repairFailedDecryption(): void {
  const cipher = libsignal.SessionCipher.prototype as unknown as Cipher;
  const stock = cipher.doDecryptWhisperMessage;
  cipher.doDecryptWhisperMessage = async function (data, session) {
    try {
      return await stock.call(this, data, session);
    } catch (error) {
      const stored = (await this.getRecord())?.sessions[session.indexInfo.baseKey.toString('base64')];
      if (stored) Object.assign(session, stored);
      throw error;
    }
  };
}

repairVerify();
repairFailedDecryption();
repairSenderKeys();
// Around the repairs: what is refused needs none.
limitDecryption();
