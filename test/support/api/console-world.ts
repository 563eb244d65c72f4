import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import { CONSOLE_OPERATIONS } from '@gwk/api/public-api/operations';
import { openApiDocument } from '@gwk/api/openapi/document';
import type { Operation } from '@gwk/api/http/operation';
import { browserOf, createUser, openBrowser, type Browser, type TestUser } from './console.js';
import { addPasskey } from './passkey.js';
import { buildSample, type SampleRequest } from './contract/requests.js';
import type { TestAccount, TestApi } from './test-api.js';
import { makeWorld } from './world.js';

/** One of each resource that a path of the console can name, in one account. */
export interface ConsoleWorld {
  account: TestAccount;
  browser: Browser & { user: TestUser };
  /** Browser of an administrator of the platform. */
  admin: Browser & { user: TestUser };
  ids: Readonly<Record<string, string>>;
}

/** Well-formed ids that name nothing. */
export const ABSENT_CONSOLE_IDS: Readonly<Record<string, string>> = {
  message_id: `msg_${'0'.repeat(32)}`,
  delivery_id: `whd_${'0'.repeat(32)}`,
  key_id: `key_${'0'.repeat(32)}`,
  user_id: `usr_${'0'.repeat(32)}`,
  session_id: `ses_${'0'.repeat(32)}`,
  invitation_id: `inv_${'0'.repeat(32)}`,
  account_id: `acc_${'0'.repeat(32)}`,
  contact_id: `alc_${'0'.repeat(32)}`,
  passkey_id: `pky_${'0'.repeat(32)}`,
};

const ANYWHERE = 'https://example.org';
const document = openApiDocument({
  operations: CONSOLE_OPERATIONS,
  of: 'console',
  baseUrl: ANYWHERE,
  docsUrl: ANYWHERE,
});

export async function makeConsoleWorld(api: TestApi, account?: TestAccount): Promise<ConsoleWorld> {
  const own = account ?? (await api.account());
  const browser = await openBrowser(api, own);
  const { message_id, delivery_id } = (await makeWorld(api, own, 'of the console')).ids;
  const key = await api.key(own);
  const session = await api.db.userSession.findFirstOrThrow({
    where: { userId: (await browserOf(api, browser.user)).user.id },
    orderBy: { id: 'desc' },
  });
  const member = await openBrowser(api, own, 'viewer');
  const invitation = await browser.call<{ id: string }>('POST', '/console/api/invitations', {
    body: { email: `invited-${member.user.email}`, role: 'viewer' },
  });
  const contact = { id: newUuid(), accountId: own.id, channel: 'email', language: 'en', name: 'Ana' };
  await api.db.alertContact.create({ data: { ...contact, address: `${contact.id}@example.org` } });
  const { id: passkeyId } = await addPasskey(api, browser.user);
  const ids = {
    passkey_id: toPublicId('passkey', passkeyId),
    contact_id: toPublicId('contact', contact.id),
    user_id: toPublicId('user', member.user.id),
    invitation_id: invitation.body.id,
    key_id: toPublicId('apiKey', key.id),
    session_id: toPublicId('session', session.id),
    message_id: message_id!,
    delivery_id: delivery_id!,
    account_id: toPublicId('account', own.id),
  };
  const admin = await browserOf(api, await createUser(api, { isPlatformAdmin: true }));
  return { account: own, browser, admin, ids };
}

export const sampleOf = (operation: Operation, ids = ABSENT_CONSOLE_IDS): SampleRequest =>
  buildSample(operation, document, ids);
