import { inFakeTime, type PassTime } from '@gwk/test/support/fake-time';
import { onShutdown } from './lifecycle.js';

/** Signals are told to the listeners that onShutdown adds, and to no other of this process. */
class Shutdown {
  readonly exits: number[] = [];
  stops = 0;
  finish: () => void = () => undefined;
  readonly #request: (signal: 'SIGTERM' | 'SIGINT') => void;

  constructor() {
    const before = process.listeners('SIGTERM');
    const stop = () => {
      this.stops++;
      return new Promise<void>((resolve) => (this.finish = resolve));
    };
    const exit = ((code: number) => void this.exits.push(code)) as (code: number) => never;
    onShutdown(stop, { exitWithParent: false, exit });
    const added = process.listeners('SIGTERM').find((listener) => !before.includes(listener))!;
    process.off('SIGTERM', added).off('SIGINT', added);
    this.#request = (signal) => void added(signal);
  }

  hear(signal: 'SIGTERM' | 'SIGINT'): void {
    this.#request(signal);
  }
}

const shutdown = (work: (told: Shutdown, pass: PassTime) => Promise<void>): (() => Promise<void>) =>
  inFakeTime((pass) => work(new Shutdown(), pass));

test(
  'the same request told by terminal and parent, within half a second, stops once and gracefully',
  shutdown(async (told, pass) => {
    told.hear('SIGINT');
    await pass(500);
    told.hear('SIGTERM');
    expect([told.stops, told.exits]).toEqual([1, []]);
    told.finish();
    await pass(0);
    expect(told.exits).toEqual([0]);
  }),
);

test(
  'a second signal exits at once',
  shutdown(async (told, pass) => {
    told.hear('SIGTERM');
    await pass(501);
    told.hear('SIGTERM');
    expect([told.stops, told.exits]).toEqual([1, [1]]);
  }),
);

test(
  'a stop function that never ends exits with 1 after 25 s',
  shutdown(async (told, pass) => {
    told.hear('SIGTERM');
    await pass(24_999);
    expect(told.exits).toEqual([]);
    await pass(1);
    expect(told.exits).toEqual([1]);
  }),
);
