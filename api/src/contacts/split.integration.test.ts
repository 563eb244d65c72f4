import { parseRecipient } from '@gwk/core/ids/recipients';
import { InboundStage, jid } from '@gwk/test/support/api/inbound';
import type { TestEngine } from '@gwk/test/support/api/internal-api';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import { changeContact } from './contacts.js';
import { splitContact } from './split.js';

let stage: InboundStage;
let engine: TestEngine;
let phone: string;
let rex: string;
beforeAll(async () => {
  stage = await InboundStage.open();
});
beforeEach(async () => {
  engine = await stage.engine();
  phone = stage.someone();
  rex = stage.someLid();
});
afterAll(() => stage.close());

const receive = (by: TestEngine, from: string, given: Partial<InboundMessage> = {}) =>
  stage.receive(by, stage.text(from, 'oi', given));
const accept = (to: string, by = engine) => stage.internalApi.accept({ instance: by.instanceId, to });
const contactOf = async (name: string) =>
  (
    await stage.database.contactName.findFirst({
      where: { accountId: stage.internalApi.world.accountId, name },
    })
  )?.contactId;
const split = (name: string) =>
  changeContact(stage.database, (tx) =>
    splitContact(tx, stage.internalApi.world.sealer, {
      accountId: stage.internalApi.world.accountId,
      recipient: parseRecipient(name)!,
    }),
  );

test('undoes a wrong link, with the queued messages of each name', async () => {
  const [toPhone, toLid] = [await accept(phone), await accept(rex)];
  await receive(engine, rex, { alt: jid(phone) });
  expect((await stage.message(toPhone)).conversationId).toBe((await stage.message(toLid)).conversationId);
  expect(await split(phone)).toMatchObject({ name: phone });
  const again = await accept(phone);
  const rows = await Promise.all([toPhone, toLid, again].map((id) => stage.message(id)));
  expect(rows[0]!.conversationId).toBe(rows[2]!.conversationId);
  expect(rows[0]!.conversationId).not.toBe(rows[1]!.conversationId);
  await stage.receive(engine, stage.text(rex, 'SAIR'));
  await accept(phone);
  expect(new Set((await engine.claim()).map(({ chat }) => chat))).toEqual(new Set([jid(phone)]));
});

test.each(['phone number', 'LID'])(
  'by its %s takes the phone number from the LID, in the events of the instances that know both',
  async (by) => {
    const [other, stranger] = [await stage.engine(), await stage.engine()];
    await receive(engine, rex, { alt: jid(phone), username: 'rex' });
    await receive(other, rex, { alt: jid(phone) });
    await receive(stranger, rex);
    await split(by === 'LID' ? rex : phone);
    const updates = await Promise.all(
      [engine, other, stranger].map((each) => stage.events(each, 'contact.updated')),
    );
    expect(updates.map((each) => each.map(({ data: { contact, previous } }) => [previous, contact]))).toEqual(
      [
        [
          [
            { id: rex, phone, username: 'rex' },
            { id: rex, username: 'rex' },
          ],
        ],
        [
          [
            { id: rex, phone, username: null },
            { id: rex, username: null },
          ],
        ],
        [],
      ],
    );
  },
);

test.each(['phone number', 'LID'])('by its %s leaves both opted out', async (by) => {
  await receive(engine, rex, { alt: jid(phone) });
  await stage.receive(engine, stage.text(rex, 'SAIR'));
  expect(await split(by === 'LID' ? rex : phone)).not.toBeNull();
  expect(await contactOf(phone)).not.toBe(await contactOf(rex));
  for (const to of [phone, rex]) {
    await expect(accept(to)).rejects.toMatchObject({ code: 'contact-opted-out' });
  }
});

test('leaves the rest of an opt-out in progress to both contacts', async () => {
  await receive(engine, rex, { alt: jid(phone) });
  await stage.receive(engine, stage.text(rex, 'SAIR'));
  const contactId = (await contactOf(rex))!;
  await stage.database.optOut.updateMany({ where: { contactId }, data: { unfinished: true } });
  await split(phone);
  const contacts = await Promise.all([phone, rex].map(contactOf));
  const where = { contactId: { in: contacts.map((id) => id!) }, unfinished: true };
  expect(await stage.database.optOut.count({ where })).toBe(2);
  await stage.database.optOut.updateMany({ where, data: { unfinished: false } });
});

test('does nothing for an unknown name, and for the only name of a contact', async () => {
  await accept(phone);
  expect(await split(phone)).toBeNull();
  expect(await split(rex)).toBeNull();
});
