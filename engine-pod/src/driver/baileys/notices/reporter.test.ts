import { createLogger } from '@gwk/core/process/log';
import type { Notice } from '@gwk/core/protocol/notices';
import { NoticeReporter } from './reporter.js';

const at = '2026-01-02T03:04:05.000Z';
const from = { id: '20002@lid', alt: null, name: null };
const call: Notice = { kind: 'call', id: 'c', at, from, video: false, group: false, chat: null, missed: false, rejected: false }; // prettier-ignore
const change: Notice = { kind: 'group', id: 'g', at, chat: '120363000000000001@g.us', from, from_me: false, subject: 'x' }; // prettier-ignore

function openReporter(storing: Promise<void>) {
  const stored: Notice[] = [];
  const repeat = jest.fn();
  const services = {
    log: createLogger('test', 'fatal'),
    isOwn: () => false,
    findOtherId: () => Promise.resolve(null),
    rejectsCalls: () => false,
    storeNotice: (notice: Notice) => {
      stored.push(notice);
      return storing;
    },
    storeUsernames: () => Promise.resolve(),
    countIgnored: () => undefined,
  };
  const reporter = new NoticeReporter(services, repeat);
  const store = (notice: Notice) => reporter.store(notice).catch(() => undefined);
  return { stored, repeat, store };
}

test('asks for a repetition once all are stored, if others found no place', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { stored, repeat, store } = openReporter(promise);
  const all = Array.from({ length: 501 }, () => store(call));
  resolve();
  await Promise.all(all);
  expect(stored).toHaveLength(500);
  expect(repeat).toHaveBeenCalledTimes(1);
  await store(call);
  expect(repeat).toHaveBeenCalledTimes(1);
});

test('stores changes of groups while many calls wait for the API, up to a limit', () => {
  const { stored, store } = openReporter(new Promise(() => undefined));
  for (let i = 0; i < 2_000; i++) void store(call);
  expect(stored).toHaveLength(500);
  for (let i = 0; i < 2_000; i++) void store(change);
  expect(stored).toHaveLength(1_000);
});
