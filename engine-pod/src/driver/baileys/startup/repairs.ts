import './quiet.js';
import { Curve, generateSignalPubKey } from '@whiskeysockets/baileys';
import libsignalCurve from 'libsignal/src/curve.js';

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

repairVerify();
