import './silence-console.js';
import './native-crypto.js';
import { Curve, generateSignalPubKey } from '@whiskeysockets/baileys';
import { SenderKeyState } from '@whiskeysockets/baileys/lib/Signal/Group/sender-key-state.js';
import * as libsignal from 'libsignal';
import libsignalCurve from 'libsignal/src/curve.js';
import { limitDecryption, type Cipher } from './decryption-limits.js';

/**
 * Stock `Curve.verify` ignores libsignal's negative result, so forged network certificates and account signatures
 * pass.
 */
function repairVerify(): void {
  Curve.verify = (publicKey, message, signature) => {
    try {
      const key = Buffer.from(generateSignalPubKey(Buffer.from(publicKey)));
      return libsignalCurve.verifySignature(key, Buffer.from(message), Buffer.from(signature)) === true;
    } catch {
      return false;
    }
  };
}

/** Stock code cannot use the key of an overtaken group message once it was stored: it is read back as an object. */
function repairSenderKeys(): void {
  const stock = Object.getOwnPropertyDescriptor(SenderKeyState.prototype, 'removeSenderMessageKey')!
    .value as SenderKeyState['removeSenderMessageKey'];
  SenderKeyState.prototype.removeSenderMessageKey = function (iteration) {
    for (const key of this.getStructure().senderMessageKeys) key.seed = Buffer.from(key.seed);
    return stock.call(this, iteration);
  };
}

/**
 * Stock libsignal tries a message in one session after the other and stores the failed ones half advanced. Later
 * messages in those sessions cannot be decrypted. This restores failed sessions.
 */
function repairFailedDecryption(): void {
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
// Last, so that the limits wrap the repairs: a refused message needs none.
limitDecryption();
