import { toPublicId } from '@gwk/core/ids/ids';
import type { Language } from '@gwk/core/language';
import type { PairingOut, PairingPasskey, PairingQr } from '@gwk/core/resources/pairing';
import { toDataURL } from 'qrcode';
import { pairingFailure } from './reasons.js';
import { isPaired } from './sessions.js';
import type { PairingState, SessionState } from './watch.js';

interface Code {
  text: string;
  expiresAt: Date;
}

/** Remaining time of a code. */
export function timeLeft({ expiresAt }: Code): Pick<PairingQr, 'expires_in_s'> {
  return { expires_in_s: Math.max(0, Math.ceil((expiresAt.getTime() - Date.now()) / 1000)) };
}

/** Public form of a code, with the remaining time from now. */
export function codeOut(code: Code): Omit<PairingQr, 'image'> {
  return { code: code.text, ...timeLeft(code) };
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

export const NO_CODE = { qr: null, pairing_code: null, expires_in_s: null, passkey: null } as const;

type CodeFields = Pick<PairingOut, keyof typeof NO_CODE>;

/** The options are for the caller who started the pairing: the answer links a device to the phone. */
export function passkeyOut(
  { options, code, expiresAt }: NonNullable<SessionState['passkey']>,
  { readsCodes, isOwner }: Pick<Reader, 'readsCodes' | 'isOwner'>,
): PairingPasskey {
  return {
    options: readsCodes && isOwner ? options : null,
    expires_at: expiresAt.toISOString(),
    code: readsCodes ? code : null,
  };
}

async function showCode({ method, code, passkey }: SessionState, reader: Reader): Promise<CodeFields> {
  const { readsCodes } = reader;
  if (passkey !== null) return { ...NO_CODE, passkey: passkeyOut(passkey, reader) };
  if (code === null) return NO_CODE;
  const shown = { ...NO_CODE, ...timeLeft(code) };
  if (!readsCodes) return shown;
  return method === 'qr' ? { ...shown, qr: await qrOut(code) } : { ...shown, pairing_code: code.text };
}

interface Reader {
  /** May pair the instance. */
  readsCodes: boolean;
  /** Has started the pairing. */
  isOwner: boolean;
  language: Language;
}

export async function pairingOut(pairing: PairingState, reader: Reader): Promise<PairingOut> {
  const { instanceId, state, session } = pairing;
  const open = isOpen(pairing);
  const reason = isPaired(state) || open ? null : (session?.error ?? null);
  return {
    instance_id: toPublicId('instance', instanceId),
    state: open ? 'pairing' : state,
    ...(open && session ? await showCode(session, reader) : NO_CODE),
    error: reason === null ? null : { reason, detail: pairingFailure(reason)[reader.language] },
  };
}
