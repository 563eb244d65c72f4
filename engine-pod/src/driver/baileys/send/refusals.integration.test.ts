import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
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

describe('a document', () => {
  const document = (name: string, size: number) => {
    const finished = { file: '', mimetype: 'text/plain', size, sha256: hashOf(name), filename: name };
    return stage.number.message(stage.ana.jid, { type: 'document', document: { media: {} }, finished });
  };
  const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');

  test.each([
    [413, 'the network refuses a file of this size (413)'],
    [415, 'the network refuses this type of file (415)'],
  ])('fails with the reason when a media host answers %i', async (status, text) => {
    const { number, network } = stage;
    const message = document('refused', 7);
    number.rows.files.set(message.message_id, () => Readable.from(['refused']));
    await network.call('failMedia', { upload: [status] });
    await expect(number.send(message)).rejects.toMatchObject({ code: 'wa_error', retriable: false, text });
  });

  test('is uploaded again when a media host answers 500', async () => {
    const { number, network } = stage;
    const message = document('again', 5);
    number.rows.files.set(message.message_id, () => Readable.from(['again']));
    await network.call('failMedia', { upload: [500] });
    await expect(number.send(message)).rejects.toMatchObject({ code: 'not_connected', retriable: true });
    await number.send(message);
  });

  test('of more than 16 MB waits for another one, and smaller ones do not', async () => {
    const { number } = stage;
    const slow = new Readable({ read() {} });
    const [first, second, small] = [document('one', 2e7), document('two', 2e7), document('few', 3)];
    let isBegun = false;
    number.rows.files.set(first.message_id, () => slow);
    number.rows.files.set(second.message_id, () => {
      isBegun = true;
      return Readable.from(['two']);
    });
    number.rows.files.set(small.message_id, () => Readable.from(['few']));
    const sends = [number.send(first), number.send(second)];
    await number.send(small);
    expect(isBegun).toBe(false);
    slow.push('one');
    slow.push(null);
    await Promise.all(sends);
    expect(isBegun).toBe(true);
  });
});
