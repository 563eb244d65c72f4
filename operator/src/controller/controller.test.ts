import { inFakeTime } from '@gwk/test/support/fake-time';
import { NO_FAULTS } from '@gwk/test/support/operator/faulty-port';
import { inWorld, World } from '@gwk/test/support/operator/world';

/** Time for everything that needs no waiting: the boot of an engine, and the observation that follows. */
const MOMENT_MS = 2_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DOWN = { ...NO_FAULTS, before: 1 };

const podName = (world: World, name: string): string | null => {
  const pod = world.pod(name);
  return pod.phase === 'absent' ? null : pod.name;
};
const reasons = (world: World) => world.events.map(({ reason }) => reason);
const steps = (world: World) => world.done.filter((step) => step !== 'status');

test(
  'a resource becomes an engine that holds its number, and the status says so',
  inWorld(async (world, pass) => {
    await world.apply('shop');
    await pass(MOMENT_MS);
    expect(world.condition('shop', 'Ready')).toBe('True/Ready');
    expect(world.get('shop')).toMatchObject({
      metadata: { finalizers: ['gwk.dev/engine'] },
      status: { state: 'connected', observedGeneration: 1, engine: { pod: 'ins-1' } },
    });
  }),
);

test(
  'at rest nothing is written',
  inWorld(async (world, pass) => {
    await world.apply('shop');
    await pass(MOMENT_MS);
    const before = [world.get('shop'), world.done.length, world.events.length];
    await pass(HOUR_MS);
    expect([world.get('shop'), world.done.length, world.events.length]).toEqual(before);
  }),
);

test(
  'an engine that is killed is reported and another one started at once',
  inWorld(async (world, pass) => {
    await world.apply('shop');
    await pass(MOMENT_MS);
    world.kill('shop');
    await pass(MOMENT_MS);
    expect(world.condition('shop', 'Ready')).toBe('True/Ready');
    expect(podName(world, 'shop')).toBe('ins-2');
    expect(world.api.calls.get('engine-ended')).toBe(1);
    // It may have connected at the look that found it running.
    const story = reasons(world).filter((reason) => reason !== 'EngineRunning');
    expect(story.slice(-3)).toEqual(['EngineExited', 'EngineCreated', 'Connected']);
  }),
);

test(
  'an engine that crashes again and again is a crash loop, told with its last words',
  inWorld(async (world, pass) => {
    world.engine = { end: 'exit code 78' };
    await world.apply('shop');
    await pass(3_000);
    expect(world.condition('shop', 'EngineRunning')).toBe('False/CrashLoop');
    expect(world.condition('shop', 'Ready')).toBe('False/CrashLoop');
    expect(world.get('shop')!.status!.lastError).toBe('exit code 78');
    expect(world.controller.crashLoops).toBe(1);
    world.engine = 'serve';
    await pass(MINUTE_MS);
    expect(world.condition('shop', 'Ready')).toBe('True/Ready');
    expect(world.get('shop')!.status!.lastError).toBeNull();
  }),
);

test(
  'an engine that hangs is replaced once its lease has been free for a minute',
  inWorld(async (world, pass) => {
    await world.apply('shop');
    await pass(MOMENT_MS);
    world.hang('shop');
    await pass(MINUTE_MS - MOMENT_MS);
    expect(podName(world, 'shop')).toBe('ins-1');
    await pass(2 * MOMENT_MS);
    expect(podName(world, 'shop')).toBe('ins-2');
    await pass(MOMENT_MS);
    expect(world.condition('shop', 'Ready')).toBe('True/Ready');
    expect(reasons(world)).toContain('EngineUnresponsive');
  }),
);

test(
  'suspending stops the engine, resuming starts one',
  inWorld(async (world, pass) => {
    await world.apply('shop');
    await pass(MOMENT_MS);
    await world.apply('shop', { suspended: true });
    await pass(MOMENT_MS);
    expect(world.condition('shop', 'EngineRunning')).toBe('False/Suspended');
    expect(world.pod('shop').phase).toBe('absent');
    await world.apply('shop');
    await pass(MOMENT_MS);
    expect(world.condition('shop', 'Ready')).toBe('True/Ready');
    expect(steps(world)).toEqual(['ins-1 starts', 'ins-1 ends', 'ins-2 starts']);
  }),
);

