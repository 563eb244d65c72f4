import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import { parseRecipient } from '@gwk/core/ids/recipients';
import {
  AlertCode,
  AlertContactCreate,
  AlertContactList,
  AlertContactOut,
  MAX_ALERT_CONTACTS,
  type AlertChannel,
} from '../../resources/console/alert.js';
import { email, type Language } from '../../resources/console/session.js';
import { audit, byCaller } from '../../accounts/audit-log.js';
import { findSender } from '../../alerts/whatsapp.js';
import type { AlertContact, Prisma } from '../../generated/prisma/client.js';
import { operation } from '../../http/operation.js';
import { lockAccountByName } from '../../instances/projection.js';
import { checkCode, checkCodeRate, newCode, sendCode } from './code.js';

const PATH = '/console/api/alert-contacts';
/** Contacts of an account receive alerts of all its numbers. */
const COMMON = { scope: null, person: 'alerts:write', unrestricted: true } as const;

const listContacts = operation({
  ...COMMON,
  name: 'listAlertContacts',
  method: 'GET',
  path: PATH,
  summary: 'List alert contacts, oldest first',
  status: 200,
  result: AlertContactList,
  async handle({ caller: { accountId }, services: { db, mailer } }) {
    const rows = await db.alertContact.findMany({ where: { accountId }, orderBy: { id: 'asc' } });
    const channels = { email: mailer !== null, whatsapp: (await findSender(db, accountId)) !== null };
    return { status: 200, body: { data: rows.map(view), channels } };
  },
});

const createContact = operation({
  ...COMMON,
  name: 'createAlertContact',
  method: 'POST',
  path: PATH,
  summary: 'Add an alert contact',
  description:
    'An account has at most 10. gwk sends a code to the address; the contact receives alerts once the code is entered. An account may request 20 codes an hour.',
  status: 201,
  problems: ['contact-exists', 'too-many-contacts', 'invalid-contact'],
  body: AlertContactCreate,
  result: AlertContactOut,
  async handle({ caller, body, services }) {
    const { accountId, accountName } = caller;
    const { name, channel, language } = body;
    const address = readAddress(channel, body.address);
    const id = newUuid();
    const { code, fields } = newCode(id);
    const row = await services.db.$transaction(async (tx) => {
      await lockAccountByName(tx, accountName);
      await checkNew(tx, { accountId, channel, address });
      await checkCodeRate(tx, accountId);
      await audit(tx, byCaller(caller, 'contact.create', id, { name, channel }));
      return tx.alertContact.create({ data: { id, accountId, name, channel, address, language, ...fields } });
    });
    try {
      await sendCode(services, row, { code, accountName });
    } catch (error) {
      await services.db.alertContact.deleteMany({ where: { id } });
      throw error;
    }
    return { status: 201, body: view(row) };
  },
});

const resendCode = operation({
  ...COMMON,
  name: 'sendAlertContactCode',
  method: 'POST',
  path: `${PATH}/{contact_id}/code`,
  summary: 'Send another code to an alert contact',
  description: 'The former code is no longer valid. A verified contact gets none.',
  status: 204,
  problems: ['invalid-contact'],
  async handle({ caller, params, services }) {
    const { accountId, accountName } = caller;
    const id = params['contact_id']!;
    const { code, fields } = newCode(id);
    const row = await services.db.$transaction(async (tx) => {
      await lockAccountByName(tx, accountName);
      const where = { id, accountId, verifiedAt: null };
      if ((await tx.alertContact.count({ where })) === 0) throw new Problem('not-found');
      await checkCodeRate(tx, accountId);
      await audit(tx, byCaller(caller, 'contact.code', id));
      return tx.alertContact.update({ where: { id }, data: fields });
    });
    await sendCode(services, row, { code, accountName });
    return { status: 204 };
  },
});

const verifyContact = operation({
  ...COMMON,
  name: 'verifyAlertContact',
  method: 'POST',
  path: `${PATH}/{contact_id}/verify`,
  summary: 'Verify an alert contact by its code',
  description: 'A code is valid for 15 minutes and for 5 tries.',
  status: 200,
  problems: ['invalid-code'],
  body: AlertCode,
  result: AlertContactOut,
  async handle({ caller, params, body, services: { db } }) {
    const id = params['contact_id']!;
    const where = { id, accountId: caller.accountId };
    if ((await db.alertContact.count({ where })) === 0) throw new Problem('not-found');
    await checkCode(db, id, body.code);
    const row = await db.$transaction(async (tx) => {
      await audit(tx, byCaller(caller, 'contact.verify', id));
      const verified = { verifiedAt: new Date(), codeHash: null, codeExpiresAt: null };
      return tx.alertContact.update({ where: { id }, data: verified });
    });
    return { status: 200, body: view(row) };
  },
});

const removeContact = operation({
  ...COMMON,
  name: 'removeAlertContact',
  method: 'DELETE',
  path: `${PATH}/{contact_id}`,
  summary: 'Remove an alert contact',
  status: 204,
  async handle({ caller, params, services: { db } }) {
    const id = params['contact_id']!;
    await db.$transaction(async (tx) => {
      const { count } = await tx.alertContact.deleteMany({ where: { id, accountId: caller.accountId } });
      if (count === 0) throw new Problem('not-found');
      await audit(tx, byCaller(caller, 'contact.remove', id));
    });
    return { status: 204 };
  },
});

/** @throws Problem `invalid-contact` */
function readAddress(channel: AlertChannel, given: string): string {
  if (channel === 'email') {
    const parsed = email().safeParse(given.trim());
    if (parsed.success) return parsed.data;
  } else {
    const recipient = parseRecipient(given.includes('@') ? given.trim() : given.replaceAll(/[\s().+-]/g, ''));
    if (recipient?.kind === 'contact') return recipient.phone ?? recipient.name;
  }
  throw new Problem('invalid-contact');
}

/** @throws Problem `contact-exists`, `too-many-contacts` */
async function checkNew(
  tx: Prisma.TransactionClient,
  contact: Pick<AlertContact, 'accountId' | 'channel' | 'address'>,
): Promise<void> {
  if ((await tx.alertContact.count({ where: contact })) > 0) throw new Problem('contact-exists');
  const amount = await tx.alertContact.count({ where: { accountId: contact.accountId } });
  if (amount >= MAX_ALERT_CONTACTS) throw new Problem('too-many-contacts');
}

const view = (row: AlertContact): AlertContactOut => ({
  id: toPublicId('contact', row.id),
  name: row.name,
  channel: row.channel as AlertChannel,
  address: row.address,
  language: row.language as Language,
  verified_at: row.verifiedAt?.toISOString() ?? null,
  created_at: row.createdAt.toISOString(),
});

export const alertContactOperations = [listContacts, createContact, resendCode, verifyContact, removeContact];
