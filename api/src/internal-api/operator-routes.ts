import { randomBytes } from 'node:crypto';
import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import type {
  OPERATOR_ROUTES,
  OperatorRequest,
  OperatorResponse,
  OperatorRoute,
  Projection,
} from '@gwk/core/protocol/operator';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import type { z } from 'zod';
import { audit } from '../accounts/audit-log.js';
import type { Instance } from '../generated/prisma/client.js';
import { findConsoleUrl, makeConsoleUrl } from '../http/console-url.js';
import { renewTerms } from '../engine-commands/ask-engine.js';
import { ANSWER_MS, openSession, type Asked } from '../instances/pairing/open.js';
import { isOpen } from '../instances/pairing/view.js';
import { readPairings, type PairingState } from '../instances/pairing/watch.js';
import { projectResource } from '../instances/projection.js';
import { deleteInstanceRow } from '../instances/remove.js';
import { tellStillLinked } from '../instances/slot.js';
import { hashOfToken } from './auth.js';
import type { InternalDeps } from '../engines/dependencies.js';
import type { HandlerResult, InternalServices } from './engine-routes.js';
import { observeInstances, readFacts } from '../engines/operator-facts.js';
import { RefusalError } from '../fencing/refusal.js';

type OperatorHandlers = {
  [R in OperatorRoute]: (
    request: z.output<(typeof OPERATOR_ROUTES)[R]['request']>,
  ) => HandlerResult<OperatorResponse<R>>;
};

const TOKEN_PREFIX = 'gwk_engine_';
const TOKEN_BYTES = 32;

export function operatorHandlers(deps: InternalDeps, services: InternalServices): OperatorHandlers {
  return {
    project: ({ resource }) => project(deps, resource),
    remove: ({ uid }) => remove(deps, services, uid),
    'issue-token': async ({ instance_id, pod }) => ({ token: await issueToken(deps, instance_id, pod) }),
    'engine-ended': ({ instance_id, pod }) => services.leases.engineEnded(instance_id, pod),
    pair: (request) => pairForCluster(deps, request),
    observe: (request) => observeInstances(deps.database, request),
  };
}

async function project(deps: InternalDeps, resource: InstanceResource): Promise<Projection> {
  const { database, live, log } = deps;
  const result = await database.$transaction((tx) => projectResource(tx, deps, resource));
  const facts = result.id === null ? undefined : await readFacts(database, result.id);
  if (result.do === 'reject') {
    const { reason, message } = result;
    return { accepted: false, reason, message, facts: facts ?? null };
  }
  // Deleted between the two statements; the next reconcile sees it.
  if (!facts) throw new RefusalError('gone');
  if (result.do === 'update')
    renewTerms({ db: database, live }, { id: result.id }).catch((err: unknown) =>
      log.warn({ err, instance: result.id }, 'the engine gets a changed resource with its next renewal'),
    );
  return { accepted: true, facts };
}

async function remove(
  { database, sealer }: InternalDeps,
  services: InternalServices,
  uid: string,
): Promise<OperatorResponse<'remove'>> {
  const removed = await deleteInstanceRow(database, sealer, { resourceUid: uid });
  if (!removed) return { lease_expires_at: null };
  services.forgetTokens(removed.id);
  // Deleted by kubectl: its engine has been stopped already.
  if (removed.wasLinked) await tellStillLinked(database, sealer, removed.id);
  // A running engine closes its socket and unlinks first; the last call, without an engine, cleans up Redis.
  if (removed.leaseExpiresAt === null) await services.redisUsers.remove(removed.id, removed.lastEpoch);
  return { lease_expires_at: removed.leaseExpiresAt?.toISOString() ?? null };
}

/**
 * Issues a token of 256 random bits for one pod, stored as a digest. It can acquire a lease until a newer token has done so.
 * Long revoked tokens of the instance are deleted here.
 */
async function issueToken({ database }: InternalDeps, instanceId: string, pod: string): Promise<string> {
  const token = TOKEN_PREFIX + randomBytes(TOKEN_BYTES).toString('base64url');
  const issued = await database.$executeRaw`
    WITH result AS (
      DELETE FROM engine_tokens
      WHERE instance_id = ${instanceId}::uuid AND revoked_at < now() - interval '1 day'
    )
    INSERT INTO engine_tokens (id, instance_id, pod, hash)
    SELECT ${newUuid()}::uuid, i.id, ${pod}, ${hashOfToken(token)}
    FROM instances i WHERE i.id = ${instanceId}::uuid AND i.deleted_at IS NULL`;
  if (issued === 0) throw new RefusalError('gone');
  return token;
}

/**
 * Returns the present state of a pairing without waiting. Opens a session first if the operator requests one. A suspended
 * account opens none, and each answer says so, because the operator requests a session only once.
 */
async function pairForCluster(
  deps: InternalDeps,
  { instance_id: id, open }: OperatorRequest<'pair'>,
): Promise<OperatorResponse<'pair'>> {
  const where = { id, deletedAt: null };
  const row = await deps.database.instance.findFirst({ where, include: { account: true } });
  if (!row) throw new RefusalError('gone');
  const isSuspended = row.account.suspendedAt !== null;
  if (open && !isSuspended) await openFor(deps, row, open);
  const pairing = (await readPairings(deps.database, deps.sealer, [id])).get(id);
  if (!pairing) throw new RefusalError('gone');
  const view = shown(pairing, deps.config.console ? passkeyPage(deps.config, row) : null);
  return isSuspended && !view.open ? { ...view, error: 'the account is suspended' } : view;
}

/** A paired instance gets no session; its state shows it. */
async function openFor(deps: InternalDeps, row: Instance, asked: Asked): Promise<void> {
  const { database: db, sealer, config, live } = deps;
  const { id, accountId } = row;
  try {
    const pairing = await openSession({ db, sealer, config }, id, { ...asked, owner: null });
    await audit(db, { actor: 'cluster', accountId, action: 'instance.pair', subject: id });
    // An engine that starts later, or misses the command, finds the session with its lease.
    void live.ask(row, 'pair', pairing, ANSWER_MS);
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'already-paired') throw error;
  }
}

function passkeyPage(config: InternalDeps['config'], { id, accountId }: Instance): string {
  const path = `${toPublicId('account', accountId)}/numbers/${toPublicId('instance', id)}/pairing`;
  return makeConsoleUrl(findConsoleUrl(config), path).href;
}

function shown(pairing: PairingState, page: string | null): OperatorResponse<'pair'> {
  const { state, session } = pairing;
  const open = isOpen(pairing);
  const code = open ? session!.code : null;
  return {
    state,
    open,
    code: code?.text ?? null,
    code_expires_at: code?.expiresAt.toISOString() ?? null,
    error: session?.error ?? null,
    passkey: open && session?.passkey ? { page } : null,
  };
}
