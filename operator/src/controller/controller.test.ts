import { inFakeTime } from '@gwk/test/support/fake-time';
import { NO_FAULTS } from '@gwk/test/support/operator/fake-internal-api';
import { inWorld, World } from '@gwk/test/support/operator/world';

/** Enough for the boot of an engine and the observation that follows. */
const MOMENT_MS = 2_000;
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DOWN = { ...NO_FAULTS, before: 1 };

const podName = (world: World, name: string): string | null => {
  const pod = world.pod(name);
  return pod.phase === 'absent' ? null : pod.name;
};
const reasons = (world: World) => world.events.map(({ reason }) => reason);
const conditions = (world: World, name: string) =>
  Object.fromEntries(
    world.get(name)!.status!.conditions.map(({ type, status, reason }) => [type, `${status}/${reason}`]),
  );
const steps = (world: World) => world.done.filter((step) => step !== 'status');

test(
  'starts an engine for a resource and reports it in the status',
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
  'writes nothing at rest',
  inWorld(async (world, pass) => {
    await world.apply('shop');
    await pass(MOMENT_MS);
    const before = [world.get('shop'), world.done.length, world.events.length];
    await pass(HOUR_MS);
    expect([world.get('shop'), world.done.length, world.events.length]).toEqual(before);
  }),
);

test(
  'reports a killed engine and starts another one at once',
  inWorld(async (world, pass) => {
    await world.apply('shop');
    await pass(MOMENT_MS);
    world.kill('shop');
    await pass(MOMENT_MS);
    expect(world.condition('shop', 'Ready')).toBe('True/Ready');
    expect(podName(world, 'shop')).toBe('ins-2');
    expect(world.api.calls.get('engine-ended')).toBe(1);
    // The engine may have connected in the reconcile that found it running.
    const recorded = reasons(world).filter((reason) => reason !== 'EngineRunning');
    expect(recorded.slice(-3)).toEqual(['EngineExited', 'EngineCreated', 'Connected']);
  }),
);

