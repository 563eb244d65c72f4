import { newUuid } from '@gwk/core/ids/ids';
import type { Logger } from '@gwk/core/process/log';
import type { Language } from '../resources/console/session.js';
import { renderLockNotice, renderSecurityNotice, type SecurityNotice } from '../people/mails.js';
import type { Database } from '../database/database.js';
import type { AuditEntry, User } from '../generated/prisma/client.js';
import { MailError, type Mailer } from '../mail/mailer.js';
import type { Job } from '../platform/job.js';

const MAX_WAITING = 1_000;
const AT_ONCE = 20;
const MAX_OWNERS = 20;
const LOCK_MAIL_MS = 24 * 3_600_000;

type NamedChange = Pick<AuditEntry, 'id' | 'action' | 'actor' | 'subject' | 'accountId' | 'detail'>;

interface Wanted {
  kind: SecurityNotice | 'locked';
  /** The person of the change; null: the owners of the account. */
  userId: string | null;
  accountId: string | null;
}

interface WantedMail {
  entry: NamedChange;
  kind: Wanted['kind'];
  /** Name of the account; null: the change concerns none. */
  account: string | null;
}

const OF_PERSON: Readonly<Record<string, Wanted['kind']>> = {
  'user.totp-set': 'factor',
  'user.passkey-add': 'passkey',
  'user.password': 'password',
  'user.sign-in-locked': 'locked',
};

/** Decides whether the person or the owners must learn of a change: a lasting way in, or a lock. */
export function decideNotice({
  action,
  actor,
  subject,
  accountId,
  detail,
}: Omit<NamedChange, 'id'>): Wanted | null {
  const ofPerson = OF_PERSON[action];
  if (ofPerson) return { kind: ofPerson, userId: subject, accountId: null };
  if (action === 'key.create' && actor.startsWith('user:')) {
    return { kind: 'key', userId: actor.slice('user:'.length), accountId };
  }
  const { role } = detail as { role?: unknown };
  if (role !== 'owner' || (action !== 'member.join' && action !== 'member.update')) return null;
  return { kind: 'owner', userId: null, accountId };
}

/** Strangers can cause a lock every few minutes, so the person gets one mail in 24 h. A mail that was not sent does not count. */
const hasLockMail = ({ lockMailedAt }: User): boolean =>
  lockMailedAt !== null && lockMailedAt.getTime() > Date.now() - LOCK_MAIL_MS;

/**
 * Mails people about changes of the audit log that a thief of a session or password would make. The changes wait in memory,
 * so a worker that dies loses their mails, and a slow SMTP server does not delay the log.
 */
export class SecurityMails {
  readonly #waiting: NamedChange[] = [];

  constructor(readonly given: { db: Database; mailer: Mailer; log: Logger }) {}

  add(entries: readonly NamedChange[]): void {
    const wanted = entries.filter((entry) => decideNotice(entry) !== null);
    this.#waiting.push(...wanted.slice(0, MAX_WAITING - this.#waiting.length));
  }

  get job(): Job {
    return {
      name: 'security-mails',
      everyMs: 1_000,
      pass: async () => {
        const entries = this.#waiting.splice(0, AT_ONCE);
        for (const entry of entries) await this.#send(entry);
        return { amount: entries.length, more: this.#waiting.length > 0 };
      },
    };
  }

  async #send(entry: NamedChange): Promise<void> {
    const { db } = this.given;
    const wanted = decideNotice(entry)!;
    if (wanted.kind === 'key' && !(await this.#isWithoutEnd(entry.subject))) return;
    const { accountId, kind, userId } = wanted;
    const account = accountId === null ? null : await db.account.findUnique({ where: { id: accountId } });
    const where =
      userId === null ? { members: { some: { accountId: accountId!, role: 'owner' } } } : { id: userId };
    for (const user of await db.user.findMany({ where, take: MAX_OWNERS })) {
      if (kind === 'locked' && hasLockMail(user)) continue;
      await this.#mail(user, { entry, kind, account: account?.name ?? null });
    }
  }

  /** Sends one mail. Only a mail about a lock that was handed over counts as sent. */
  async #mail(user: User, { entry, kind, account }: WantedMail): Promise<void> {
    const { db, mailer, log } = this.given;
    const language = user.language as Language;
    const text =
      kind === 'locked'
        ? renderLockNotice(language, { canReset: user.passwordHash !== null })
        : renderSecurityNotice(language, kind, account);
    try {
      await mailer.send({ to: user.email, id: `security-${newUuid()}`, ...text });
      if (kind === 'locked')
        await db.user.updateMany({ where: { id: user.id }, data: { lockMailedAt: new Date() } });
    } catch (error) {
      if (!(error instanceof MailError)) throw error;
      log.warn({ code: error.code, status: error.status, action: entry.action }, 'security mail not sent');
    }
  }

  async #isWithoutEnd(id: string): Promise<boolean> {
    const key = await this.given.db.apiKey.findUnique({ where: { id }, select: { expiresAt: true } });
    return key?.expiresAt === null;
  }
}
