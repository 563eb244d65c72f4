import type { BinaryNode } from '@whiskeysockets/baileys';
import { InternalApiRefusal } from '@gwk/core/protocol/internal-client';
import { parseUsernameChange, UsernameReporter } from './usernames.js';

const LID = '20002@lid';
const AT = '2023-11-14T22:13:20.000Z';
const notice = (content: unknown, attrs: Record<string, string> = {}): BinaryNode => ({
  tag: 'notification',
  attrs: { type: 'mex', t: '1700000000', ...attrs },
  content: [
    {
      tag: 'update',
      attrs: {},
      content: Buffer.from(typeof content === 'string' ? content : JSON.stringify(content)),
    },
  ],
});
const set = (username: unknown, lid: unknown = LID) =>
  notice({ data: { xwa2_notify_username_on_change: { lid, username } } });
const removed = (lid: unknown) => notice({ data: { xwa2_notify_username_delete: { lid } } });

describe('a notice', () => {
  test.each<[string, BinaryNode, object | null]>([
    ['of a new username', set('ana'), { lid: LID, username: 'ana', at: AT }],
    ['of a removed username', removed(LID), { lid: LID, username: null, at: AT }],
    ['with a text that is no username', set('x'.repeat(36)), null],
    ['with a username that is no text', set({ a: 1 }), null],
    ['of a phone number', set('ana', '5511900000001@s.whatsapp.net'), null],
    ['without an id', removed(undefined), null],
    ['with an id that is no text', removed([LID]), null],
    ['of another kind', notice({ data: { other: {} } }), null],
    ['of another type', { ...set('ana'), attrs: { type: 'account_sync' } }, null],
    ['that is no JSON', notice('{'), null],
    ['that is no object', notice('null'), null],
    ['without content', { tag: 'notification', attrs: { type: 'mex' } }, null],
  ])('%s', (_, stanza, expected) => {
    expect(parseUsernameChange(stanza)).toEqual(expected);
  });
});

describe('the reporter', () => {
  const people = (count: number) => Array.from({ length: count }, (_, at) => ({ lid: `${20_000 + at}@lid`, username: 'ana' })); // prettier-ignore
  const open = (store: (batch: object[]) => Promise<void>) => {
    const countIgnored = jest.fn();
    return { countIgnored, reporter: new UsernameReporter({ storeUsernames: store, countIgnored }) };
  };

  test('sends batches, and the newest username of each LID', async () => {
    const batches: object[][] = [];
    const { reporter } = open(async (batch) => void batches.push(batch));
    const first = reporter.report(people(501));
    await Promise.all([first, reporter.report([{ lid: '20500@lid', username: null }])]);
    expect(batches.map(({ length }) => length)).toEqual([500, 1]);
    expect(batches[1]).toEqual([{ lid: '20500@lid', username: null }]);
  });

  test('repeats a failed report with the next one', async () => {
    const store = jest.fn().mockRejectedValueOnce(new Error('unavailable')).mockResolvedValue(undefined);
    const { reporter } = open(store);
    await expect(reporter.report(people(1))).rejects.toThrow('unavailable');
    await reporter.report([{ lid: LID, username: 'bia' }]);
    expect(store.mock.calls[1]).toEqual([[...people(1), { lid: LID, username: 'bia' }]]);
  });

  test('drops a report that the API refuses, and counts it', async () => {
    const { reporter, countIgnored } = open(() => Promise.reject(new InternalApiRefusal('invalid', null)));
    await reporter.report(people(1));
    expect(countIgnored).toHaveBeenCalledWith('refused');
  });

  test('does not acknowledge a report that it has no place for, and counts its people', async () => {
    const store = jest.fn().mockRejectedValueOnce(new Error('unavailable')).mockResolvedValue(undefined);
    const { reporter, countIgnored } = open(store);
    await reporter.report(people(10_000)).catch(() => undefined);
    const late = { lid: '99999@lid', username: 'bia' };
    await expect(reporter.report([late, ...people(1)])).rejects.toThrow('too many');
    expect(countIgnored.mock.calls).toEqual([['too_many_usernames']]);
    expect(store.mock.calls.slice(1).flat(2)).toEqual(people(10_000));
    await reporter.report([late]);
    expect(store.mock.lastCall).toEqual([[late]]);
  });

  test.each(Array.from({ length: 12 }, (_, turns) => turns))(
    'resolves once stored, also for a report %i turns after the former one',
    async (turns) => {
      const sent: object[] = [];
      const { reporter } = open(async (batch) => void sent.push(...batch));
      const first = reporter.report(people(1));
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      const late = { lid: '99999@lid', username: 'bia' };
      await reporter.report([late]);
      expect(sent).toContainEqual(late);
      await first;
    },
  );
});
