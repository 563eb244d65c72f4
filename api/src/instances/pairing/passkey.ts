import { PASSKEY_NOT_AWAITED, type PasskeyCommand } from '@gwk/core/protocol/commands';
import { Problem } from '@gwk/core/problems/problems';
import { PairingOut, PasskeyAnswer, PasskeyComparison } from '@gwk/core/resources/pairing';
import { audit, byCaller } from '../../accounts/audit-log.js';
import { findInstance } from '../../accounts/find-instance.js';
import { ANSWER_MARGIN_MS, DEADLINES, readReply, unavailable } from '../../engine-commands/ask-engine.js';
import type { Instance, Prisma } from '../../generated/prisma/client.js';
import { operation, type Call } from '../../http/operation.js';
import type { Answer } from '../../http/respond.js';
import type { Services } from '../../http/services.js';
import { checkAssertion } from './assertion.js';
import { showPairing } from './operations.js';
import { nameOwner, sealPasskey } from './sessions.js';
import { pairingFailure } from './reasons.js';
import { isOpen } from './view.js';
import type { SessionState } from './watch.js';

const PATH = '/v1/instances/{instance_id}/pairing/passkey';
const PROBLEMS = ['passkey-not-awaited', 'pairing-failed', 'engine-unavailable', 'forbidden'] as const;
const MAX_WORK_MS = DEADLINES.passkey + ANSWER_MARGIN_MS;

/** Both need the key or the sign-in that started the pairing. The record of an `Idempotency-Key` has a digest of the credential only. */
export const passkeyPairingOperations = [
  operation({
    name: 'answerPasskey',
    method: 'POST',
    path: PATH,
    summary: 'Answer the request for a passkey while a phone is linked',
    description:
      'Only the key or the sign-in that started the pairing may answer. The credential goes to the network and is neither stored nor logged.',
    scope: 'instances:write',
    status: 200,
    body: PasskeyAnswer,
    result: PairingOut,
    problems: PROBLEMS,
    maxWorkMs: MAX_WORK_MS,
    idempotent: true,
    async handle(call) {
      const { row, session, passkey } = await findAwaited(call);
      if (passkey.options === null) throw new Problem('passkey-not-awaited');
      const errors = checkAssertion(call.body, passkey.options);
      if (errors.length > 0) throw new Problem('validation-error', { errors });
      const credential = JSON.stringify(call.body.credential);
      await recordStep(call, row, { action: 'instance.answer-passkey', session });
      await command(call, row, { session: session.id, kind: 'assertion', credential });
      await markAnswered(call.services, row, session);
      return showNow(call, row);
    },
  }),

  operation({
    name: 'confirmPasskey',
    method: 'POST',
    path: `${PATH}/confirm`,
    summary: 'Say that the code of the pairing is equal to the one on the phone',
    description: 'With `equal: false` the pairing ends: another person may be linking a device.',
    scope: 'instances:write',
    status: 200,
    body: PasskeyComparison,
    bodyOptional: true,
    result: PairingOut,
    problems: PROBLEMS,
    maxWorkMs: MAX_WORK_MS,
    idempotent: true,
    async handle(call) {
      const { row, session, passkey } = await findAwaited(call);
      if (passkey.code === null) throw new Problem('passkey-not-awaited');
      const equal = call.body?.equal ?? true;
      await recordStep(call, row, { action: 'instance.confirm-passkey', session, more: { equal } });
      await command(call, row, { session: session.id, kind: 'comparison', equal });
      return showNow(call, row);
    },
  }),
];

type Step = Pick<Call, 'caller' | 'exchange' | 'params' | 'services'>;

interface Awaited {
  row: Instance;
  session: SessionState;
  passkey: NonNullable<SessionState['passkey']>;
}

/** @throws Problem `not-found`, `passkey-not-awaited`, `forbidden` */
async function findAwaited({ caller, params, services }: Step): Promise<Awaited> {
  const row = await findInstance(services.db, caller, params['instance_id']!);
  const pairing = await services.pairings.read(row.id);
  if (!pairing) throw new Problem('not-found');
  const { session } = pairing;
  if (!isOpen(pairing) || !session?.passkey) throw new Problem('passkey-not-awaited');
  if (session.owner?.name !== nameOwner(caller.credential)) {
    const detail = {
      pt: 'Outra chave ou outro navegador iniciou este pareamento. Inicie um novo.',
      en: 'Another key or another browser has started this pairing. Start a new one.',
    };
    throw new Problem('forbidden', { detail });
  }
  return { row, session, passkey: session.passkey };
}

/** With both addresses: that of this request, and that of the request that started the pairing. */
function recordStep(
  { caller, exchange, services }: Step,
  row: Instance,
  step: { action: string; session: SessionState; more?: Prisma.InputJsonObject },
): Promise<void> {
  const detail = { address: exchange.ip ?? '', started_from: step.session.owner!.address, ...step.more };
  return audit(services.db, byCaller(caller, step.action, row.id, detail));
}

/** @throws Problem `engine-unavailable`, `passkey-not-awaited`, `pairing-failed` */
async function command({ services }: Step, row: Instance, args: PasskeyCommand): Promise<void> {
  const question = { name: 'passkey', args, timeoutMs: DEADLINES.passkey } as const;
  const reply = await readReply(services, row, question);
  if (reply?.ok) return;
  if (reply?.code !== PASSKEY_NOT_AWAITED) throw unavailable();
  const { session } = (await services.pairings.read(row.id)) ?? {};
  if (session?.id === args.session && session.error !== null)
    throw new Problem('pairing-failed', { detail: pairingFailure(session.error) });
  throw new Problem('passkey-not-awaited');
}

/** Removes the request that is answered, unless the network has asked again meanwhile. */
async function markAnswered(
  { db, sealer }: Services,
  { id }: Instance,
  session: SessionState,
): Promise<void> {
  const answered = sealPasskey(sealer, id, { options: null, code: null });
  await db.pairingSession.updateMany({
    where: {
      instanceId: id,
      id: session.id,
      passkeyCount: session.passkeyCount,
      passkeySealed: { not: null },
    },
    data: { passkeySealed: answered },
  });
}

async function showNow({ caller, exchange, services }: Step, row: Instance): Promise<Answer> {
  const pairing = await services.pairings.read(row.id);
  if (!pairing) throw new Problem('not-found');
  return showPairing(pairing, caller, exchange);
}
