import { Problem } from '@gwk/core/problems';
import { maySee } from '../../accounts/caller.js';
import { expireAnswerCode, hashesOfBody, readIdempotencyKey, type Begun, type Mark } from './store.js';
import { etagOf } from '../etag.js';
import type { Call, Operation } from '../operation.js';
import type { Answer } from '../respond.js';
import type { Services } from '../services.js';

const FIRST_VERSION = 1;

/**
 * `Idempotency-Key` for every POST but that of messages, which has its own way (design: Idempotency in groups): a
 * mark before anything happens, the answer in its place afterwards.
 */
export async function handleOnce(
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
    ...hashesOfBody(services.sealer, call.caller.accountId, { params: call.params, body: call.body }),
    instanceId: call.params['instance_id'] ?? null,
  });
  if (begun.kind !== 'fresh' && begun.kind !== 'resumed') return answerFrom(begun, operation, call);
  const marked = { ...call, resourceId: begun.resourceId, resumed: begun.kind === 'resumed' };
  return runMarked(operation, marked, begun.mark, services);
}

async function runMarked(
  operation: Operation,
  call: Call<never, never>,
  mark: Mark,
  services: Services,
): Promise<Answer> {
  let answer: Answer;
  try {
    answer = await operation.handle(call);
  } catch (error) {
    // A refusal leaves nothing behind and its key is free. After any other fault something may have been made: the
    // repeat has to find it, so the mark keeps its id and only its lock ends.
    const refused = error instanceof Problem && error.status < 500;
    const { idempotency } = services;
    await (refused ? idempotency.abandon(mark) : idempotency.release(mark)).catch((fault: unknown) =>
      services.log.warn({ err: fault, request_id: call.requestId }, 'an idempotency mark was left to time'),
    );
    throw error;
  }
  // What was made is made: without a kept answer the repeat finds it by its id.
  await keep(mark, answer, services).catch((fault: unknown) =>
    services.log.warn({ err: fault, request_id: call.requestId }, 'an answer was not kept'),
  );
  return answer;
}

/** The answer, and what it says once the code in it has run out. */
async function keep(mark: Mark, answer: Answer, { db, sealer, idempotency }: Services): Promise<void> {
  const { expiring } = answer;
  // First, so that no crash in between leaves a code behind.
  if (expiring) {
    const { at: expiresAt, bodyAfter } = expiring;
    await expireAnswerCode(db, sealer, { ...mark, bodyAfter, expiresAt });
  }
  await idempotency.complete(mark, { status: answer.status, body: answer.body });
}

async function answerFrom(
  begun: Exclude<Begun, { kind: 'fresh' | 'resumed' }>,
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
  // The answer was that to a creation, and what has just been created is at its first version.
  const tag = operation.etag ? ['ETag', etagOf(FIRST_VERSION)] : [];
  return { status: begun.status, body, headers: ['Idempotent-Replayed', 'true', ...tag] };
}
