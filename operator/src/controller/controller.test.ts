import { createLogger } from '@gwk/core/log';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import type { Cluster, Pod } from '../cluster/cluster.js';
import { endedPod, facts, free, resource, template } from '@gwk/test/support/operator/build';
import { until } from '@gwk/test/support/operator/folder';
import { Controller } from './controller.js';
import type { InternalPort } from './internal-port.js';

/** One instance, whose engine has ended; its pod is forgotten once the test lets it. */
class OnePod {
  pod: Pod = endedPod();
  mayForget = false;
  asked = 0;
  #shown: InstanceResource = resource();
  #changed: (key: string) => void = () => undefined;

  readonly cluster = {
    start: (changed) => {
      this.#changed = changed;
      return Promise.resolve();
    },
    keys: () => ['default/shop'],
    resource: () => this.#shown,
    pod: () => this.pod,
    templateFor: () => template(),
    // As from a watch: what is written comes back, and makes another pass.
    setStatus: (_, status) => {
      this.#shown = { ...this.#shown, status };
      this.#changed('default/shop');
      return Promise.resolve();
    },
    deletePod: () => {
      this.asked++;
      if (!this.mayForget) return Promise.reject(new Error('refused'));
      this.pod = { phase: 'absent' };
      return Promise.resolve();
    },
    newPodName: () => 'ins-1-second',
    createPod: () => Promise.resolve(),
    showPairing: () => Promise.resolve(),
    tell: () => undefined,
    endPods: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  } as Partial<Cluster> as Cluster;
}

const port: InternalPort = {
  project: () => Promise.resolve({ accepted: true, facts: facts({ lease: free }) }),
  observe: () => Promise.resolve({ instances: [facts({ lease: free })] }),
  issueToken: () => Promise.resolve('token'),
  engineEnded: () => Promise.resolve(),
  remove: () => Promise.resolve(null),
  pair: () => Promise.reject(new Error('nobody pairs here')),
};

test('an engine that ended is counted once, however often its pod cannot be forgotten', async () => {
  const world = new OnePod();
  const ends: boolean[] = [];
  const controller = new Controller({
    cluster: world.cluster,
    port,
    log: createLogger('operator', 'silent'),
    limits: { idleMs: 600_000, silentMs: 60_000, stuckMs: 300_000 },
    backoff: { firstMs: 10, maxMs: 20, random: () => 0 },
  });
  controller.onEnd = (asked) => ends.push(asked);
  await controller.start();
  try {
    await until('it was tried again and again', () => world.asked >= 4);
    expect(ends).toEqual([false]);
    world.mayForget = true;
    await until('it is forgotten', () => world.pod.phase === 'absent');
    world.pod = endedPod({ name: 'ins-1-second', asked: true });
    controller.queue.add('default/shop');
    await until('the next is forgotten', () => world.pod.phase === 'absent');
    expect(ends).toEqual([false, true]);
  } finally {
    await controller.stop();
  }
});
