import { newUuid } from '@gwk/core/ids/ids';
import type { OpenPairing } from '@gwk/core/protocol/engine';
import type { PairingMethod, PasskeyOptions } from '@gwk/core/resources/pairing';
import type { Sealer } from '@gwk/core/crypto/encryption';
import type { AccountIds } from '@gwk/core/ids/recipients';
import type { InstanceState } from '@gwk/core/states';
import type { Credential } from '../../accounts/caller.js';
import type { Instance, PairingSession, Prisma } from '../../generated/prisma/client.js';

/**
 * Pairing sessions: one row per instance, with a new id for each session. The API opens a session, the engine reports codes, and
 * any replica reads the row.
 */
const PHONE_COLUMN = 'pairing_sessions.phone_sealed';
const CODE_COLUMN = 'pairing_sessions.code_sealed';
const PASSKEY_COLUMN = 'pairing_sessions.passkey_sealed';

/** States of a paired instance; a banned one is paired. */
export function isPaired(state: InstanceState): boolean {
  return state !== 'pending_pair' && state !== 'logged_out';
}

export type LastAccount = Pick<Instance, 'onOtherAccount' | 'lastJid' | 'lastLid'>;

/** The only account that may link the instance; null: any. */
export const restrictAccount = ({ onOtherAccount, lastJid, lastLid }: LastAccount): AccountIds | null =>
  onOtherAccount === 'accept' || lastJid === null ? null : { jid: lastJid, lid: lastLid };

export interface OpenPairingRow extends LastAccount {
  session: string | null;
  method: PairingMethod | null;
  phone_sealed: Uint8Array | null;
  passkeys: boolean | null;
  passkey_count: number | null;
}

/** Open session in the form for engines. */
export function toOpenPairing(sealer: Sealer, instanceId: string, row: OpenPairingRow): OpenPairing | null {
  const { session, method, phone_sealed, passkeys, passkey_count } = row;
  if (session === null || method === null) return null;
  return {
    session,
    method,
    phone: openPhone(sealer, instanceId, phone_sealed),
    passkeys: passkeys === true,
    passkey_asked: (passkey_count ?? 0) > 0,
    account: restrictAccount(row),
  };
}

/** Open session of a row in the form for engines. */
export const describeSession = (
  sealer: Sealer,
  row: PairingSession,
  instance: LastAccount,
): OpenPairing | null =>
  toOpenPairing(sealer, row.instanceId, {
    ...instance,
    session: row.state === 'pairing' ? row.id : null,
    method: row.method as PairingMethod,
    phone_sealed: row.phoneSealed,
    passkeys: row.passkeys,
    passkey_count: row.passkeyCount,
  });

export function openPhone(sealer: Sealer, instanceId: string, sealed: Uint8Array | null): string | null {
  return sealed && sealer.open(instanceId, PHONE_COLUMN, sealed).toString('utf8');
}

export function sealCode(sealer: Sealer, instanceId: string, code: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(sealer.seal(instanceId, CODE_COLUMN, code));
}

export function openCode(sealer: Sealer, instanceId: string, sealed: Uint8Array): string {
  return sealer.open(instanceId, CODE_COLUMN, sealed).toString('utf8');
}

/** The part of a ceremony that callers may see: the network's request, or then the code to compare. */
export interface PasskeyStep {
  options: PasskeyOptions | null;
  code: string | null;
}

export const sealPasskey = (sealer: Sealer, instanceId: string, step: PasskeyStep): Uint8Array<ArrayBuffer> =>
  new Uint8Array(sealer.sealJson(instanceId, PASSKEY_COLUMN, step));

export const openPasskey = (sealer: Sealer, instanceId: string, sealed: Uint8Array): PasskeyStep =>
  sealer.openJson(instanceId, PASSKEY_COLUMN, sealed) as PasskeyStep;

/** The one key, or one sign-in in one browser, that may answer a request for a passkey. */
export interface SessionOwner {
  name: string;
  address: string;
}

export const nameOwner = ({ kind, id }: Credential): string => `${kind}:${id}`;

/** Replaces the session by a new one without a code. The caller has locked the instance's row. */
export async function putSession(
  tx: Prisma.TransactionClient,
  sealer: Sealer,
  instanceId: string,
  wanted: { method: PairingMethod; phone: string | null; passkeys: boolean; owner: SessionOwner | null },
): Promise<PairingSession> {
  const now = new Date();
  const values = {
    id: newUuid(),
    method: wanted.method,
    phoneSealed:
      wanted.phone === null ? null : new Uint8Array(sealer.seal(instanceId, PHONE_COLUMN, wanted.phone)),
    state: 'pairing',
    codeSealed: null,
    qrCount: 0,
    expiresAt: null,
    passkeys: wanted.passkeys,
    passkeySealed: null,
    passkeyCount: 0,
    passkeyExpiresAt: null,
    owner: wanted.owner?.name ?? null,
    ownerAddress: wanted.owner?.address ?? null,
    error: null,
    updatedAt: now,
  };
  return tx.pairingSession.upsert({
    where: { instanceId },
    create: { instanceId, ...values },
    update: values,
  });
}

/** Closes the open session; `reason` null: paired. */
export async function closeSession(
  tx: Prisma.TransactionClient,
  instanceId: string,
  error: string | null,
): Promise<void> {
  await tx.pairingSession.updateMany({
    where: { instanceId, state: 'pairing' },
    data: { state: 'closed', error, codeSealed: null, phoneSealed: null, passkeySealed: null },
  });
}
