import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import { PageQuery } from '@gwk/core/resources/common';
import { CreatedInvitation, InvitationCreate, InvitationOut } from '../resources/console/member.js';
import type { Language } from '../resources/console/session.js';
import type { Role } from '../roles.js';
import type { z } from 'zod';
import { audit, byCaller } from '../accounts/audit-log.js';
import type { Caller } from '../accounts/caller.js';
import { hashToken, newToken, type Session } from '../accounts/sessions.js';
import type { Invitation, Prisma } from '../generated/prisma/client.js';
import { pageSchema } from '../http/cursor.js';
import { findConsoleUrl } from '../http/console-url.js';
import { operation } from '../http/operation.js';
import type { Services } from '../http/services.js';
import { MailError } from '../mail/mailer.js';
import { checkOwnerReach, checkReach, readRestriction } from '../accounts/restriction.js';
import { makeLink } from './links.js';
import { renderInvitation } from './mails.js';
import { checkOwners } from './members.js';
import { isAllowed } from './oidc/decide.js';
import { countInvitationMail, forgetAttempt } from './sign-in/attempts.js';
import { PRIVATE } from './sign-in/sessions.js';

const PATH = '/console/api/invitations';
const VALID_MS = 7 * 86_400_000;
const PER_DAY = 100;
const MAIL_TIMEOUT_MS = 10_000;

const listInvitations = operation({
  name: 'listInvitations',
  method: 'GET',
  path: PATH,
  summary: 'List open invitations, newest first',
  scope: null,
  person: 'members:read',
  status: 200,
  query: PageQuery,
  result: pageSchema(InvitationOut, 'InvitationPage'),
  async handle({ caller: { accountId }, query, services: { db, cursors } }) {
    return cursors.page(
      { accountId, route: `GET ${PATH}`, query },
      ({ before, limit }) =>
        db.invitation.findMany({
          where: { accountId, expiresAt: { gt: new Date() }, ...(before !== null && { id: { lt: before } }) },
          orderBy: { id: 'desc' },
          take: limit,
        }),
      view,
    );
  },
});

const createInvitation = operation({
  name: 'createInvitation',
  method: 'POST',
  path: PATH,
  summary: 'Invite a person',
  description:
    'The link is valid once, for 7 days. With an SMTP server it is e-mailed to the person too, at most once an hour. Another invitation of the same e-mail replaces the former one and its link; an e-mailed link stays valid until the next e-mail. An account invites at most 100 persons in 24 hours. Only owners invite owners, who have all instances. A restricted person manages only invitations within the own instances.',
  scope: null,
  person: 'members:write',
  status: 201,
  problems: ['already-member'],
  body: InvitationCreate,
  result: CreatedInvitation,
  maxWorkMs: MAIL_TIMEOUT_MS + 5_000,
  async handle({ caller, session, body: { email, role, instance_ids }, services }) {
    const { db, config, mailer } = services;
    checkOwners(session!, [role]);
    checkDomain(services, email);
    const { accountId } = caller;
    const token = newToken();
    const { row, mail } = await db.$transaction(async (tx) => {
      const instances = await readRestriction(tx, caller, instance_ids);
      checkOwnerReach(role, instances !== null);
      await checkDailyLimit(tx, accountId);
      const former = await tx.invitation.findUnique({ where: { accountId_email: { accountId, email } } });
      if (former) checkChange(caller, session!, former);
      if ((await tx.member.count({ where: { accountId, user: { email } } })) > 0) {
        throw new Problem('already-member');
      }
      const id = newUuid();
      const tokenHash = hashToken(token);
      const attempt = mailer && (await countInvitationMail(tx, email));
      const given = {
        id,
        role,
        restricted: instances !== null,
        instanceIds: instances ?? [],
        tokenHash,
        ...(attempt !== null && { emailedHash: tokenHash }),
        createdAt: new Date(),
        expiresAt: new Date(Date.now() + VALID_MS),
      };
      await audit(tx, byCaller(caller, 'invitation.create', id, { email, role }));
      const row = await tx.invitation.upsert({
        where: { accountId_email: { accountId, email } },
        create: { accountId, email, ...given },
        update: given,
      });
      return { row, mail: { attempt, formerHash: former?.emailedHash ?? null } };
    });
    const url = makeLink(findConsoleUrl(config), 'invitation', { token });
    const emailed = await sendInvitation(services, row, { ...mail, by: session!.userId, url });
    return { status: 201, body: { ...view(row), url, emailed }, headers: PRIVATE };
  },
});

