import type { V1Pod } from '@kubernetes/client-node';
import { at, NOW, resource } from '@gwk/test/support/operator/build';
import { findObstacle } from './restart.js';

const instance = (reason: string) => ({
  ...resource(),
  status: {
    conditions: [
      {
        type: 'Connected' as const,
        status: 'False' as const,
        reason,
        message: '',
        observedGeneration: 1,
        lastTransitionTime: at(NOW),
      },
    ],
  },
});
const pod = (uid: string | undefined, labels: Record<string, string> = {}): V1Pod => ({
  metadata: {
    name: 'gwk-shop',
    labels: {
      'app.kubernetes.io/managed-by': 'gwk-operator',
      'app.kubernetes.io/component': 'engine',
      ...labels,
    },
    annotations: { 'gwk.dev/instance-uid': uid! },
  },
});
const { uid } = resource().metadata;

test.each<[string, V1Pod, string, boolean, RegExp | null]>([
  ['restarts the engine', pod(uid), 'Disconnected', false, null],
  [
    'spares a pod of another component',
    pod(uid, { 'app.kubernetes.io/component': 'api' }),
    'X',
    true,
    /not the engine/,
  ],
  [
    'spares a pod of another manager',
    pod(uid, { 'app.kubernetes.io/managed-by': 'Helm' }),
    'X',
    true,
    /not the engine/,
  ],
  ['spares the engine of a former Instance', pod('former'), 'X', true, /not the engine/],
  ['spares a pod without labels', { metadata: { name: 'gwk-shop' } }, 'X', true, /not the engine/],
  ['refuses while the client version is refused', pod(uid), 'ClientVersionRefused', false, /--force/],
  ['obeys --force', pod(uid), 'ClientVersionRefused', true, null],
])('%s', (...[, found, reason, isForced, obstacle]) => {
  expect(findObstacle(instance(reason), found, isForced)).toEqual(
    obstacle === null ? null : expect.stringMatching(obstacle),
  );
});
