import { Problem } from '@gwk/core/problems';
import { PairingOut, PairingCreate, PairingStreamData } from '@gwk/core/resources/pairing';
import type { Caller } from '../../accounts/caller.js';
import { audit, byCaller } from '../../accounts/audit-log.js';
import { mayWatchStill } from '../../accounts/sessions.js';
import type { Services } from '../../http/services.js';
import { operation } from '../../http/operation.js';
import type { Answer } from '../../http/respond.js';
import { findInstance } from '../find.js';
import { ANSWER_MS, parsePairing, openSession, untilShown } from './open.js';
import { pairingStream, type MaySee } from './stream.js';
import { pairingOut } from './view.js';
import type { PairingState } from './watch.js';

const PATH = '/v1/instances/{instance_id}/pairing';
const KEY_AGAIN_MS = 1_500;
/** Streams per instance and replica. Each stream costs memory and queries for as long as its client stays. */
const MAX_STREAMS = 20;
const STREAM_LATER_S = 15;

export const pairingOperations = [
  operation({
    name: 'startPairing',
    method: 'POST',
    path: PATH,
    summary: 'Open a pairing session, or show the one that is open',
    scope: 'instances:write',
    status: 200,
    body: PairingCreate,
    bodyOptional: true,
    result: PairingOut,
    problems: ['already-paired', 'invalid-phone', 'pairing-failed', 'engine-unavailable'],
    maxWorkMs: ANSWER_MS + 2_000,
    idempotent: true,
    async handle({ caller, params, body, services }) {
      const asked = parsePairing(body);
      const row = await findInstance(services.db, caller, params['instance_id']!);
      const session = await openSession(services, row.id, asked);
      await audit(services.db, byCaller(caller, 'instance.pair', row.id));
      return shown(await untilShown(services, row, { session, asked }));
    },
  }),

  operation({
    name: 'getPairing',
    method: 'GET',
    path: PATH,
    summary: 'The state of a pairing, and the QR on display',
    scope: 'instances:read',
    orScope: 'instances:write',
    status: 200,
    result: PairingOut,
    async handle({ caller, params, services }) {
      const row = await findInstance(services.db, caller, params['instance_id']!);
      const pairing = await services.pairings.read(row.id);
      if (!pairing) throw new Problem('not-found');
      return shown(pairing);
    },
  }),

  operation({
    name: 'streamPairing',
    method: 'GET',
    path: `${PATH}/stream`,
    summary:
      'What happens to a pairing, as it happens: each QR or code, then paired and connected, or an error',
    scope: 'instances:read',
    orScope: 'instances:write',
    status: 200,
    result: PairingStreamData,
    resultType: 'text/event-stream',
    async handle({ caller, params, services }) {
      const row = await findInstance(services.db, caller, params['instance_id']!);
      checkStreamLimit(services, row.id);
      return { status: 200, stream: pairingStream(services, row, maySeeStill(services, caller, row.id)) };
    },
  }),
];

async function shown(pairing: PairingState): Promise<Answer> {
  const body = await pairingOut(pairing);
  const expiresAt = pairing.session?.code?.expiresAt;
  const bodyAfter = { ...body, qr: null, pairing_code: null };
  return { status: 200, body, ...(expiresAt && { expiring: { at: expiresAt, bodyAfter } }) };
}

/** @throws Problem `rate-limited` */
function checkStreamLimit({ pairings }: Services, instanceId: string): void {
  if (pairings.watching(instanceId) < MAX_STREAMS) return;
  const detail = `Até ${MAX_STREAMS} streams de pareamento abertos por instância.`;
  throw new Problem('rate-limited', { retryAfter: STREAM_LATER_S, detail });
}

/** Rechecks access while a stream is open, so that a revocation holds within 2 s. */
function maySeeStill({ db, clock }: Services, caller: Caller, instanceId: string): MaySee {
  let askedAt = clock.now();
  return async () => {
    if (clock.now() - askedAt < KEY_AGAIN_MS) return true;
    askedAt = clock.now();
    const { credential, accountId } = caller;
    if (credential.kind === 'session') return mayWatchStill(db, credential.id, { accountId, instanceId });
    return (await db.apiKey.count({ where: { id: credential.id, revokedAt: null } })) > 0;
  };
}
