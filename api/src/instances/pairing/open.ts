import { Problem } from '@gwk/core/problems/problems';
import type { Sealer } from '@gwk/core/crypto/encryption';
import type { OpenPairing } from '@gwk/core/protocol/engine';
import type { PairingMethod, PairingCreate } from '@gwk/core/resources/pairing';
import type { InstanceState } from '@gwk/core/states';
import type { Instance, PairingSession, Prisma } from '../../generated/prisma/client.js';
import type { Services } from '../../http/services.js';
import {
  describeSession,
  isPaired,
  openPhone,
  putSession,
  type LastAccount,
  type SessionOwner,
} from './sessions.js';
import type { PairingState } from './watch.js';
import { pairingFailure } from './reasons.js';

/** Validated pairing request. */
export interface Asked {
  method: PairingMethod;
  phone: string | null;
}

/** `owner`: null for a user with access to the cluster, who answers no request for a passkey. */
interface Opening extends Asked {
  owner: SessionOwner | null;
  /** The caller named no method, so it joins a session whose phone waits for its passkey. */
  joins?: boolean;
}

/** Country codes that exist (ITU-T E.164). Numbers of country code 1 have area codes from 2. */
const COUNTRY_CODE =
  /^(?:1[2-9]\d{9}$|7|2(?:[07]|1[12368]|[23469]\d|5[0-8])|3(?:[0-469]|5\d|7[0-8]|8[0-35-79])|4(?:[013-9]|2[013])|5(?:[1-8]|[09]\d)|6(?:[0-6]|7[02-9]|8[0-35-9]|9[0-2])|8(?:[1246]|5[02356]|7[08]|8[0-368])|9(?:[0-58]|6[0-8]|7[0-79]|9[2-68]))/;

/** Finds most national numbers, for example of Brazil with its area codes 11 and 21. Others fail at the network. */
export const hasCountryCode = (phone: string): boolean => COUNTRY_CODE.test(phone);

/** @throws Problem `validation-error`, `invalid-phone` */
export function parsePairing(body: PairingCreate | undefined): Asked {
  const method = body?.method ?? 'qr';
  const phone = body?.phone ?? null;
  if (phone !== null && !/^[0-9]{8,15}$/.test(phone)) throw new Problem('invalid-phone');
  if (phone !== null && !hasCountryCode(phone)) {
    const errors = [{ path: 'phone', code: 'country_code', message: 'phone has no country code' }];
    throw new Problem('invalid-phone', { errors });
  }
  if (method === 'code' && phone === null) {
    const errors = [{ path: 'phone', code: 'required', message: 'method code needs the phone' }];
    throw new Problem('validation-error', { errors });
  }
  return { method, phone: method === 'code' ? phone : null };
}

/**
 * Returns the open session of this method (and phone number) or to join, or replaces the session by a new one. The last caller who opens
 * it before the phone asks for a passkey is its owner, or the first one after that. Others who name a method then start their own.
 * @throws Problem `already-paired`, `not-found`
 */
export function openSession(
  { db, sealer, config }: Pick<Services, 'db' | 'sealer' | 'config'>,
  instanceId: string,
  opening: Opening,
): Promise<OpenPairing> {
  return db.$transaction(async (tx) => {
    const instance = await lockUnpaired(tx, instanceId);
    const present = await tx.pairingSession.findUnique({ where: { instanceId } });
    const same = present?.state === 'pairing' && isSame(sealer, present, opening);
    const passkeys = config.passkeys && instance.passkeys;
    const session = same ? present : await putSession(tx, sealer, instanceId, { ...opening, passkeys });
    const { owner } = opening;
    if (same && owner && (session.passkeyCount === 0 || session.owner === null)) {
      const data = { owner: owner.name, ownerAddress: owner.address };
      await tx.pairingSession.update({ where: { instanceId }, data });
    }
    return describeSession(sealer, session, instance)!;
  });
}

function isSame(sealer: Sealer, present: PairingSession, { owner, joins, method, phone }: Opening): boolean {
  if (joins && awaitsPasskey(present)) return true;
  if (!joins && isOwnedByAnother(present, owner)) return false;
  return present.method === method && openPhone(sealer, present.instanceId, present.phoneSealed) === phone;
}

/** Nobody can become the owner of a session whose phone has asked for a passkey, except if it has none. */
const isOwnedByAnother = ({ passkeyCount, owner }: PairingSession, caller: SessionOwner | null): boolean =>
  passkeyCount > 0 && owner !== null && caller !== null && owner !== caller.name;

const awaitsPasskey = ({ passkeySealed, passkeyExpiresAt }: PairingSession): boolean =>
  passkeySealed !== null && passkeyExpiresAt !== null && passkeyExpiresAt > new Date();

interface UnpairedInstance extends LastAccount {
  state: InstanceState;
  /** Whether the account may link phones that require a passkey. */
  passkeys: boolean;
}

async function lockUnpaired(tx: Prisma.TransactionClient, instanceId: string): Promise<UnpairedInstance> {
  const [row] = await tx.$queryRaw<UnpairedInstance[]>`
    SELECT i.state, a.passkeys, i.on_other_account AS "onOtherAccount", i.last_jid AS "lastJid", i.last_lid AS "lastLid"
    FROM instances i JOIN accounts a ON a.id = i.account_id
    WHERE i.id = ${instanceId}::uuid AND i.deleted_at IS NULL FOR NO KEY UPDATE OF i`;
  if (!row) throw new Problem('not-found');
  if (isPaired(row.state)) throw new Problem('already-paired');
  return row;
}

/** Time limit of the answer; pairing may start the engine first. */
export const ANSWER_MS = 14_000;
const LATER_S = 5;

/**
 * Waits for the first code. Sends a command to a running engine; an engine that starts later finds the session with its lease.
 * @throws Problem `pairing-failed`, `already-paired`, `engine-unavailable`
 */
export async function untilShown(
  { live, pairings, clock }: Services,
  row: Instance,
  pairing: OpenPairing,
): Promise<PairingState> {
  const { session } = pairing;
  const first = await pairings.read(row.id);
  if (isShown(first, session)) return first;
  const unavailable = new Problem('engine-unavailable', { retryAfter: LATER_S });
  if (row.suspended || !live.up) throw unavailable;
  const ended = new AbortController();
  const cancel = clock.after(ANSWER_MS, () => ended.abort(unavailable));
  // No answer is not a refusal: the engine may be starting.
  void live.ask(row, 'pair', pairing, ANSWER_MS).then((reply) => {
    if (reply?.ok === false && reply.code === 'already-paired') ended.abort(new Problem('already-paired'));
  });
  try {
    for await (const now of pairings.watch(row.id, ended.signal)) if (isShown(now, session)) return now;
    throw ended.signal.reason;
  } finally {
    cancel();
  }
}

/**
 * If the instance was paired meanwhile, that is the result.
 * @throws Problem `pairing-failed`, `not-found`
 */
function isShown(now: PairingState | null, wanted: string): now is PairingState {
  if (!now) throw new Problem('not-found');
  const { state, session } = now;
  if (isPaired(state)) return true;
  if (session?.id === wanted && session.error !== null) {
    throw new Problem('pairing-failed', { detail: pairingFailure(session.error) });
  }
  return session !== null && session.open && (session.code !== null || session.passkey !== null);
}