const revokeInvitation = operation({
  name: 'revokeInvitation',
  method: 'DELETE',
  path: `${PATH}/{invitation_id}`,
  summary: 'Revoke an invitation',
  description: 'Only owners revoke invitations of owners.',
  scope: null,
  person: 'members:write',
  status: 204,
  async handle({ caller, session, params, services: { db } }) {
    const id = params['invitation_id']!;
    await db.$transaction(async (tx) => {
      const found = await tx.invitation.findFirst({ where: { id, accountId: caller.accountId } });
      if (!found) throw new Problem('not-found');
      checkChange(caller, session!, found);
      const { count } = await tx.invitation.deleteMany({ where: { id, accountId: caller.accountId } });
      if (count === 0) throw new Problem('not-found');
      await audit(tx, byCaller(caller, 'invitation.revoke', id));
    });
    return { status: 204 };
  },
});

/**
 * With passwords off a person of another domain could never accept.
 * @throws Problem `validation-error`
 */
function checkDomain({ config, provider }: Services, email: string): void {
  if (config.oidcPasswords || provider === null || isAllowed(email, provider.settings)) return;
  const message = `must be of ${provider.settings.domains.join(', ')}`;
  throw new Problem('validation-error', { errors: [{ path: 'email', code: 'custom', message }] });
}

/** @throws Problem `forbidden` */
function checkChange(caller: Caller, session: Session, invitation: Invitation): void {
  checkOwners(session, [invitation.role]);
  checkReach(caller, invitation);
}

/**
 * Accepting an invitation shows whether its e-mail has a user (`user-exists`), so the number of invitations bounds how many
 * e-mails the members of an account can try. The lock makes the limit exact.
 * @throws Problem `rate-limited`
 */
async function checkDailyLimit(tx: Prisma.TransactionClient, accountId: string): Promise<void> {
  await tx.$executeRaw`SELECT 1 FROM accounts WHERE id = ${accountId}::uuid FOR NO KEY UPDATE`;
  const [limiting] = await tx.$queryRaw<{ seconds: number }[]>`
    SELECT extract(epoch FROM created_at + interval '1 day' - now())::float8 AS seconds FROM audit_entries
    WHERE account_id = ${accountId}::uuid AND id >= gwk_lowest_id(now() - interval '1 day')
      AND action = 'invitation.create' AND created_at > now() - interval '1 day'
    ORDER BY id DESC OFFSET ${PER_DAY - 1} LIMIT 1`;
  if (!limiting) return;
  const detail = {
    pt: `A conta já convidou ${PER_DAY} pessoas nas últimas 24 horas.`,
    en: `The account has invited ${PER_DAY} people in the last 24 hours.`,
  };
  throw new Problem('rate-limited', { retryAfter: limiting.seconds, detail });
}

interface InvitationMail {
  /** User id of the inviter. */
  by: string;
  url: string;
  /** Null: the person got an invitation within the last hour, or there is no SMTP server. */
  attempt: string | null;
  /** Digest of the token that was e-mailed before. */
  formerHash: Invitation['emailedHash'];
}

/**
 * E-mails the link, at most once an hour to a person. The inviter can copy it from the answer otherwise.
 * @returns null without an SMTP server
 */
async function sendInvitation(
  { db, mailer, log, provider, config }: Services,
  { id, email, accountId, role, tokenHash }: Invitation,
  { by, url, attempt, formerHash }: InvitationMail,
): Promise<boolean | null> {
  if (!mailer) return null;
  if (attempt === null) return false;
  const account = await db.account.findUniqueOrThrow({ where: { id: accountId } });
  const inviter = await db.user.findUniqueOrThrow({ where: { id: by } });
  const invited = await db.user.findUnique({ where: { email } });
  const language = (invited ?? inviter).language as Language;
  const providerName = config.oidcPasswords ? null : provider!.settings.name;
  const given = { account: account.name, role: role as Role, by: inviter.email, provider: providerName };
  const text = renderInvitation(language, given, url);
  try {
    await mailer.send({ to: email, id: `invitation-${id}`, ...text }, MAIL_TIMEOUT_MS);
  } catch (error) {
    if (!(error instanceof MailError)) throw error;
    const { code, status } = error;
    log.warn({ code, status, invitation_id: toPublicId('invitation', id) }, 'invitation not sent');
    await forgetAttempt(db, attempt);
    // The link of the e-mail before stays valid.
    const where = { accountId, email, emailedHash: tokenHash };
    await db.invitation.updateMany({ where, data: { emailedHash: formerHash } });
    return false;
  }
  return true;
}

const view = (row: Invitation): z.output<typeof InvitationOut> => ({
  id: toPublicId('invitation', row.id),
  email: row.email,
  role: row.role as Role,
  instance_ids: row.restricted ? row.instanceIds.map((id) => toPublicId('instance', id)) : null,
  created_at: row.createdAt.toISOString(),
  expires_at: row.expiresAt.toISOString(),
});

export const invitationOperations = [listInvitations, createInvitation, revokeInvitation];
