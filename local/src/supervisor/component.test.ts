import { inFakeTime } from '@gwk/test/support/fake-time';
import type { Running } from '../servers/process.js';
import { Component, ComponentFailed, type ComponentSpec } from './component.js';

/** A component that the test ends and lets start as needed. */
class Scripted implements ComponentSpec {
  readonly name = 'thing';
  starts = 0;
  stops = 0;
  failing = 0;
  #end: (how: string) => void = () => undefined;

  start = async (): Promise<Running> => {
    this.starts++;
    if (this.failing-- > 0) throw new Error('no luck');
    const ended = new Promise<string>((resolve) => (this.#end = resolve));
    return {
      process: { ended },
      stop: async () => {
        this.stops++;
        this.#end('stopped');
      },
    };
  };

  end(how: string): void {
    this.#end(how);
  }
}

test('reports a failed start with the name and the reason', async () => {
  const thing = new Scripted();
  thing.failing = 1;
  const component = new Component(thing, () => undefined);
  await expect(component.start()).rejects.toThrow(ComponentFailed);
  await component.stop();
  expect(thing.stops).toBe(0);
});

test(
  'restarts after an exit, also after a failed restart, and logs it',
  inFakeTime(async (pass) => {
    const thing = new Scripted();
    const lines: string[] = [];
    const component = new Component(thing, (line) => lines.push(line));
    await component.start();
    component.supervise();
    thing.failing = 1;
    thing.end('ended by SIGKILL');
    await pass(999);
    expect(thing.starts).toBe(1);
    await pass(1);
    expect(thing.starts).toBe(2);
    await pass(1_999);
    expect(thing.starts).toBe(2);
    await pass(1);
    expect(lines).toEqual([
      'thing is ready',
      'thing exited (ended by SIGKILL); restarting in 1 s',
      'thing did not start: no luck\nretrying in 2 s',
      'thing is ready',
    ]);
    await component.stop();
    expect([thing.starts, thing.stops]).toEqual([3, 1]);
  }),
);

test(
  'does not restart after a stop',
  inFakeTime(async (pass) => {
    const thing = new Scripted();
    const component = new Component(thing, () => undefined);
    await component.start();
    component.supervise();
    thing.end('exit code 1');
    await pass(500);
    await component.stop();
    await pass(60_000);
    expect(thing.starts).toBe(1);
  }),
);

test('completes and reverts a start in progress on stop', async () => {
  const thing = new Scripted();
  const component = new Component(thing, () => undefined);
  const starting = component.start();
  await component.stop();
  await starting;
  expect([thing.starts, thing.stops]).toEqual([1, 1]);
});
