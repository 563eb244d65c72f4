import { quiet, type AlertCase } from './alert-case.js';

const pod = 'namespace="shop",pod="gwk-a"';
const instance = `${pod},instance_id="ins_a"`;
const instanceLabels = { namespace: 'shop', pod: 'gwk-a', instance_id: 'ins_a' };
const state = (name: string, labels = instance): string => `gwk_instance_state{${labels},state="${name}"}`;
const lease = (labels = pod): string => `gwk_engine_lease_seconds{${labels}}`;
const lost = (pod: string, name: string): string =>
  `gwk_instances{namespace="shop",pod="${pod}",state="${name}"}`;
const shop = (name: string) => ({ namespace: 'shop', state: name });

export const INSTANCES: AlertCase[] = [
  {
    name: 'an instance is banned for a minute',
    alert: 'GwkInstanceBanned',
    series: { [state('banned')]: '0 1x10', [state('connected')]: '1 0x10' },
    at: '3m',
    fires: [
      {
        labels: instanceLabels,
        description: 'ins_a is banned. It neither sends nor receives.',
      },
    ],
  },
  {
    name: 'without instance_id the pod identifies a banned instance',
    alert: 'GwkInstanceBanned',
    series: { [state('banned', pod)]: '1x10' },
    at: '3m',
    fires: [
      {
        labels: { namespace: 'shop', pod: 'gwk-a' },
        description: 'gwk-a is banned. It neither sends nor receives.',
      },
    ],
  },
  {
    name: 'an instance is connected',
    alert: 'GwkInstanceBanned',
    series: { [state('banned')]: '0x10' },
    at: '5m',
    ...quiet,
  },
  {
    name: 'an instance was logged out',
    alert: 'GwkInstanceLoggedOut',
    series: { [state('logged_out')]: '1x10' },
    at: '2m',
    fires: [
      { labels: instanceLabels, description: 'ins_a must be paired again before it sends or receives.' },
    ],
  },
  {
    name: 'an instance has never been paired',
    alert: 'GwkInstanceLoggedOut',
    series: { [state('logged_out')]: '0x10', [state('pending_pair')]: '1x10' },
    at: '9m',
    ...quiet,
  },
  {
    name: 'a permanent ban stops the engine, and then the worker is replaced',
    alert: 'GwkInstancesLost',
    series: {
      [state('banned')]: '0 0 _x40',
      [lost('w1', 'banned')]: '2 2 3x10 _x30',
      [lost('w2', 'banned')]: '_x10 3x30',
      // A temporary ban with a running engine has its own alert and does not hide this one.
      [state('banned', 'namespace="shop",pod="gwk-b",instance_id="ins_b"')]: '1x40',
    },
    at: '30m',
    fires: [
      {
        labels: shop('banned'),
        description: '1 more instances are banned than an hour ago. Each needs manual action.',
      },
    ],
  },
  {
    name: 'two instances were logged out, and their engines have exited',
    alert: 'GwkInstancesLost',
    series: { [lost('w1', 'logged_out')]: '0 2x40', [lost('w1', 'banned')]: '5x40' },
    at: '25m',
    fires: [
      {
        labels: shop('logged_out'),
        description: '2 more instances are logged_out than an hour ago. Each needs manual action.',
      },
    ],
  },
  {
    name: 'old bans, one of them of a deleted instance, and another gateway with fewer bans',
    alert: 'GwkInstancesLost',
    series: {
      [lost('w1', 'banned')]: '3x70 2x30',
      'gwk_instances{namespace="staging",pod="w",state="banned"}': '0x100',
    },
    at: '80m',
    ...quiet,
  },
  {
    name: 'one of two workers reads Postgres a moment before the other',
    alert: 'GwkInstancesLost',
    series: { [lost('w1', 'banned')]: '4x30 3x29', [lost('w2', 'banned')]: '4x31 3x28' },
    at: '31m',
    ...quiet,
  },
  {
    name: 'Postgres was unavailable for an hour',
    alert: 'GwkInstancesLost',
    series: { [lost('w1', 'banned')]: `3 ${'NaN '.repeat(70)}3 3 3 3 3 3 3` },
    at: '76m',
    ...quiet,
  },
  {
    name: 'an instance connects and is dropped for over five minutes',
    alert: 'GwkInstanceDisconnected',
    series: {
      [state('disconnected')]: '1 0 1 0 1 0 1 0 1',
      [state('connecting')]: '0 1 0 1 0 1 0 1 0',
      [lease()]: '31x10',
    },
    at: '6m',
    fires: [
      {
        labels: instanceLabels,
        description: 'The engine of ins_a is running but cannot connect to the network.',
      },
    ],
  },
  {
    name: 'an instance disconnects for short moments repeatedly',
    alert: 'GwkInstanceDisconnected',
    series: { [state('disconnected')]: '1 1 0 1 1 0 1 1 0 1 1', [lease()]: '31x10' },
    at: '10m',
    ...quiet,
  },
  {
    name: 'engines without a lease do not count as disconnected instances',
    alert: 'GwkInstanceDisconnected',
    series: Object.fromEntries(
      [
        { of: 'a', left: '31x10' },
        { of: 'b', left: '0x10' },
        { of: 'c', left: '32 0x10' },
      ].flatMap(({ of, left }) => {
        const target = `namespace="shop",pod="gwk-${of}",instance="10.0.0.${of}:9090"`;
        return [
          [state('disconnected', `${target},instance_id="ins_${of}"`), '1x10'],
          [lease(target), left],
        ];
      }),
    ),
    at: '8m',
    fires: [
      {
        labels: instanceLabels,
        description: 'The engine of ins_a is running but cannot connect to the network.',
      },
    ],
  },
  {
    name: 'without instance_id the pod identifies a disconnected instance',
    alert: 'GwkInstanceDisconnected',
    series: { [state('disconnected', pod)]: '1x10', [lease()]: '31x10' },
    at: '6m',
    fires: [
      {
        labels: { namespace: 'shop', pod: 'gwk-a' },
        description: 'The engine of gwk-a is running but cannot connect to the network.',
      },
    ],
  },
  {
    name: 'two workers report the same two instances as offline',
    alert: 'GwkInstancesDown',
    series: { 'gwk_instances_down{pod="w1"}': '0 2x10', 'gwk_instances_down{pod="w2"}': '0 2x10' },
    at: '4m',
    fires: [
      {
        description: '2 instances that should reconnect by themselves have been offline for over 5 minutes.',
      },
    ],
  },
  {
    name: 'Postgres is unavailable, and the count is NaN',
    alert: 'GwkInstancesDown',
    series: { 'gwk_instances_down{pod="w1"}': 'NaN NaN NaN NaN NaN NaN NaN NaN NaN NaN' },
    at: '9m',
    ...quiet,
  },
  {
    name: 'the network rejects the client version',
    alert: 'GwkNetworkRefusesClient',
    series: { 'gwk_engine_disconnections_total{pod="a",reason="version_rejected_405"}': '0 0 1 2 2 2' },
    at: '5m',
    fires: [
      {
        labels: { reason: 'version_rejected_405' },
        description: 'Engines are refused (version_rejected_405). Instances that reconnect stay offline.',
      },
    ],
  },
  {
    name: 'a new engine is refused at its first attempt and waits for an hour',
    alert: 'GwkNetworkRefusesClient',
    series: {
      'gwk_engine_disconnections_total{pod="a",reason="certificate_rejected"}': `_x9 ${'1 '.repeat(60).trim()}`,
    },
    at: '65m',
    fires: [
      {
        labels: { reason: 'certificate_rejected' },
        description: 'Engines are refused (certificate_rejected). Instances that reconnect stay offline.',
      },
    ],
  },
  {
    name: 'the network refused the client hours ago',
    alert: 'GwkNetworkRefusesClient',
    series: { 'gwk_engine_disconnections_total{pod="a",reason="version_rejected_405"}': '0 1 2 3x300' },
    at: '280m',
    ...quiet,
  },
  {
    name: 'connections are lost for other reasons',
    alert: 'GwkNetworkRefusesClient',
    series: { 'gwk_engine_disconnections_total{pod="a",reason="connection_lost"}': '0+3x10' },
    at: '9m',
    ...quiet,
  },
];
