import { NO_FAULTS } from '@gwk/test/support/operator/fake-internal-api';
import { inWorld, type World } from '@gwk/test/support/operator/world';

/** Enough for the end of an engine, the boot of another and the observations that follow. */
const MOMENT_MS = 5_000;
const NAMES = ['a', 'b', 'c', 'd'];
const ANNOTATION = 'gwk.dev/pause-upgrade';

async function applyAll(world: World, pass: (ms: number) => Promise<void>): Promise<void> {
  for (const name of NAMES) await world.apply(name);
  await pass(MOMENT_MS);
}

/** Names of the instances whose engine has the revision. */
const listOn = (world: World, revision: string): string[] =>
  NAMES.filter((name) => {
    const pod = world.pod(name);
    return pod.phase !== 'absent' && pod.template.revision === revision;
  });
const listStarted = (world: World): string[] => world.done.filter((step) => step.endsWith(' starts'));
const upToDate = (world: World) => NAMES.map((name) => world.condition(name, 'UpToDate'));

test(
  'upgrades all engines, and shows the progress in a condition',
  inWorld(async (world, pass) => {
    await applyAll(world, pass);
    expect(new Set(upToDate(world))).toEqual(new Set(['True/UpToDate']));
    world.engine = 'hang';
    await world.upgrade('r2');
    await pass(MOMENT_MS);
    expect(upToDate(world).sort()).toEqual([...Array(3).fill('False/WaitingForTurn'), 'True/UpToDate']);
    world.engine = 'serve';
    await world.upgrade('r3');
    await pass(NAMES.length * MOMENT_MS);
    expect(listOn(world, 'r3')).toEqual(NAMES);
    expect(new Set(upToDate(world))).toEqual(new Set(['True/UpToDate']));
  }),
);

test(
  'replaces no more engines during a paused upgrade when all leases lapse',
  inWorld(async (world, pass) => {
    await applyAll(world, pass);
    world.engine = 'hang';
    await world.upgrade('r2');
    await pass(MOMENT_MS);
    expect(listOn(world, 'r2')).toHaveLength(1);
    const kept = listOn(world, 'r1');
    world.api.faults = { ...NO_FAULTS, before: 1 };
    await pass(120_000);
    for (const name of kept) world.hang(name);
    world.api.faults = NO_FAULTS;
    await pass(MOMENT_MS);
    expect(listOn(world, 'r1')).toEqual(kept);
  }),
);

test(
  'keeps an engine whose new pod the cluster would refuse, and says why',
  inWorld(async (world, pass) => {
    await applyAll(world, pass);
    world.refuses = 'denied by policy no-root';
    const started = listStarted(world).length;
    await world.upgrade('r2');
    await pass(60_000);
    expect(listOn(world, 'r1')).toEqual(NAMES);
    expect(listStarted(world)).toHaveLength(started);
    const refused = NAMES.find((name) => world.condition(name, 'UpToDate') === 'False/UpgradeRefused')!;
    const { conditions } = world.get(refused)!.status!;
    expect(conditions.find(({ type }) => type === 'UpToDate')!.message).toContain('denied by policy no-root');
    expect(world.condition(refused, 'Ready')).toBe('True/Ready');
    // After 1, 2, 4, 8, 16 and 32 s, for each.
    expect(world.refused).toBeLessThanOrEqual(7 * NAMES.length);
    world.refuses = null;
    await pass(400_000);
    expect(listOn(world, 'r2')).toEqual(NAMES);
  }),
);

test(
  'names the refusal of a first pod in its condition until the cluster accepts one',
  inWorld(async (world, pass) => {
    world.refuses = 'must specify limits.cpu';
    await world.apply('a');
    await pass(MOMENT_MS);
    expect(world.condition('a', 'EngineRunning')).toBe('False/EngineNotCreated');
    const { conditions } = world.get('a')!.status!;
    expect(conditions.find(({ type }) => type === 'Ready')!.message).toContain('must specify limits.cpu');
    world.refuses = null;
    await pass(400_000);
    expect(world.condition('a', 'Ready')).toBe('True/Ready');
  }),
);

test(
  'leaves out an instance whose annotation pauses its upgrade',
  inWorld(async (world, pass) => {
    await applyAll(world, pass);
    await world.annotate('b', { [ANNOTATION]: 'true' });
    await world.upgrade('r2');
    await pass(NAMES.length * MOMENT_MS);
    expect(listOn(world, 'r1')).toEqual(['b']);
    expect(world.condition('b', 'UpToDate')).toBe('False/UpgradePaused');
    await world.annotate('b', {});
    await pass(MOMENT_MS);
    expect(listOn(world, 'r2')).toEqual(NAMES);
  }),
);

test(
  'upgrades the others while the cluster refuses one pod',
  inWorld(async (world, pass) => {
    await applyAll(world, pass);
    [world.refuses, world.refusesOnly] = ['denied in this namespace', 'default/a'];
    await world.upgrade('r2');
    await pass(NAMES.length * MOMENT_MS);
    expect(listOn(world, 'r1')).toEqual(['a']);
    expect(world.condition('a', 'UpToDate')).toBe('False/UpgradeRefused');
    await world.annotate('a', { [ANNOTATION]: 'true' });
    await pass(MOMENT_MS);
    expect(world.condition('a', 'UpToDate')).toBe('False/UpgradePaused');
  }),
);

test(
  'pauses all upgrades with a limit of 0',
  inWorld(
    async (world, pass) => {
      await applyAll(world, pass);
      await world.upgrade('r2');
      await pass(60_000);
      expect(listOn(world, 'r1')).toEqual(NAMES);
      expect(new Set(upToDate(world))).toEqual(new Set(['False/UpgradePaused']));
    },
    { maxConcurrentUpgrades: 0 },
  ),
);

describe('with a canary', () => {
  const options = { maxConcurrentUpgrades: 3, canary: 'default/c' };

  test(
    'upgrades the canary first, and others once it is connected',
    inWorld(async (world, pass) => {
      await applyAll(world, pass);
      world.engine = 'hang';
      await world.upgrade('r2');
      await pass(MOMENT_MS);
      expect(listOn(world, 'r2')).toEqual(['c']);
      expect(world.condition('a', 'UpToDate')).toBe('False/WaitingForCanary');
      world.engine = 'serve';
      await world.upgrade('r3');
      await pass(3 * MOMENT_MS);
      expect(listOn(world, 'r3')).toEqual(NAMES);
    }, options),
  );

  test(
    'upgrades nothing while the canary does not exist',
    inWorld(
      async (world, pass) => {
        await applyAll(world, pass);
        await world.upgrade('r2');
        await pass(60_000);
        expect(listOn(world, 'r1')).toEqual(NAMES);
        expect(new Set(upToDate(world))).toEqual(new Set(['False/WaitingForCanary']));
      },
      { ...options, canary: 'default/nobody' },
    ),
  );
});