test(
  'reports a crash loop with the last error',
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
  'replaces a hanging engine once its lease has been free for a minute',
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
  'stops the engine on suspend and starts one on resume',
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
  'keeps the engine when the spec changes, except for its log level',
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
  'counts an exit once, even if its pod cannot be deleted',
  inWorld(async (world, pass) => {
    const ends: boolean[] = [];
    world.controller.onEngineExit = (requested) => ends.push(requested);
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

describe('a rejected resource', () => {
  test(
    'has no engine, and is projected again as soon as another instance changes',
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
    'is deleted with its engine if it was deleted through the API',
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
    'stops the engine, removes the row, then the resource',
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
    'waits for a lease that another engine holds',
    inWorld(async (world, pass) => {
      await world.apply('shop', { suspended: true });
      await pass(MOMENT_MS);
      const expires = new Date(Date.now() + MINUTE_MS).toISOString();
      world.facts('shop')!.lease = { pod: 'elsewhere', epoch: 9, expires_at: expires };
      await world.delete('default/shop');
      await pass(MINUTE_MS);
      expect(world.api.calls.get('remove')).toBe(1);
      expect(world.get('shop')).toBeDefined();
      // The margin for clock differences.
      await pass(1_000);
      expect(world.facts('shop')).toBeUndefined();
      expect(world.get('shop')).toBeUndefined();
      expect(world.api.calls.get('remove')).toBe(2);
    }),
  );

  test(
    'works for an instance that was never accepted',
    inWorld(async (world, pass) => {
      world.api.faults = DOWN;
      await world.apply('shop');
      await pass(MOMENT_MS);
      expect(world.condition('shop', 'EngineRunning')).toBe('Unknown/WaitingForAPI');
      await world.delete('default/shop');
      await pass(MINUTE_MS);
      expect(world.get('shop')).toBeDefined();
      world.api.faults = NO_FAULTS;
      await pass(MINUTE_MS);
      expect(world.get('shop')).toBeUndefined();
    }),
  );
});

describe('an unavailable API', () => {
  /** An unavailable API is asked once every 3.5 s. */
  const BACK_MS = 6_000;

  test(
    'delays the start until it answers',
    inWorld(async (world, pass) => {
      world.api.faults = DOWN;
      await world.apply('shop');
      await pass(HOUR_MS);
      expect(world.condition('shop', 'EngineRunning')).toBe('Unknown/WaitingForAPI');
      expect(world.get('shop')!.status!.lastError).toBe('The API does not answer');
      world.api.faults = NO_FAULTS;
      await pass(BACK_MS);
      expect(world.condition('shop', 'Ready')).toBe('True/Ready');
    }),
  );

  test(
    'keeps running engines and delays new ones',
    inWorld(async (world, pass) => {
      await world.apply('shop');
      await pass(MOMENT_MS);
      world.api.faults = DOWN;
      await world.apply('shop', { displayName: 'Loja' });
      await world.apply('help');
      await pass(HOUR_MS);
      expect(podName(world, 'shop')).toBe('ins-1');
      expect(world.condition('help', 'EngineRunning')).toBe('Unknown/WaitingForAPI');
      world.api.faults = NO_FAULTS;
      await pass(BACK_MS);
      expect(world.condition('help', 'Ready')).toBe('True/Ready');
      expect(world.get('shop')!.status!.observedGeneration).toBe(2);
      expect(podName(world, 'shop')).toBe('ins-1');
    }),
  );

  test(
    'makes what the operator cannot know Unknown within a minute, with one write, and takes it back',
    inWorld(async (world, pass) => {
      await world.apply('shop');
      await world.apply('closed', { suspended: true });
      await pass(MOMENT_MS);
      const ready = [world.get('shop'), world.get('closed')];
      const [writes, recorded] = [world.done.length, world.events.length];
      const since = new Date().toISOString();
      world.api.faults = DOWN;
      await pass(MINUTE_MS);
      expect(conditions(world, 'shop')).toEqual({
        Ready: 'Unknown/APIUnavailable',
        Accepted: 'True/Accepted',
        EngineRunning: 'Unknown/APIUnavailable',
        Paired: 'Unknown/APIUnavailable',
        Connected: 'Unknown/APIUnavailable',
        UpToDate: 'True/UpToDate',
      });
      const { message } = world.get('shop')!.status!.conditions[0]!;
      expect(Date.parse(message.split(' since ')[1]!)).toBeGreaterThan(Date.parse(since) - SECOND_MS);
      await pass(HOUR_MS);
      expect(world.get('closed')).toEqual(ready[1]);
      expect(world.done.length - writes).toBe(1);
      world.api.faults = NO_FAULTS;
      await pass(BACK_MS);
      expect(world.condition('shop', 'Ready')).toBe('True/Ready');
      expect(world.done.length - writes).toBe(2);
      expect(world.events.length).toBe(recorded);
    }),
  );

  test(
    'changes no status while it restarts',
    inWorld(async (world, pass) => {
      await world.apply('shop');
      await pass(MOMENT_MS);
      const [before, writes] = [world.get('shop'), world.done.length];
      world.api.faults = DOWN;
      await pass(35 * SECOND_MS);
      world.api.faults = NO_FAULTS;
      await pass(MINUTE_MS);
      expect(world.get('shop')).toEqual(before);
      expect(world.done.length).toBe(writes);
    }),
  );

  test(
    'gets the report of an exit first once it answers again',
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
  'projects each of 200 new instances once, and then once in 5 minutes, spread evenly',
  inFakeTime(async (pass) => {
    const world = new World();
    const names = Array.from({ length: 200 }, (_, n) => `n${n}`);
    const projected = () => world.api.calls.get('project');
    for (const name of names) await world.apply(name);
    await world.controller.start();
    await pass(900);
    expect(names.filter((name) => world.condition(name, 'Ready') === 'True/Ready')).toHaveLength(200);
    expect([projected(), world.api.calls.get('issue-token')]).toEqual([200, 200]);
    await pass(100 * SECOND_MS);
    expect(projected()).toBe(300);
    await pass(200 * SECOND_MS);
    expect([projected(), world.api.calls.get('issue-token')]).toEqual([400, 200]);
    await world.controller.stop();
  }),
);

test(
  'serves another namespace, and known instances, beside a burst of 800 new ones',
  inWorld(async (world, pass) => {
    await world.apply('old');
    await pass(HOUR_MS);
    world.writeMs = 400;
    for (let n = 0; n < 800; n++) await world.apply(`n${n}`);
    await world.apply('tenant/shop');
    world.kill('old');
    await pass(5 * SECOND_MS);
    const soon = world.condition('tenant/shop', 'Ready');
    await pass(15 * SECOND_MS);
    const phases = [world.pod('tenant/shop').phase, world.pod('old').phase];
    const depth = world.controller.queue.depth;
    // The controller cannot stop before its writes have ended.
    world.writeMs = 0;
    await pass(MINUTE_MS);
    expect(soon).toBeDefined();
    expect(phases).toEqual(['running', 'running']);
    expect(depth).toBeGreaterThan(400);
  }),
);

test(
  'starts at most so many engines for a burst of unpaired instances, and others with their pairing',
  inWorld(async (world, pass) => {
    world.api.firstState = 'pending_pair';
    const names = Array.from({ length: 20 }, (_, n) => `n${n}`);
    for (const name of names) await world.apply(name);
    await pass(MOMENT_MS);
    const running = () => names.filter((name) => world.pod(name).phase !== 'absent');
    expect(running()).toHaveLength(3);
    const waiting = names.find((name) => world.pod(name).phase === 'absent')!;
    expect(world.condition(waiting, 'EngineRunning')).toBe('False/Idle');
    world.facts(waiting)!.pairing = true;
    await pass(MOMENT_MS);
    expect(running()).toHaveLength(4);
    expect(running()).toContain(waiting);
    await pass(HOUR_MS);
    expect(running()).toEqual([waiting]);
  }),
);
