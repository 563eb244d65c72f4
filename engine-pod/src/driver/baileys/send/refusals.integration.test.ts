import { numberStage, until, type NumberStage } from '@gwk/test/support/engine/simulated-instance';

let stage: NumberStage;
beforeAll(async () => {
  stage = await numberStage();
});
afterAll(() => stage.close());

describe('the network refuses:', () => {
  test.each(['463', '479', '405'])('%s is not retried', async (code) => {
    const { number, ana, network } = stage;
    await network.rule({ on: 'message', answer: Number(code), times: 1 });
    await expect(number.sendText(ana.jid, `refused ${code}`)).rejects.toMatchObject({
      code: 'wa_error',
      certain: true,
      retriable: false,
      text: expect.stringContaining(`(${code})`) as string,
    });
  });

  test('463 is reported to the API, which holds back messages to new contacts', async () => {
    const { number, network, phone } = stage;
    const bia = await network.contact('5511900000014', { name: 'Bia' });
    const before = number.rows.restrictions.length;
    await number.replace();
    const from = Date.now();
    await network.restrict(phone.number, { minutes: 5 });
    await expect(number.sendText(bia.jid, 'new here')).rejects.toMatchObject({ code: 'wa_error' });
    const findRestriction = () => number.rows.restrictions.slice(before).find((until) => until !== null);
    const end = (await until('it is reported', findRestriction)).getTime() - 5 * 60_000;
    // The network uses whole seconds.
    expect(end).toBeGreaterThan(from - 1_000);
    expect(end).toBeLessThanOrEqual(Date.now());
    await network.lift(phone.number);
  });

  test('a recipient that is not on the network', async () => {
    await expect(stage.number.sendText('5511888888888@s.whatsapp.net', 'hello?')).rejects.toMatchObject({
      code: 'recipient_not_on_whatsapp',
      certain: true,
    });
  });
});

test('writes nothing while writing is not allowed', async () => {
  const { number, ana, network } = stage;
  const message = number.message(ana.jid, { type: 'text', text: { body: 'never' } });
  await expect(number.send(message, () => false)).rejects.toMatchObject({ certain: true, retriable: true });
  const left = await network.stanzas({});
  expect(left.some(({ stanza }) => stanza.attrs['id'] === message.wa_message_id)).toBe(false);
  await number.replace();
});
