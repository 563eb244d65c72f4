import { inFakeTime, type PassTime } from '@gwk/test/support/fake-time';
import { IdleCollector } from './small-heap.js';

type Scene = (collector: IdleCollector, pass: PassTime) => Promise<unknown>;

describe('an idle engine', () => {
  test.each<[string, Scene, string[]]>([
    ['collects garbage and code after its start', (_, pass) => pass(120_000), ['10 s: last-resort']],
    [
      'waits while something happens',
      async (collector, pass) => {
        await pass(9_000);
        collector.recordActivity();
        await pass(9_000);
        collector.recordActivity();
        await pass(9_000);
      },
      [],
    ],
    [
      'keeps code after messages for a minute',
      async (collector, pass) => {
        collector.recordMessage();
        await pass(120_000);
      },
      ['10 s: regular', '60 s: last-resort'],
    ],
    [
      'keeps code while messages come again',
      async (collector, pass) => {
        for (let time = 0; time < 3; time++) {
          collector.recordMessage();
          await pass(40_000);
        }
      },
      ['10 s: regular', '50 s: regular', '90 s: regular'],
    ],
    [
      'releases code again after a later connection',
      async (collector, pass) => {
        collector.recordMessage();
        await pass(70_000);
        collector.recordActivity();
        await pass(120_000);
      },
      ['10 s: regular', '60 s: last-resort', '80 s: last-resort'],
    ],
    [
      'collects nothing once stopped',
      async (collector, pass) => {
        collector.recordMessage();
        collector.stop();
        await pass(120_000);
      },
      [],
    ],
  ])('%s', (_name, scene, expected) =>
    inFakeTime(async (pass) => {
      const began = Date.now();
      const collected: string[] = [];
      const collector = new IdleCollector((flavor) =>
        collected.push(`${(Date.now() - began) / 1000} s: ${flavor}`),
      );
      await scene(collector, pass);
      collector.stop();
      expect(collected).toEqual(expected);
    })(),
  );
});
