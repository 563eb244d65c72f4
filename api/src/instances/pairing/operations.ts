import { Problem } from '@gwk/core/problems/problems';
import { ROLE_RIGHTS } from '../../roles.js';
import { PairingOut, PairingCreate, PairingStreamData } from '@gwk/core/resources/pairing';
import { mayPair, nameActor, type Caller } from '../../accounts/caller.js';
import { audit, byCaller } from '../../accounts/audit-log.js';
import { findRoleFor } from '../../accounts/sessions.js';
import type { Exchange } from '../../http/exchange.js';
import { chooseLanguage, languageHeaders } from '../../http/language.js';
import type { Services } from '../../http/services.js';
import { operation } from '../../http/operation.js';
import type { Answer } from '../../http/respond.js';
import { findInstance } from '../../accounts/find-instance.js';
import { ANSWER_MS, parsePairing, openSession, untilShown } from './open.js';
import { pairingStream, type ReadAccess } from './stream.js';
import { nameOwner } from './sessions.js';
import { NO_CODE, pairingOut } from './view.js';
import type { PairingState, Viewer } from './watch.js';

const PATH = '/v1/instances/{instance_id}/pairing';
const KEY_AGAIN_MS = 1_500;
/**
 * Streams per instance and replica. Each stream costs memory and queries for as long as its client stays. Viewers without
 * codes have places of their own, so that they cannot keep out the person who pairs.
 */
const MAX_STREAMS = 20;
/** Streams of one key or person among them. */
const MAX_OWN_STREAMS = 10;
const STREAM_LATER_S = 15;

const CODES_ARE_CREDENTIALS =
  'A code links any phone to the instance, so only callers with `instances:write` read it. Others see the state, the remaining time and the error.';

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
    async handle({ caller, exchange, params, body, services }) {
      const asked = parsePairing(body);
      const row = await findInstance(services.db, caller, params['instance_id']!);
      const owner = { name: nameOwner(caller.credential), address: exchange.ip ?? '' };
      const session = await openSession(services, row.id, { ...asked, owner, joins: !body?.method });
      await audit(services.db, byCaller(caller, 'instance.pair', row.id));
      return showPairing(await untilShown(services, row, session), caller, exchange);
    },
  }),

  operation({
    name: 'getPairing',
    method: 'GET',
    path: PATH,
    summary: 'The state of a pairing, and the QR on display',
    description: CODES_ARE_CREDENTIALS,
    scope: 'instances:read',
    orScope: 'instances:write',
    status: 200,
    result: PairingOut,
    async handle({ caller, exchange, params, services }) {
      const row = await findInstance(services.db, caller, params['instance_id']!);
      const pairing = await services.pairings.read(row.id);
      if (!pairing) throw new Problem('not-found');
      return showPairing(pairing, caller, exchange);
    },
  }),

  operation({
    name: 'streamPairing',
    method: 'GET',
    path: `${PATH}/stream`,
    summary:
      'What happens to a pairing, as it happens: each QR or code, then paired and connected, or an error',
    description: CODES_ARE_CREDENTIALS,
    scope: 'instances:read',
    orScope: 'instances:write',
    status: 200,
    result: PairingStreamData,
    resultType: 'text/event-stream',
    async handle({ caller, exchange, params, services }) {
      const row = await findInstance(services.db, caller, params['instance_id']!);
      const viewer = { actor: nameActor(caller.credential), readsCodes: mayPair(caller) };
      if (!mayOpenStream(services.pairings.listViewers(row.id), viewer)) {
        const detail = {
          pt: `Até ${MAX_STREAMS} streams de pareamento abertos por instância, ${MAX_OWN_STREAMS} por chave ou pessoa.`,
          en: `At most ${MAX_STREAMS} open pairing streams an instance, ${MAX_OWN_STREAMS} a key or person.`,
        };
        throw new Problem('rate-limited', { retryAfter: STREAM_LATER_S, detail });
      }
      const readAccess = recheckAccess(services, caller, row.id);
      return {
        status: 200,
        stream: pairingStream(services, row, {
          ...{ viewer, readAccess, ownerName: nameOwner(caller.credential) },
          language: chooseLanguage(exchange),
        }),
      };
    },
  }),
];

/** The answer of an operation that shows a pairing. */
export async function showPairing(
  pairing: PairingState,
  caller: Caller,
  exchange: Exchange,
): Promise<Answer> {
  const language = chooseLanguage(exchange);
  const isOwner = pairing.session?.owner?.name === nameOwner(caller.credential);
  const body = await pairingOut(pairing, { readsCodes: mayPair(caller), isOwner, language });
  const headers = languageHeaders(language);
  const expiresAt = (pairing.session?.passkey ?? pairing.session?.code)?.expiresAt;
  const bodyAfter = { ...body, ...NO_CODE };
  return { status: 200, body, headers, ...(expiresAt && { expiring: { at: expiresAt, bodyAfter } }) };
}

export function mayOpenStream(open: readonly Viewer[], { actor, readsCodes }: Viewer): boolean {
  const alike = open.filter((viewer) => viewer.readsCodes === readsCodes);
  const own = open.filter((viewer) => viewer.actor === actor);
  return alike.length < MAX_STREAMS && own.length < MAX_OWN_STREAMS;
}

/** Rechecks access while a stream is open, so that a revocation or another role holds within 2 s. */
function recheckAccess({ db, clock }: Services, caller: Caller, instanceId: string): ReadAccess {
  let askedAt = clock.now();
  let access = { readsCodes: mayPair(caller) };
  return async () => {
    if (clock.now() - askedAt < KEY_AGAIN_MS) return access;
    askedAt = clock.now();
    const { credential, accountId } = caller;
    if (credential.kind === 'key') {
      const isValid = { revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: new Date() } }] };
      return (await db.apiKey.count({ where: { id: credential.id, ...isValid } })) > 0 ? access : null;
    }
    const role = await findRoleFor(db, credential.id, { accountId, instanceId });
    access = { readsCodes: role !== null && mayPair({ scopes: new Set(ROLE_RIGHTS[role].scopes) }) };
    return role && access;
  };
}
