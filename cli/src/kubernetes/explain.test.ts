import type { Condition } from '@gwk/core/resources/manifest';
import { at, NOW, resource } from '@gwk/test/support/operator/build';
import { readFileSync } from 'node:fs';
import { explain, RULES } from './explain.js';
import type { EnginePod, Picture } from './picture.js';

const POD: EnginePod = {
  name: 'gwk-shop',
  phase: 'Running',
  image: 'engine:1',
  node: 'one',
  startedAt: at(NOW - 60_000),
  waiting: null,
  deleting: false,
};

/** Conditions as `status/reason/message`. */
function picture(conditions: Record<string, string>, more: Partial<Picture> = {}): Picture {
  const list = Object.entries(conditions).map(([type, words]): Condition => {
    const [status, reason = '', message = ''] = words.split('/');
    return {
      type: type as Condition['type'],
      status: status as Condition['status'],
      reason,
      message,
      observedGeneration: 1,
      lastTransitionTime: at(NOW),
    };
  });
  const made = resource();
  return {
    now: NOW,
    instance: {
      ...made,
      metadata: { ...made.metadata, name: 'shop', namespace: 'sales' },
      ...(list.length > 0 && { status: { conditions: list } }),
    },
    pod: POD,
    metrics: { unknown: 'not read' },
    events: [],
    gateway: { namespace: 'messages', api: 'gwk-api', version: '0.1.0' },
    ...more,
  };
}

const QUOTA = 'pods "gwk-shop" is forbidden: exceeded quota: all';

type Case = [title: string, given: Picture, level: string, cause: string, next: string | null];

test.each<Case>([
  [
    'healthy',
    picture({ Ready: 'True/Ready/Ready to send and receive' }),
    'ok',
    'Ready to send and receive',
    null,
  ],
  [
    'image missing',
    picture({ Ready: 'False/ImagePullFailed/ImagePullBackOff: no such image' }),
    'broken',
    'ImagePullBackOff: no such image',
    'kubectl describe pod gwk-shop -n sales',
  ],
  [
    'quota',
    picture({ Ready: `False/EngineNotCreated/${QUOTA}` }),
    'broken',
    QUOTA,
    'kubectl describe quota -n sales',
  ],
  [
    'refused by a policy',
    picture({ Ready: 'False/EngineNotCreated/denied the request: no signature' }),
    'broken',
    'denied the request: no signature',
    'kubectl describe gwi shop -n sales',
  ],
  [
    'lease lapsed: a running engine has none',
    picture({ Ready: 'False/EngineStarting/Waiting for the engine to take its lease' }),
    'broken',
    'The engine runs without its lease, so it neither sends nor receives (pod gwk-shop)',
    'kubectl get pods -n messages -l app.kubernetes.io/part-of=gwk',
  ],
  [
    'a new engine has no lease yet',
    picture(
      { Ready: 'False/EngineStarting/Waiting for the engine to take its lease' },
      { pod: { ...POD, startedAt: at(NOW - 5_000) } },
    ),
    'waiting',
    'Waiting for the engine to take its lease',
    'kubectl get gwi shop -n sales -w',
  ],
  [
    'lease lapsed: the API does not answer',
    picture({ Ready: 'Unknown/APIUnavailable/The API has not answered since 10:00' }),
    'broken',
    'The API has not answered since 10:00',
    'kubectl get pods -n messages -l app.kubernetes.io/part-of=gwk',
  ],
  [
    'logged out',
    picture({ Ready: 'False/LoggedOut/The device was unlinked; to pair it, run: gwk pair shop' }),
    'broken',
    'The device was unlinked',
    'kubectl gwk pair shop -n sales',
  ],
  [
    'logged out, and its engine is stopped',
    picture({ Ready: 'False/Idle/Not paired', Paired: 'False/LoggedOut/The device was unlinked' }),
    'broken',
    'The device was unlinked',
    'kubectl gwk pair shop -n sales',
  ],
  [
    'banned',
    picture({
      Ready: 'False/Banned/The network banned the phone number',
      Connected: 'False/Banned/banned: 403',
    }),
    'broken',
    'The network banned the phone number (banned: 403)',
    'kubectl gwk pair shop -n sales',
  ],
  [
    'client version refused',
    picture({
      Ready: 'False/ClientVersionRefused/The network refuses every known client version; see: gwk x',
    }),
    'broken',
    'The network refuses every known client version',
    'kubectl exec -n messages deploy/gwk-api -- gwk network-version show',
  ],
  [
    'certificate rejected',
    picture({ Ready: 'False/Disconnected/disconnected: certificate_rejected' }),
    'broken',
    'disconnected: certificate_rejected',
    'kubectl gwk logs shop -n sales --tail=100',
  ],
  [
    'paused',
    picture({ Ready: 'False/Suspended/spec.suspended is true' }),
    'stopped',
    'spec.suspended is true',
    'kubectl gwk resume shop -n sales',
  ],
  [
    'no operator',
    picture({}),
    'broken',
    `No operator has written a status since ${resource().metadata.creationTimestamp}`,
    'kubectl get pods -n messages -l app.kubernetes.io/part-of=gwk',
  ],
  [
    'unknown gateway',
    picture({ Ready: 'False/AccountNotAllowed/not here' }, { gateway: { unknown: 'no right' } }),
    'broken',
    'not here',
    'kubectl exec -n <namespace of the release> deploy/gwk-api -- gwk account allow-namespace main sales',
  ],
])('%s', (...[, given, level, cause, next]) => {
  expect(explain(given)).toMatchObject({ level, cause, next });
});

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

test('each page exists, and has the heading', () => {
  for (const { page } of Object.values(RULES)) {
    const [path = '', heading] = page.split('#');
    const headings = [...read(path).matchAll(/^#+ (.*)$/gm)].map(([, words]) =>
      words!.toLowerCase().replaceAll(' ', '-'),
    );
    if (heading !== undefined) expect(headings).toContain(heading);
  }
});

/** These pass by themselves, or refine another one, or are another's reason while an engine runs. */
const WITHOUT_RULE = ['Connecting', 'PendingPair', 'WaitingToRestart', 'EngineStarting', 'EngineOutdated'];
const OF_UPGRADES = [
  'WaitingForTurn',
  'WaitingForCanary',
  'UpgradePaused',
  'Upgrading',
  'UpgradeRefused',
  'NoEngine',
];

test('each documented reason has a rule, unless it passes by itself', () => {
  const [, table = ''] = read('docs/kubernetes.md').split('## Conditions');
  const rows = table
    .split('### Outages')[0]!
    .split('\n')
    .filter((line) => line.startsWith('|'));
  const reasons = rows.flatMap((row) =>
    [...row.split('|')[2]!.matchAll(/`([A-Za-z]+)`/g)].map(([, one]) => one!),
  );
  expect(reasons.length).toBeGreaterThan(25);
  const known = new Set([...Object.keys(RULES), ...WITHOUT_RULE, ...OF_UPGRADES]);
  expect(reasons.filter((reason) => !known.has(reason))).toEqual([]);
});
