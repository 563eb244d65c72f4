import { inFakeTime } from '@gwk/test/support/fake-time';
import { recordingLog } from '@gwk/test/support/operator/folder';
import { FailureLog } from './failure-log.js';

const forbidden = Object.assign(new Error('no'), { code: 403 });

test(
  'logs one line a minute for each namespace and kind of error, with the number of others',
  inFakeTime(async (pass) => {
    const lines: string[] = [];
    const failures = new FailureLog(recordingLog(lines));
    for (let n = 0; n < 2000; n++) failures.record(`a/n${n}`, 1000, forbidden);
    failures.record('b/shop', 1000, forbidden);
    failures.record('a/shop', 1000, new Error('another'));
    await pass(60_000);
    failures.record('a/n7', 1000, forbidden);
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({ instance: 'a/n0', omitted: 0 }),
      expect.objectContaining({ instance: 'b/shop', omitted: 0 }),
      expect.objectContaining({ instance: 'a/shop', omitted: 0 }),
      expect.objectContaining({ instance: 'a/n7', omitted: 1999 }),
    ]);
  }),
);
