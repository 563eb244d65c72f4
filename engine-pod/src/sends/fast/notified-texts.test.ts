import type { ClaimedMessage } from '@gwk/core/protocol/engine';
import { messageOf, openSender, settle, type SenderScript } from '@gwk/test/support/engine/open-sender';
import { SendFailure } from '../../driver/driver.js';

describe('a message that came with its notification', () => {
  const { message_id, conversation_id, chat, wa_message_id, type, content } = messageOf('1');
  const notified = { message_id, conversation_id, chat, wa_message_id, type, content };
  const other = { ...notified, message_id: '2', conversation_id: 'c2' };
  const pair = [notified, other];

  test('is claimed by the call that stores what was built, and sent', async () => {
    const { texts, written, stored, reported, settled } = openSender({ report: async () => false });
    expect(texts.decide([notified])).toBe('build');
    texts.build([notified], '1-0');
    await settle();
    expect(stored).toEqual([
      {
        message_id: '1',
        built: Buffer.from('built').toString('base64'),
        rendered_as: null,
        menu: null,
        claim: { claim_id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      },
    ]);
    expect([written, reported]).toEqual([
      ['3EB01'],
      [expect.objectContaining({ kind: 'sent', message_id: '1' })],
    ]);
    expect(settled).toEqual([{ notification: '1-0', waiting: false }]);
  });

  test('is built once, also if its notification is read again', async () => {
    const { sender, texts, stored, clock } = openSender({ report: async () => false });
    texts.build([notified], '1-0');
    await settle();
    expect([sender.held, texts.decide([notified])]).toEqual([0, 'nothing']);
    clock.advance(119_999);
    expect([stored.length, texts.decide([notified])]).toEqual([1, 'nothing']);
  });

  test('is not reported if it was not granted; a claim looks for it', async () => {
    const { sender, texts, written, reported, settled, givenBack } = openSender({ isOurs: () => false });
    texts.build([notified], '1-0');
    await settle();
    expect([written, reported, sender.held, givenBack()]).toEqual([[], [], 0, 1]);
    expect(settled).toEqual([{ notification: '1-0', waiting: true }]);
  });

  test('is not reported if it cannot be built or the call fails; a claim looks for it', async () => {
    const script: SenderScript = {
      build: () => {
        throw SendFailure.refused('recipient_not_on_whatsapp');
      },
    };
    for (const failing of [script, { isOurs: () => Promise.reject(new Error('refused')) }]) {
      const { sender, texts, reported, settled } = openSender(failing);
      texts.build([notified], '1-0');
      await settle();
      expect([reported, sender.held]).toEqual([[], 0]);
      expect(settled).toEqual([{ notification: '1-0', waiting: true }]);
    }
  });

  test('that the network refuses while it is being stored is reported once it is claimed', async () => {
    const { promise, resolve: grant } = Promise.withResolvers<boolean>();
    const encrypt = () => {
      throw SendFailure.refused('recipient_not_on_whatsapp');
    };
    const { sender, texts, reported } = openSender({ isOurs: () => promise, encrypt });
    texts.build([notified], '1-0');
    await settle();
    expect([reported, sender.held]).toEqual([[], 1]);
    grant(true);
    await settle();
    expect([reported, sender.held]).toEqual([[expect.objectContaining({ kind: 'failed' })], 1]);
  });

  test('that a claim grants while the call is refused goes by that claim', async () => {
    const { promise, resolve: answer } = Promise.withResolvers<boolean>();
    const { texts, accept, written, reported, givenBack } = openSender({ isOurs: () => promise });
    texts.build([notified], '1-0');
    await settle();
    accept([messageOf('1'), messageOf('2')], 'newer');
    answer(false);
    await settle();
    expect(written).toEqual([]);
    expect(reported).toEqual([
      { kind: 'returned', message_id: '1', claim_id: 'newer' },
      { kind: 'returned', message_id: '2', claim_id: 'newer', unsent: true },
    ]);
    // One token for its second copy, and one for each returned message.
    expect(givenBack()).toBe(3);
  });

  test('that failed is reported if a claim grants it before the call is refused', async () => {
    const { promise, resolve: answer } = Promise.withResolvers<boolean>();
    const encrypt = () => {
      throw SendFailure.refused('recipient_not_on_whatsapp');
    };
    const { texts, accept, reported } = openSender({ isOurs: () => promise, encrypt });
    texts.build([notified], '1-0');
    await settle();
    accept([messageOf('1')], 'newer');
    answer(false);
    await settle();
    expect(reported).toEqual([expect.objectContaining({ kind: 'failed', message_id: '1' })]);
  });

  test('holds back later ones that a claim brings under another conversation', async () => {
    const { promise, resolve: answer } = Promise.withResolvers<boolean>();
    const { texts, accept, written, reported } = openSender({ isOurs: () => promise });
    texts.build([notified], '1-0');
    await settle();
    // Its contact was merged meanwhile.
    const merged = (id: string) => ({ ...messageOf(id), conversation_id: 'c2' });
    accept([merged('1'), merged('2')], 'newer');
    expect(texts.decide([notified])).toBe('nothing');
    answer(true);
    await settle();
    expect(written).toEqual(['3EB01']);
    expect(reported).toMatchObject([
      { kind: 'returned', message_id: '2' },
      { kind: 'sent', message_id: '1' },
    ]);
  });

  test('needs no claim if a claim has brought it', async () => {
    const { sender, texts, accept } = openSender({ report: async () => false });
    accept([messageOf('1')], 'claim');
    expect(texts.decide([notified])).toBe('nothing');
    await settle();
    expect([sender.held, texts.decide([notified]), texts.decide(pair)]).toEqual([0, 'nothing', 'claim']);
  });

  test('is claimed once the held message of its conversation is settled', async () => {
    const { promise, resolve: record } = Promise.withResolvers<boolean>();
    const { texts, accept, stored, settled } = openSender({ report: () => promise });
    accept([messageOf('0')], 'claim');
    expect([[other], pair, [notified]].map((m) => texts.decide(m))).toEqual(['build', 'claim', 'wait']);
    await settle();
    // Sent, and not yet recorded: it is still the first of its conversation.
    expect([texts.decide([notified]), stored.length, settled]).toEqual(['wait', 1, []]);
    // The notified one was accepted after the outcome had been recorded, which did not count it.
    record(false);
    await settle();
    expect(settled).toEqual([{ notification: undefined, waiting: true }]);
  });

  test('that a claim returns meanwhile has one copy, which names that claim', async () => {
    const { promise, resolve: grant } = Promise.withResolvers<boolean>();
    let isOpen = true;
    const { sender, texts, accept, written, reported } = openSender({
      isOurs: () => promise,
      isOpen: () => isOpen,
    });
    texts.build([notified], '1-0');
    await settle();
    accept([messageOf('1')], 'newer');
    isOpen = false;
    grant(true);
    await settle();
    expect([written, sender.held]).toEqual([[], 0]);
    expect(reported).toEqual([{ kind: 'returned', message_id: '1', claim_id: 'newer', unsent: true }]);
  });

  test('is built with the timer of the last claim of its conversation', async () => {
    const timers: unknown[] = [];
    const build = (message: ClaimedMessage) => timers.push(message.timer);
    const { texts, accept, stored } = openSender({ build, report: async () => false });
    const timer = { seconds: 86_400, set_at: '2026-11-20T10:00:00.000Z' };
    accept([{ ...messageOf('0'), timer }], 'claim');
    await settle();
    texts.build([notified], '1-0');
    await settle();
    accept([messageOf('2')], 'claim');
    await settle();
    texts.build([{ ...notified, message_id: '3' }], '2-0');
    await settle();
    expect(timers).toEqual([timer, timer, undefined, undefined]);
    expect(stored.map(({ claim }) => claim?.timer)).toEqual([undefined, timer, undefined, undefined]);
  });
});
