import { fromPublicId } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import { HandoffCreate, HandoffOut } from '../resources/console/session.js';
import { audit } from '../accounts/audit-log.js';
import type { Prisma, User } from '../generated/prisma/client.js';
import { findConsoleUrl } from '../http/console-url.js';
import { operation } from '../http/operation.js';
import { createHandoff } from './sign-in/handoffs.js';
import { PRIVATE } from './sign-in/sessions.js';

const SECONDS = 60;

const createPortalHandoff = operation({
  name: 'createHandoff',
  method: 'POST',
  path: '/console/api/handoffs',
  summary: 'Create a sign-in link for a portal',
  description:
    'For a portal that has signed the person in and opens the console, with `Authorization: Bearer` and GWK_API_CONSOLE_PLATFORM_TOKEN. The link signs in once, within 60 s; afterwards it answers `handoff-invalid`. It replaces the password, not the second factor.',
  scope: null,
  person: 'portal',
  status: 201,
  problems: ['not-found', 'no-account'],
  body: HandoffCreate,
  result: HandoffOut,
  async handle({ body: { email, account }, services: { db, config } }) {
    const baseUrl = findConsoleUrl(config);
    const link = await db.$transaction(async (tx) => {
      const user = await tx.user.findUnique({ where: { email } });
      if (!user)
        throw new Problem('not-found', {
          detail: { pt: 'Nenhuma pessoa tem este e-mail.', en: 'Nobody has this e-mail.' },
        });
      const accountId = account === null ? null : await findAccount(tx, user, account);
      const entry = { actor: 'platform', accountId, action: 'user.handoff', subject: user.id };
      await audit(tx, { ...entry, detail: { seconds: SECONDS } });
      return createHandoff(tx, user.id, { baseUrl, seconds: SECONDS, ...(account !== null && { account }) });
    });
    return { status: 201, body: link, headers: PRIVATE };
  },
});

/** @throws Problem `no-account` */
async function findAccount(
  tx: Prisma.TransactionClient,
  { id: userId, isPlatformAdmin }: User,
  account: string,
): Promise<string> {
  const id = fromPublicId('account', account);
  const where = { id: id ?? '', ...(!isPlatformAdmin && { members: { some: { userId } } }) };
  const found = id === null ? 0 : await tx.account.count({ where });
  if (id === null || found === 0) throw new Problem('no-account');
  return id;
}

export const portalHandoffOperations = [createPortalHandoff];
