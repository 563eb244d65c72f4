import { inFakeTime, type PassTime } from '@gwk/test/support/fake-time';
import { World } from '@gwk/test/support/operator/world';
import type { ControllerOptions } from './controller.js';

/** Longer than the time until an engine is idle and until every backoff has reached its maximum. */
const SETTLE_MS = 20 * 60_000;
const HOUR_MS = 3_600_000;
const RESYNCS = 12;
/** A rejected resource is projected again every 30 s: the API does not report that a name became free. */
const REJECTED_RECHECKS = 120;
/** The cluster is asked again for a refused pod, with a backoff of 5 min at most (minus a fifth). */
const POD_RETRIES = 16;

interface Case {
  state: string;
  enter: (world: World, pass: PassTime) => Promise<void> | void;
  options?: Partial<ControllerOptions>;
  /** EngineRunning; undefined: the resource is gone. */
  engine: string | undefined;
  maxReconciles: number;
  /** Default: 0. */
  maxWrites?: number;
}

const connect = async (world: World, pass: PassTime) => {
  await world.apply('shop');
  await pass(2000);
};

const leaveUnpaired = (world: World) => {
  world.api.firstState = 'pending_pair';
  return world.apply('shop');
};

const CASES: Case[] = [
  { state: 'connected', enter: connect, engine: 'True/EngineRunning', maxReconciles: RESYNCS },
  { state: 'unpaired', enter: leaveUnpaired, engine: 'False/Idle', maxReconciles: RESYNCS },
  {
    state: 'logged out',
    enter: async (world, pass) => {
      await connect(world, pass);
      const state_changed_at = new Date().toISOString();
      Object.assign(world.facts('shop')!, { state: 'logged_out', state_changed_at });
    },
    engine: 'False/Idle',
    maxReconciles: RESYNCS,
  },
  {
    state: 'banned',
    enter: async (world, pass) => {
      await connect(world, pass);
      world.facts('shop')!.state = 'banned';
    },
    engine: 'False/Banned',
    maxReconciles: RESYNCS,
  },
  {
    state: 'suspended',
    enter: (world) => world.apply('shop', { suspended: true }),
    engine: 'False/Suspended',
    maxReconciles: RESYNCS,
  },
  {
    state: 'suspended and unpaired',
    enter: (world) => {
      world.api.firstState = 'pending_pair';
      return world.apply('shop', { suspended: true });
    },
    engine: 'False/Suspended',
    maxReconciles: RESYNCS,
  },
  {
    state: 'with a refused pod',
    enter: (world) => {
      world.refuses = 'exceeded quota';
      return world.apply('shop');
    },
    engine: 'False/EngineNotCreated',
    // The cluster refuses each time in other words, so each retry writes a status, which causes another reconcile.
    maxReconciles: RESYNCS + 3 * POD_RETRIES,
    maxWrites: POD_RETRIES,
  },
  {
    state: 'waiting for its turn in an upgrade',
    enter: async (world, pass) => {
      await connect(world, pass);
      await world.upgrade('r2');
    },
    options: { canary: 'default/absent' },
    engine: 'True/EngineRunning',
    maxReconciles: RESYNCS,
  },
  {
    state: 'with paused upgrades',
    enter: async (world, pass) => {
      await connect(world, pass);
      await world.annotate('shop', { 'gwk.dev/pause-upgrade': 'true' });
      await world.upgrade('r2');
    },
    engine: 'True/EngineRunning',
    maxReconciles: RESYNCS,
  },
  {
    state: 'of an unknown account',
    enter: (world) => {
      world.api.refuse = () => 'AccountNotAllowed';
      return world.apply('shop');
    },
    engine: 'False/NotAccepted',
    maxReconciles: RESYNCS + REJECTED_RECHECKS,
  },
  {
    state: 'being deleted while another engine holds the lease',
    enter: async (world, pass) => {
      await world.apply('shop', { suspended: true });
      await pass(2000);
      const expires_at = new Date(Date.now() + SETTLE_MS + 2 * HOUR_MS).toISOString();
      world.facts('shop')!.lease = { pod: 'elsewhere', epoch: 9, expires_at };
      await world.delete('default/shop');
    },
    engine: 'False/Deleting',
    maxReconciles: RESYNCS,
  },
  {
    state: 'deleted',
    enter: async (world, pass) => {
      await connect(world, pass);
      await world.delete('default/shop');
    },
    engine: undefined,
    maxReconciles: 0,
  },
];

test.each(CASES)(
  'reconciles an instance $state only at the resync',
  ({ enter, options, engine, maxReconciles, maxWrites = 0 }) =>
    inFakeTime(async (pass) => {
      const world = new World(options);
      await world.controller.start();
      await enter(world, pass);
      await pass(SETTLE_MS);
      const before = world.done.length;
      let passes = 0;
      world.controller.onReconcile = () => void passes++;
      await pass(HOUR_MS);
      expect(world.condition('shop', 'EngineRunning')).toBe(engine);
      expect(passes).toBeLessThanOrEqual(maxReconciles);
      expect(world.done.length - before).toBeLessThanOrEqual(maxWrites);
      await world.controller.stop();
    })(),
);
