import type { V1PodSpec } from '@kubernetes/client-node';
import { fitsInPlaceOf } from './quota.js';

const present: V1PodSpec = {
  containers: [
    { name: 'engine', resources: { requests: { cpu: '20m', memory: '128Mi' }, limits: { cpu: '100m' } } },
    { name: 'proxy', resources: { requests: { cpu: '10m' }, limits: { cpu: '0.1' } } },
  ],
  initContainers: [{ name: 'first', resources: { requests: { memory: '256Mi' } } }],
};
const refusal = (requested: string, used: string, limited: string): string =>
  `pods "gwk-a" is forbidden: exceeded quota: all, requested: ${requested}, used: ${used}, limited: ${limited}`;

const FULL: [boolean, string, string, string][] = [
  [true, 'pods=1', 'pods=3', 'pods=3'],
  [true, 'limits.cpu=200m', 'limits.cpu=1', 'limits.cpu=1'],
  [false, 'limits.cpu=201m', 'limits.cpu=1', 'limits.cpu=1'],
  [true, 'memory=256Mi', 'memory=1Gi', 'memory=1Gi'],
  [false, 'requests.memory=257Mi', 'requests.memory=1Gi', 'requests.memory=1Gi'],
  [false, 'pods=1,requests.cpu=31m', 'pods=3,requests.cpu=2', 'pods=3,requests.cpu=2'],
  [false, 'limits.memory=1', 'limits.memory=1Gi', 'limits.memory=1Gi'],
];

test.each(FULL)('%s: requested %s, used %s, limited %s', (fits, requested, used, limited) => {
  expect(fitsInPlaceOf(refusal(requested, used, limited), present)).toBe(fits);
});

test.each([
  [true, '50m'],
  [false, '51m'],
])('%s: a new pod of %s in place of one with sidecars', (fits, requested) => {
  const init = (name: string, cpu: string, restartPolicy?: string) => ({
    name,
    resources: { requests: { cpu } },
    ...(restartPolicy !== undefined && { restartPolicy }),
  });
  const withSidecars: V1PodSpec = {
    ...present,
    initContainers: [init('a', '15m', 'Always'), init('first', '10m'), init('b', '5m', 'Always')],
  };
  const message = refusal(`requests.cpu=${requested}`, 'requests.cpu=1', 'requests.cpu=1');
  expect(fitsInPlaceOf(message, withSidecars)).toBe(fits);
});

test.each([
  [true, '65m'],
  [false, '66m'],
])('%s: a new pod of %s in place of one whose init container needs the most', (fits, requested) => {
  const requests = (cpu: string) => ({ resources: { requests: { cpu } } });
  const initContainers = [
    { name: 'a', restartPolicy: 'Always', ...requests('15m') },
    { name: 'first', ...requests('50m') },
  ];
  const message = refusal(`requests.cpu=${requested}`, 'requests.cpu=1', 'requests.cpu=1');
  expect(fitsInPlaceOf(message, { ...present, initContainers })).toBe(fits);
});

test('ignores refusals for other reasons', () => {
  const message = 'pods "gwk-a" is forbidden: failed quota: all: must specify limits.cpu for: engine';
  expect(fitsInPlaceOf(message, present)).toBeNull();
});