test(
  'a change of the spec that the row carries leaves the engine alone, another log level does not',
  inWorld(async (world, pass) => {
    await world.apply('shop');
    await pass(MOMENT_MS);
    await world.apply('shop', { displayName: 'Loja', interactiveMode: 'text' });
    await pass(HOUR_MS);
    expect(world.get('shop')!.status!.observedGeneration).toBe(2);
    expect(podName(world, 'shop')).toBe('ins-1');
    await world.apply('shop', { displayName: 'Loja', interactiveMode: 'text', logLevel: 'debug' });
    await pass(MOMENT_MS);
    expect(podName(world, 'shop')).toBe('ins-2');
    expect(world.condition('shop', 'Ready')).toBe('True/Ready');
  }),
);

test(
  'an engine that ended is counted once, however often its pod cannot be forgotten',
  inWorld(async (world, pass) => {
    const ends: boolean[] = [];
    world.controller.onEnd = (requested) => ends.push(requested);
    await world.apply('shop');
    await pass(MOMENT_MS);
    world.keepsPods = true;
    world.kill('shop');
    await pass(MINUTE_MS);
    expect(steps(world).filter((step) => step === 'ins-1 is kept').length).toBeGreaterThanOrEqual(4);
    expect(ends).toEqual([false]);
    world.keepsPods = false;
    await pass(MINUTE_MS);
    expect(world.condition('shop', 'Ready')).toBe('True/Ready');
    await world.apply('shop', { suspended: true });
    await pass(MOMENT_MS);
    expect(ends).toEqual([false, true]);
  }),
);

describe('what is not accepted', () => {
  test(
    'has no engine, and is asked about again as soon as another instance has changed',
    inWorld(async (world, pass) => {
      const names = new Map<string, string | undefined>();
      world.api.refuse = ({ metadata, spec }) => {
        const taken = [...names].some(([uid, name]) => uid !== metadata.uid && name === spec.displayName);
        if (!taken) names.set(metadata.uid, spec.displayName);
        return taken ? 'NameTaken' : null;
      };
      await world.apply('a', { displayName: 'Shop' });
      await pass(MOMENT_MS);
      await world.apply('b', { displayName: 'Shop' });
      await pass(MOMENT_MS);
      expect(world.condition('b', 'Accepted')).toBe('False/NameTaken');
      expect(world.get('b')!.status!.engine).toBeNull();
      await world.apply('a', { displayName: 'Old shop' });
      await pass(MOMENT_MS);
      expect(world.condition('b', 'Ready')).toBe('True/Ready');
    }),
  );

  test(
    'because it was deleted through the API goes, engine and resource',
    inWorld(async (world, pass) => {
      await world.apply('shop');
      await pass(MOMENT_MS);
      world.api.refuse = () => 'Deleted';
      world.api.rows.clear();
      await pass(MOMENT_MS);
      expect(steps(world)).toEqual(['ins-1 starts', 'ins-1 ends', 'shop is gone']);
    }),
  );
});

