import { Problem } from '@gwk/core/problems/problems';
import { maySee } from '../../accounts/caller.js';
import { hashBodyWithAllKeys, readIdempotencyKey, type BeginResult, type Mark } from './store.js';
import { formatEtag } from '../etag.js';
import type { Call, Operation } from '../operation.js';
import type { Answer } from '../respond.js';
import type { Services } from '../services.js';

const FIRST_VERSION = 1;

/**
 * Handles `Idempotency-Key` for every POST except `POST /v1/messages`, whose write includes the record: stores a mark before
 * the work begins and replaces it by the answer afterwards.
 */
export async function handleIdempotently(
  operation: Operation,
  call: Call<never, never>,
  services: Services,
): Promise<Answer> {
  const key = readIdempotencyKey(call.idempotencyKey);
  if (key === null) return operation.handle(call);
  const begun = await services.idempotency.begin({
    accountId: call.caller.accountId,
    route: `${operation.method} ${operation.path}`,
    key,
    ...hashBodyWithAllKeys(services.sealer, call.caller.accountId, { params: call.params, body: call.body }),
    instanceId: call.params['instance_id'] ?? null,
  });
  if (!('mark' in begun)) return answerFrom(begun, operation, call);
  const marked = { ...call, resourceId: begun.resourceId, resumed: begun.kind === 'resumed' };
  return runMarked(operation, marked, begun.mark, services);
}

async function runMarked(
  operation: Operation,
  call: Call<never, never>,
  mark: Mark,
  services: Services,
): Promise<Answer> {
  const { idempotency, log } = services;
  const warn = (message: string) => (error: unknown) =>
    log.warn({ err: error, request_id: call.requestId }, message);
  let answer: Answer;
  try {
    answer = await operation.handle(call);
  } catch (error) {
    // A refusal leaves nothing behind, so the key becomes free. After any other error a resource may exist: the mark keeps
    // its id for the retry, and only its lock ends.
    const refused = error instanceof Problem && error.status < 500;
    await (refused ? idempotency.abandon(mark) : idempotency.release(mark)).catch(
      warn('idempotency mark not released; it expires by itself'),
    );
    throw error;
  }
  // The work is done: without a stored answer a retry finds the resource by its id.
  await idempotency.complete(mark, answer).catch(warn('answer not stored for retries'));
  return answer;
}

async function answerFrom(
  begun: Exclude<BeginResult, { mark: Mark }>,
  operation: Operation,
  call: Call,
): Promise<Answer> {
  if (begun.kind === 'in-progress') throw new Problem('idempotency-in-progress', { retryAfter: 1 });
  if (begun.kind === 'reused') throw new Problem('idempotency-key-reused');
  const { caller } = call;
  const hidden = begun.instanceId !== null && !maySee(caller, begun.instanceId);
  if (hidden || (await operation.mayReplay?.(caller, begun.body, call)) === false) {
    throw new Problem('not-found');
  }
  const body = begun.body === null ? undefined : begun.body;
  // The stored answer belongs to a creation, and a new resource has the first version.
  const tag = operation.etag ? ['ETag', formatEtag(FIRST_VERSION)] : [];
  return { status: begun.status, body, headers: ['Idempotent-Replayed', 'true', ...tag] };
}
