import { canonicalPhone } from '@gwk/core/ids/recipients';
import { numberStage, type NumberStage } from '@gwk/test/support/engine/simulated-instance';

/** The network knows a phone number in one form, and consumers write either. The answer of the network is the address. */
let stage: NumberStage;
beforeAll(async () => {
  stage = await numberStage();
});
afterAll(async () => {
  expect((await stage.network.status()).violations).toEqual([]);
  await stage.close();
});

const jid = (digits: string) => `${digits}@s.whatsapp.net`;
const forms = [
  ['Brazil, without the ninth digit', '554789211988', '5547989211988'],
  ['Brazil, with the ninth digit', '5547989211977', '554789211977'],
  ['Mexico, with 1', '5215512345678', '525512345678'],
  ['Mexico, without 1', '525512345699', '5215512345699'],
  ['Argentina, with 9', '5491112345678', '541112345678'],
] as const;

describe.each(forms)('%s', (_name, registered, typed) => {
  test('messages, read marks and typing reach the registered number, however it is written', async () => {
    const { network, number, phone } = stage;
    const person = await network.contact(registered);
    const expected = { jid: person.jid, lid: person.lidJid };
    for (const form of [registered, typed]) {
      expect(await number.driver.checkContact(form)).toEqual(expected);
      const { id } = await number.sendText(jid(form), `to ${form}`);
      expect(await person.receives({ id })).toMatchObject({ text: `to ${form}` });
    }
    expect(number.rows.names).toContainEqual({ lid: person.lidJid, phone: registered });
    const id = await person.writes('oi', { to: phone.number });
    await number.gets(id);
    await number.driver.markRead(jid(typed), [{ wa_message_id: id, participant: null }]);
    await network.waitReceipt({ from: phone.number, to: registered, type: 'read', id });
    const { seq } = (await network.stanzas({ way: 'in' })).at(-1)!;
    await number.driver.sendPresence(jid(typed), 'typing');
    const seen = await network.waitStanza({ way: 'in', tag: 'chatstate', after: seq });
    expect(JSON.stringify(seen)).toContain(person.jid);
  });

  test('its LID is stored before a message to it is built', async () => {
    const { network, number } = stage;
    const [other, otherTyped] = [registered, typed].map((digits) => digits.slice(0, -1) + '0') as [
      string,
      string,
    ];
    const person = await network.contact(other);
    await number.driver.build(number.message(jid(otherTyped), { type: 'text', text: { body: 'oi' } }));
    expect(number.rows.names).toContainEqual({ lid: person.lidJid, phone: other });
    expect(await person.inbox()).toEqual([]);
  });
});

test('two people whose numbers differ by the digit get their own messages', async () => {
  const { network, number } = stage;
  const [one, two] = [await network.contact('5547989219999'), await network.contact('554789219999')];
  expect(canonicalPhone(one.number)).toBe(canonicalPhone(two.number));
  for (const person of [one, two]) {
    const { id } = await number.sendText(person.jid, `to ${person.number}`);
    expect(await person.receives({ id })).toMatchObject({ text: `to ${person.number}` });
  }
  expect(number.rows.names).toEqual(
    expect.arrayContaining([one, two].map(({ lidJid, number: phone }) => ({ lid: lidJid, phone }))),
  );
});

test('a phone number in no form: not on WhatsApp', async () => {
  const { number } = stage;
  expect(await number.driver.checkContact('5547989210000')).toBeNull();
  await expect(number.sendText(jid('5547989210000'), 'oi')).rejects.toMatchObject({
    certain: true,
    retriable: false,
    code: 'recipient_not_on_whatsapp',
  });
});
