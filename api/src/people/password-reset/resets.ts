import { newUuid } from '@gwk/core/ids/ids';
import { InFlightSet } from '../../platform/in-flight-set.js';
import type { Logger } from '@gwk/core/process/log';
import { Problem } from '@gwk/core/problems/problems';
import type { Language } from '../../resources/console/session.js';
import { audit } from '../../accounts/audit-log.js';
import { hashToken, newToken } from '../../accounts/sessions.js';
import type { Database } from '../../database/database.js';
import type { User } from '../../generated/prisma/client.js';
import { MailError, type Mailer } from '../../mail/mailer.js';
import { makeLink } from '../links.js';
import { renderReset } from '../mails.js';
import { forgetFailures } from '../sign-in/attempts.js';
import { forgetDevices } from '../sign-in/devices.js';

const VALID_MS = 30 * 60_000;

interface Dependencies {
  db: Database;
  mailer: Mailer;
  log: Logger;
  baseUrl: string;
}

/** E-mails with links that set a new password. */
export class PasswordResets {
  readonly #running = new InFlightSet<Promise<void>>();

  constructor(readonly given: Dependencies) {}

  /**
   * Sends a link to the user of the e-mail, if there is one. Everything that depends on the user happens after the answer, so
   * that neither the answer nor its time reveals who is a user.
   */
  start(email: string, client: string): void {
    const { log } = this.given;
    const work = this.#send(email, client).catch((error: unknown) =>
      log.error({ err: error }, 'password reset failed'),
    );
    const entry = this.#running.add(work);
    void work.finally(() => this.#running.delete(entry));
  }

  /** Waits for the mails that are being sent. */
  async close(): Promise<void> {
    await Promise.all(this.#running.items);
  }

  async #send(email: string, client: string): Promise<void> {
    const { db, mailer, log, baseUrl } = this.given;
    const user = await db.user.findUnique({ where: { email } });
    if (!user) return;
    const token = newToken();
    const id = newUuid();
    await db.$transaction(async (tx) => {
      await tx.handoff.deleteMany({ where: { userId: user.id, purpose: 'reset' } });
      const expiresAt = new Date(Date.now() + VALID_MS);
      const tokenHash = hashToken(token);
      await tx.handoff.create({ data: { id, userId: user.id, purpose: 'reset', tokenHash, expiresAt } });
      await audit(tx, entryOf('user.reset-request', user.id, { address: client }));
    });
    const text = renderReset(user.language as Language, makeLink(baseUrl, 'password-reset', { token }));
    try {
      await mailer.send({ to: user.email, id: `reset-${id}`, ...text });
    } catch (error) {
      if (!(error instanceof MailError)) throw error;
      const { code, status } = error;
      log.error({ code, status }, 'password reset not sent');
      await audit(db, entryOf('user.reset-not-sent', user.id, { code }));
    }
  }
}

const entryOf = (action: string, subject: string, detail: Record<string, string>) => ({
  actor: 'anyone',
  accountId: null,
  action,
  subject,
  detail,
});

/** @throws Problem `handoff-invalid` */
export async function findReset({ handoff }: Pick<Database, 'handoff'>, token: string): Promise<User> {
  const found = await handoff.findFirst({
    where: { tokenHash: hashToken(token), purpose: 'reset', expiresAt: { gt: new Date() } },
    include: { user: true },
  });
  if (!found) throw new Problem('handoff-invalid');
  return found.user;
}

/** After the link, the person may set up the first second factor of an account that requires one. */
const FACTOR_SET_UP_MS = 30 * 60_000;

/**
 * Uses up the link, sets the password, and ends all sessions and links of the user, and a lock of the e-mail. The second
 * factor and its lock stay.
 * @throws Problem `handoff-invalid`
 */
export async function setPassword(
  db: Database,
  { token, user, passwordHash }: { token: string; user: User; passwordHash: string },
): Promise<void> {
  const userId = user.id;
  await db.$transaction(async (tx) => {
    // The lock of the user comes first, as in all changes of it.
    const factorSetUpUntil = new Date(Date.now() + FACTOR_SET_UP_MS);
    await tx.user.update({ where: { id: userId }, data: { passwordHash, factorSetUpUntil } });
    const used = await tx.handoff.deleteMany({
      where: { userId, purpose: 'reset', tokenHash: hashToken(token) },
    });
    if (used.count === 0) throw new Problem('handoff-invalid');
    await tx.handoff.deleteMany({ where: { userId } });
    await tx.userSession.deleteMany({ where: { userId } });
    await forgetFailures(tx, [user.email]);
    await forgetDevices(tx, userId);
    await audit(tx, { ...entryOf('user.password', userId, { by: 'reset' }), actor: `user:${userId}` });
  });
}
