import { inFakeTime } from '@gwk/test/support/fake-time';
import { Part, PartFailed, type PartSpec, type Running } from './part.js';

/** A part that the test ends and lets start as it likes. */
class Scripted implements PartSpec {
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
      ended,
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

test('a first start that fails names the part and the reason', async () => {
  const thing = new Scripted();
  thing.failing = 1;
  const part = new Part(thing, () => undefined);
  await expect(part.start()).rejects.toThrow(PartFailed);
  await part.stop();
  expect(thing.stops).toBe(0);
});

test(
  'what ends by itself is started again, also when that fails at first, and it is said',
  inFakeTime(async (pass) => {
    const thing = new Scripted();
    const said: string[] = [];
    const part = new Part(thing, (line) => said.push(line));
    await part.start();
    part.keep();
    thing.failing = 1;
    thing.end('ended by SIGKILL');
    await pass(999);
    expect(thing.starts).toBe(1);
    await pass(1);
    expect(thing.starts).toBe(2);
    await pass(1_999);
    expect(thing.starts).toBe(2);
    await pass(1);
    expect(said).toEqual([
      'thing is ready',
      'thing ended (ended by SIGKILL); starting it again in 1 s',
      'thing did not start: no luck\ntrying again in 2 s',
      'thing is ready',
    ]);
    await part.stop();
    expect([thing.starts, thing.stops]).toEqual([3, 1]);
  }),
);

test(
  'what is stopped stays so, also between two tries',
  inFakeTime(async (pass) => {
    const thing = new Scripted();
    const part = new Part(thing, () => undefined);
    await part.start();
    part.keep();
    thing.end('exit code 1');
    await pass(500);
    await part.stop();
    await pass(60_000);
    expect(thing.starts).toBe(1);
  }),
);

test('a start under way when it is stopped is waited for, and undone', async () => {
  const thing = new Scripted();
  const part = new Part(thing, () => undefined);
  const starting = part.start();
  await part.stop();
  await starting;
  expect([thing.starts, thing.stops]).toEqual([1, 1]);
});
