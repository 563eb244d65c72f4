import { createLogger } from '@gwk/core/log';
import type { Notice } from '@gwk/core/protocol/notices';
import { NoticeReporter } from './reporter.js';

const at = '2026-01-02T03:04:05.000Z';
const from = { id: '20002@lid', alt: null, name: null };
const call: Notice = { kind: 'call', id: 'c', at, from, video: false, group: false, chat: null, missed: false, rejected: false }; // prettier-ignore
const change: Notice = { kind: 'group', id: 'g', at, chat: '120363000000000001@g.us', from, from_me: false, subject: 'x' }; // prettier-ignore

test('stores changes of groups while many calls wait for the API, up to a limit', () => {
  const stored: Notice[] = [];
  const reporter = new NoticeReporter({
    log: createLogger('test', 'fatal'),
    isOwn: () => false,
    findOtherId: () => Promise.resolve(null),
    rejectsCalls: () => false,
    storeNotice: (notice) => {
      stored.push(notice);
      return new Promise(() => undefined);
    },
    countIgnored: () => undefined,
  });
  const store = (notice: Notice) => void reporter.store(notice).catch(() => undefined);
  for (let i = 0; i < 2_000; i++) store(call);
  expect(stored).toHaveLength(500);
  for (let i = 0; i < 2_000; i++) store(change);
  expect(stored).toHaveLength(1_000);
});
