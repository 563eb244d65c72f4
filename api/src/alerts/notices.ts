import { toPublicId } from '@gwk/core/ids/ids';
import type { Logger } from '@gwk/core/process/log';
import { Problem } from '@gwk/core/problems/problems';
import type { AlertChannel, IncidentKind } from '../resources/console/alert.js';
import type { Language } from '../resources/console/session.js';
import type { Database } from '../database/database.js';
import type { Prisma } from '../generated/prisma/client.js';
import { makeConsoleUrl } from '../http/console-url.js';
import { MailError, type Mailer } from '../mail/mailer.js';
import { renderIncident, toMessageText, type AlertText } from './texts.js';
import { findSender, sendByWhatsApp, type MessageSender } from './whatsapp.js';

export interface NoticeDeps {
  db: Database;
  log: Logger;
  mailer: Mailer | null;
  acceptor: MessageSender;
  /** Address of the console; undefined: alerts have no link. */
  consoleUrl: string | undefined;
  onResult: (channel: AlertChannel, result: NoticeResult) => void;
}

export type NoticeResult = 'sent' | 'retried' | 'failed';

export const NOTICES_AT_ONCE = 10;
/** Longer than all time limits of one notice. */
const LOCK_MS = 120_000;
const MAX_ATTEMPTS = 12;
const MINUTE_MS = 60_000;
const MAX_DELAY_MINUTES = 60;

const WITH_ALL = { include: { contact: true, incident: { include: { account: true } } } } as const;
type Notice = Prisma.AlertNoticeGetPayload<typeof WITH_ALL>;

/** The channel cannot send now. */
class Unavailable extends Error {
  override name = 'Unavailable';
}

/**
 * Sends due notices. A worker that dies after the send and before the result leaves the notice to be sent again: an e-mail
 * with the same Message-ID, and no second WhatsApp message, because its idempotency key is the same.
 * @returns the number of notices
 */
export async function sendNotices(deps: NoticeDeps, now: Date): Promise<number> {
  const notices = await claimNotices(deps.db, now);
  await Promise.all(
    notices.map(async (notice) => {
      const failure = await send(deps, notice).then(
        () => null,
        (error: unknown) => error,
      );
      await record(deps, notice, { failure, now });
    }),
  );
  return notices.length;
}

/** The end of an incident waits for its begin, so that a contact receives them in order. */
async function claimNotices(db: Database, now: Date): Promise<Notice[]> {
  const at = now.toISOString();
  const claimed = await db.$queryRaw<{ id: string }[]>`
    UPDATE alert_notices SET attempts = attempts + 1,
      locked_until = ${new Date(now.getTime() + LOCK_MS).toISOString()}::timestamptz
    WHERE id IN (
      SELECT n.id FROM alert_notices n
      WHERE n.status = 'pending' AND n.due_at <= ${at}::timestamptz
        AND (n.locked_until IS NULL OR n.locked_until <= ${at}::timestamptz)
        AND (n.phase = 'begin' OR NOT EXISTS (SELECT FROM alert_notices b
          WHERE b.incident_id = n.incident_id AND b.contact_id = n.contact_id
            AND b.phase = 'begin' AND b.status = 'pending'))
      ORDER BY n.due_at, n.id LIMIT ${NOTICES_AT_ONCE}::integer FOR UPDATE SKIP LOCKED)
    RETURNING id`;
  return db.alertNotice.findMany({ where: { id: { in: claimed.map(({ id }) => id) } }, ...WITH_ALL });
}

async function send(deps: NoticeDeps, notice: Notice): Promise<void> {
  const { id, contact, incident } = notice;
  const phase = notice.phase as 'begin' | 'end';
  const kind = incident.kind as IncidentKind;
  const language = contact.language as Language;
  const at = phase === 'begin' ? incident.since : incident.endedAt!;
  const { name: subject, account } = incident;
  const url = deps.consoleUrl === undefined ? null : makePageUrl(deps.consoleUrl, incident);
  const text = renderIncident(language, { kind, phase, subject, account: account.name, at, url });
  if (contact.channel === 'whatsapp') return sendMessage(deps, notice, text);
  if (deps.mailer === null) throw new Unavailable('no SMTP server');
  await deps.mailer.send({ to: contact.address, id: `alert-${id}`, language, ...text });
}

function makePageUrl(consoleUrl: string, { accountId, kind, subject }: Notice['incident']): string {
  const page =
    kind === 'webhook_disabled'
      ? `webhooks/${toPublicId('endpoint', subject)}`
      : `numbers/${toPublicId('instance', subject)}`;
  return makeConsoleUrl(consoleUrl, `${toPublicId('account', accountId)}/${page}`).href;
}

async function sendMessage({ db, acceptor }: NoticeDeps, notice: Notice, text: AlertText): Promise<void> {
  const { id, contact, incident } = notice;
  const { accountId } = contact;
  const instanceId = notice.senderId ?? (await findSender(db, accountId, incident.subject));
  if (instanceId === null) throw new Unavailable('no connected number');
  // Stored first: a repeat must be the same request, or its key would not stop a second message.
  await db.alertNotice.update({ where: { id }, data: { senderId: instanceId } });
  const key = `alert-${id}-${instanceId}`;
  await sendByWhatsApp(acceptor, {
    accountId,
    instanceId,
    to: contact.address,
    body: toMessageText(text),
    key,
  });
}

async function record(
  { db, log, onResult }: NoticeDeps,
  { id, attempts, contact }: Notice,
  { failure, now }: { failure: unknown; now: Date },
): Promise<void> {
  const channel = contact.channel as AlertChannel;
  const result = decideResult(failure, attempts);
  const retry = {
    dueAt: new Date(now.getTime() + Math.min(2 ** (attempts - 1), MAX_DELAY_MINUTES) * MINUTE_MS),
    lockedUntil: null,
    // A refused message was not accepted, so the next attempt may take another number.
    senderId: null,
  };
  const data = result === 'retried' ? retry : { status: result, finishedAt: now, lockedUntil: null };
  // A removed contact has no notices any more.
  await db.alertNotice.updateMany({ where: { id, status: 'pending' }, data });
  if (failure !== null) log.warn({ err: failure, notice: id, channel, attempts, result }, 'alert not sent');
  onResult(channel, result);
}

/** Errors of the database and of the program itself are retried too: the alert matters more. */
export function decideResult(failure: unknown, attempts: number): NoticeResult {
  if (failure === null) return 'sent';
  const permanent =
    (failure instanceof MailError && failure.permanent) ||
    (failure instanceof Problem && PERMANENT.has(failure.code));
  return permanent || attempts >= MAX_ATTEMPTS ? 'failed' : 'retried';
}

const PERMANENT: ReadonlySet<string> = new Set(['contact-opted-out', 'invalid-phone', 'account-suspended']);
