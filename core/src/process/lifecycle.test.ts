import { inFakeTime, type PassTime } from '@gwk/test/support/fake-time';
import { onShutdown } from './lifecycle.js';

/** Calls the signal listeners that onShutdown adds, and no other listeners of this process. */
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
    this.#request = (signal) => added(signal);
  }

  signal(name: 'SIGTERM' | 'SIGINT'): void {
    this.#request(name);
  }
}

const shutdown = (work: (program: Shutdown, pass: PassTime) => Promise<void>): (() => Promise<void>) =>
  inFakeTime((pass) => work(new Shutdown(), pass));

test(
  'treats a second signal within 500 ms as the same request',
  shutdown(async (program, pass) => {
    program.signal('SIGINT');
    await pass(500);
    program.signal('SIGTERM');
    expect([program.stops, program.exits]).toEqual([1, []]);
    program.finish();
    await pass(0);
    expect(program.exits).toEqual([0]);
  }),
);

test(
  'exits at once at a second signal',
  shutdown(async (program, pass) => {
    program.signal('SIGTERM');
    await pass(501);
    program.signal('SIGTERM');
    expect([program.stops, program.exits]).toEqual([1, [1]]);
  }),
);

test(
  'exits with 1 if the stop function takes longer than 25 s',
  shutdown(async (program, pass) => {
    program.signal('SIGTERM');
    await pass(24_999);
    expect(program.exits).toEqual([]);
    await pass(1);
    expect(program.exits).toEqual([1]);
  }),
);