describe('deletion', () => {
  test(
    'the engine ends before the row is removed, and then the resource goes',
    inWorld(async (world, pass) => {
      await world.apply('shop');
      await pass(MOMENT_MS);
      await world.delete('default/shop');
      await pass(MOMENT_MS);
      expect(steps(world)).toEqual(['ins-1 starts', 'ins-1 ends', 'row asked for', 'shop is gone']);
      expect(world.facts('shop')).toBeUndefined();
      expect(world.api.calls.get('remove')).toBe(1);
    }),
  );

  test(
    'a lease that an engine elsewhere holds is waited for',
    inWorld(async (world, pass) => {
      await world.apply('shop', { suspended: true });
      await pass(MOMENT_MS);
      const expires = new Date(Date.now() + MINUTE_MS).toISOString();
      world.facts('shop')!.lease = { pod: 'elsewhere', epoch: 9, expires_at: expires };
      await world.delete('default/shop');
      await pass(MINUTE_MS);
      expect(world.api.calls.get('remove')).toBe(1);
      expect(world.get('shop')).toBeDefined();
      // The margin for clocks that differ.
      await pass(1_000);
      expect(world.facts('shop')).toBeUndefined();
      expect(world.get('shop')).toBeUndefined();
      expect(world.api.calls.get('remove')).toBe(2);
    }),
  );

  test(
    'an instance that was never accepted goes as well',
    inWorld(async (world, pass) => {
      world.api.faults = DOWN;
      await world.apply('shop');
      await pass(MOMENT_MS);
      expect(world.condition('shop', 'EngineRunning')).toBe('Unknown/NotProjected');
      await world.delete('default/shop');
      await pass(MINUTE_MS);
      expect(world.get('shop')).toBeDefined();
      world.api.faults = NO_FAULTS;
      await pass(MINUTE_MS);
      expect(world.get('shop')).toBeUndefined();
    }),
  );
});

describe('an API that is away', () => {
  /** An API that is away is asked once every 3.5 s. */
  const BACK_MS = 6_000;

  test(
    'at the start: the operator waits and goes on when it is there',
    inWorld(async (world, pass) => {
      world.api.faults = DOWN;
      await world.apply('shop');
      await pass(HOUR_MS);
      expect(world.condition('shop', 'EngineRunning')).toBe('Unknown/NotProjected');
      expect(world.get('shop')!.status!.lastError).toBe('The API does not answer');
      world.api.faults = NO_FAULTS;
      await pass(BACK_MS);
      expect(world.condition('shop', 'Ready')).toBe('True/Ready');
    }),
  );

  test(
    'later: engines that run go on running, and new ones wait',
    inWorld(async (world, pass) => {
      await world.apply('shop');
      await pass(MOMENT_MS);
      world.api.faults = DOWN;
      await world.apply('shop', { displayName: 'Loja' });
      await world.apply('help');
      await pass(HOUR_MS);
      expect(podName(world, 'shop')).toBe('ins-1');
      expect(world.condition('help', 'EngineRunning')).toBe('Unknown/NotProjected');
      world.api.faults = NO_FAULTS;
      await pass(BACK_MS);
      expect(world.condition('help', 'Ready')).toBe('True/Ready');
      expect(world.get('shop')!.status!.observedGeneration).toBe(2);
      expect(podName(world, 'shop')).toBe('ins-1');
    }),
  );

  test(
    'an engine that ends meanwhile is reported first, when the API is back',
    inWorld(async (world, pass) => {
      await world.apply('shop');
      await pass(MOMENT_MS);
      world.api.faults = DOWN;
      world.kill('shop');
      await pass(HOUR_MS);
      expect(world.condition('shop', 'EngineRunning')).toBe('False/EngineExited');
      expect(steps(world)).toEqual(['ins-1 starts', 'ins-1 ends']);
      world.api.faults = NO_FAULTS;
      await pass(BACK_MS);
      expect(world.condition('shop', 'Ready')).toBe('True/Ready');
      expect(steps(world)).toEqual(['ins-1 starts', 'ins-1 ends', 'ins-2 starts']);
    }),
  );
});

test(
  'two hundred instances at once: each is asked about once, and then once in five minutes',
  inFakeTime(async (pass) => {
    const world = new World();
    const names = Array.from({ length: 200 }, (_, n) => `n${n}`);
    for (const name of names) await world.apply(name);
    await world.controller.start();
    await pass(900);
    expect(names.filter((name) => world.condition(name, 'Ready') === 'True/Ready')).toHaveLength(200);
    expect([world.api.calls.get('project'), world.api.calls.get('issue-token')]).toEqual([200, 200]);
    await pass(5 * MINUTE_MS);
    expect([world.api.calls.get('project'), world.api.calls.get('issue-token')]).toEqual([400, 200]);
    await world.controller.stop();
  }),
);
