import { fromPublicId, newUuid, toPublicId } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import { RENDERINGS, type FailureCode, type MessageStatus, type Rendering } from '@gwk/core/states';
import type { Database } from '../database/database.js';
import type { Acceptor } from '../messages/send/acceptor.js';
import type { Job } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';
import { buildCheckMessage } from '../messages/interactive-status/formats.js';
import { decideCheck } from '../messages/interactive-status/decide.js';

interface MonitorOptions {
  /** Sender and recipient instance (`ins_...`). */
  from: string;
  to: string;
  everyMinutes: number;
}

type Deps = Pick<JobDependencies, 'db' | 'log'> & { acceptor: Pick<Acceptor, 'accept'> };

const LOOK_EVERY_MS = 5_000;
/** Delay after a refusal by a policy or a limit. */
const REST_MS = 10 * 60_000;

/**
 * Checks interactive formats on a schedule: sends a message in each format from one instance to another and records whether
 * it was delivered in that format. Policies apply to these messages as to all others.
 */
export function interactiveStatusJob(deps: Deps, options: MonitorOptions): Job {
  let restUntil = 0;
  return {
    name: 'format-monitor',
    everyMs: LOOK_EVERY_MS,
    async pass() {
      const judged = await judgePending(deps.db);
      if (Date.now() < restUntil) return { amount: judged, more: false };
      try {
        return { amount: judged + (await startDue(deps, options)), more: false };
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        restUntil = Date.now() + REST_MS;
        deps.log.warn({ code: error.code }, 'format check refused; retrying later');
        return { amount: judged, more: false };
      }
    },
  };
}

interface PendingRow {
  id: string;
  format: Rendering;
  age_ms: number;
  status: MessageStatus | null;
  error_code: FailureCode | null;
  rendered_as: string | null;
}

/** Workers that evaluate the same check get the same result. */
async function judgePending(db: Database): Promise<number> {
  const rows = await db.$queryRaw<PendingRow[]>`
    SELECT f.id, f.format, (extract(epoch FROM now() - f.started_at) * 1000)::double precision AS age_ms,
      m.status, m.error_code, m.rendered_as
    FROM format_checks f LEFT JOIN messages m ON m.id = f.message_id
    WHERE f.result = 'pending'`;
  let judged = 0;
  for (const { id, format, age_ms: ageMs, status, error_code: errorCode, rendered_as: renderedAs } of rows) {
    const message = status === null ? null : { status, errorCode, renderedAs };
    const result = decideCheck({ format, ageMs, message });
    if (result === 'pending') continue;
    const check = { id, result: 'pending' };
    if (result === 'void') await db.formatCheck.deleteMany({ where: check });
    else await db.formatCheck.updateMany({ where: check, data: { result, checkedAt: new Date() } });
    judged += 1;
  }
  return judged;
}

type End = NonNullable<Awaited<ReturnType<typeof endOf>>>;

/** One worker at a time. Sends nothing while either instance is offline, because the result would say nothing about the format. */
async function startDue({ db, acceptor }: Deps, options: MonitorOptions): Promise<number> {
  const [from, to] = await Promise.all([endOf(db, options.from), endOf(db, options.to)]);
  if (from?.state !== 'connected' || to?.state !== 'connected' || to.jid === null) return 0;
  const number = to.jid.split(/[:@]/, 1)[0]!;
  return db.$transaction(async (tx) => {
    const [lock] = await tx.$queryRaw<{ mine: boolean }[]>`
      SELECT pg_try_advisory_xact_lock(hashtext('gwk format monitor')) AS mine`;
    if (!lock!.mine) return 0;
    const lately = await tx.$queryRaw<{ format: string }[]>`
      SELECT DISTINCT format FROM format_checks
      WHERE started_at > now() - ${options.everyMinutes}::integer * interval '1 minute'`;
    const due = RENDERINGS.filter((format) => !lately.some((row) => row.format === format));
    for (const format of due) {
      const messageId = await send(
        acceptor,
        from,
        buildCheckMessage(format, toPublicId('instance', from.id), number),
      );
      const check = { id: newUuid(), format, messageId, result: 'pending', startedAt: new Date() };
      await tx.formatCheck.create({ data: check });
    }
    return due.length;
  });
}

async function endOf(db: Database, publicId: string) {
  const id = fromPublicId('instance', publicId);
  if (id === null) return null;
  const select = { id: true, accountId: true, state: true, jid: true };
  return db.instance.findFirst({ where: { id, deletedAt: null }, select });
}

async function send(acceptor: Deps['acceptor'], from: End, body: unknown): Promise<string> {
  const sender = { accountId: from.accountId, instances: null, suspended: false };
  const { message } = await acceptor.accept({ body, idempotencyKey: undefined }, sender);
  return fromPublicId('message', message.id)!;
}
