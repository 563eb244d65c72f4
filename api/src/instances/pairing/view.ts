import { toPublicId } from '@gwk/core/ids';
import type { PairingOut, PairingQr } from '@gwk/core/resources/pairing';
import { toDataURL } from 'qrcode';
import { pairingFailure } from './reasons.js';
import { isPaired } from './sessions.js';
import type { PairingState } from './watch.js';

interface Code {
  text: string;
  expiresAt: Date;
}

/** Public form of a code, with the remaining time from now. */
export function codeOut(code: Code): Omit<PairingQr, 'image'> {
  const leftMs = code.expiresAt.getTime() - Date.now();
  return { code: code.text, expires_in_s: Math.max(0, Math.ceil(leftMs / 1000)) };
}

export async function qrOut(code: Code): Promise<PairingQr> {
  return {
    ...codeOut(code),
    image: await toDataURL(code.text, { type: 'image/png', errorCorrectionLevel: 'M', margin: 2 }),
  };
}

export function isOpen({ state, session }: PairingState): boolean {
  return session !== null && session.open && !isPaired(state);
}

const failureOut = (reason: string) => ({ reason, detail: pairingFailure(reason) });

export async function pairingOut(pairing: PairingState): Promise<PairingOut> {
  const { instanceId, state, session } = pairing;
  const open = isOpen(pairing);
  const code = open && session ? session.code : null;
  return {
    instance_id: toPublicId('instance', instanceId),
    state: open ? 'pairing' : state,
    qr: code && session!.method === 'qr' ? await qrOut(code) : null,
    pairing_code: code && session!.method === 'code' ? code.text : null,
    error: isPaired(state) || open || !session?.error ? null : failureOut(session.error),
  };
}
