import { quiet, type AlertCase } from './alert-case.js';

const pod = 'namespace="shop",pod="gwk-a"';
const number = `${pod},instance_id="ins_a"`;
const numberLabels = { namespace: 'shop', pod: 'gwk-a', instance_id: 'ins_a' };
const state = (name: string, labels = number): string => `gwk_instance_state{${labels},state="${name}"}`;
const lease = (labels = pod): string => `gwk_engine_lease_seconds{${labels}}`;
const lost = (pod: string, name: string): string =>
  `gwk_instances{namespace="shop",pod="${pod}",state="${name}"}`;
const shop = (name: string) => ({ namespace: 'shop', state: name });

export const INSTANCES: AlertCase[] = [
  {
    name: 'a number is banned for a minute',
    alert: 'GwkInstanceBanned',
    series: { [state('banned')]: '0 1x10', [state('connected')]: '1 0x10' },
    at: '3m',
    fires: [
      {
        labels: numberLabels,
        description: 'ins_a is banned: nothing leaves it, and nothing reaches it.',
      },
    ],
  },
  {
    name: 'a number without its name is told by its pod',
    alert: 'GwkInstanceBanned',
    series: { [state('banned', pod)]: '1x10' },
    at: '3m',
    fires: [
      {
        labels: { namespace: 'shop', pod: 'gwk-a' },
        description: 'gwk-a is banned: nothing leaves it, and nothing reaches it.',
      },
    ],
  },
  {
    name: 'a number is connected',
    alert: 'GwkInstanceBanned',
    series: { [state('banned')]: '0x10' },
    at: '5m',
    ...quiet,
  },
  {
    name: 'a number was logged out',
    alert: 'GwkInstanceLoggedOut',
    series: { [state('logged_out')]: '1x10' },
    at: '2m',
    fires: [
      { labels: numberLabels, description: 'ins_a has to be paired again before it sends or receives.' },
    ],
  },
  {
    name: 'a number has not been paired yet',
    alert: 'GwkInstanceLoggedOut',
    series: { [state('logged_out')]: '0x10', [state('pending_pair')]: '1x10' },
    at: '9m',
    ...quiet,
  },
  {
    name: 'a number is banned for good, which ends its engine, and then the worker is replaced',
    alert: 'GwkInstancesLost',
    series: {
      [state('banned')]: '0 0 _x40',
      [lost('w1', 'banned')]: '2 2 3x10 _x30',
      [lost('w2', 'banned')]: '_x10 3x30',
      // For an hour or a day, with its engine: that one is told by itself, and hides no other.
      [state('banned', 'namespace="shop",pod="gwk-b",instance_id="ins_b"')]: '1x40',
    },
    at: '30m',
    fires: [
      { labels: shop('banned'), description: '1 more are banned than an hour ago. Each needs a person.' },
    ],
  },
  {
    name: 'two numbers were logged out, and their engines have ended',
    alert: 'GwkInstancesLost',
    series: { [lost('w1', 'logged_out')]: '0 2x40', [lost('w1', 'banned')]: '5x40' },
    at: '25m',
    fires: [
      {
        labels: shop('logged_out'),
        description: '2 more are logged_out than an hour ago. Each needs a person.',
      },
    ],
  },
  {
    name: 'numbers were banned long ago, one of them was deleted, and another gateway has fewer',
    alert: 'GwkInstancesLost',
    series: {
      [lost('w1', 'banned')]: '3x70 2x30',
      'gwk_instances{namespace="staging",pod="w",state="banned"}': '0x100',
    },
    at: '80m',
    ...quiet,
  },
  {
    name: 'one of two workers has looked a moment before the other',
    alert: 'GwkInstancesLost',
    series: { [lost('w1', 'banned')]: '4x30 3x29', [lost('w2', 'banned')]: '4x31 3x28' },
    at: '31m',
    ...quiet,
  },
  {
    name: 'Postgres was away for an hour',
    alert: 'GwkInstancesLost',
    series: { [lost('w1', 'banned')]: `3 ${'NaN '.repeat(70)}3 3 3 3 3 3 3` },
    at: '76m',
    ...quiet,
  },
  {
    name: 'a number connects and is dropped for over five minutes',
    alert: 'GwkInstanceDisconnected',
    series: {
      [state('disconnected')]: '1 0 1 0 1 0 1 0 1',
      [state('connecting')]: '0 1 0 1 0 1 0 1 0',
      [lease()]: '31x10',
    },
    at: '6m',
    fires: [
      {
        labels: numberLabels,
        description: 'The engine of ins_a runs and cannot connect to the network.',
      },
    ],
  },
  {
    name: 'a number is out for a moment, again and again',
    alert: 'GwkInstanceDisconnected',
    series: { [state('disconnected')]: '1 1 0 1 1 0 1 1 0 1 1', [lease()]: '31x10' },
    at: '10m',
    ...quiet,
  },
  {
    name: "engines without a lease are the database's or the API's outage, not each number's",
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
        labels: numberLabels,
        description: 'The engine of ins_a runs and cannot connect to the network.',
      },
    ],
  },
  {
    name: 'a number without its name is disconnected, and its engine has a lease',
    alert: 'GwkInstanceDisconnected',
    series: { [state('disconnected', pod)]: '1x10', [lease()]: '31x10' },
    at: '6m',
    fires: [
      {
        labels: { namespace: 'shop', pod: 'gwk-a' },
        description: 'The engine of gwk-a runs and cannot connect to the network.',
      },
    ],
  },
  {
    name: 'two numbers are out, as each of two workers says',
    alert: 'GwkInstancesDown',
    series: { 'gwk_instances_down{pod="w1"}': '0 2x10', 'gwk_instances_down{pod="w2"}': '0 2x10' },
    at: '4m',
    fires: [
      { description: '2 numbers that are to reconnect by themselves have been out for over 5 minutes.' },
    ],
  },
  {
    name: 'Postgres does not say how many are out',
    alert: 'GwkInstancesDown',
    series: { 'gwk_instances_down{pod="w1"}': 'NaN NaN NaN NaN NaN NaN NaN NaN NaN NaN' },
    at: '9m',
    ...quiet,
  },
  {
    name: 'the network rejects the version of the client',
    alert: 'GwkNetworkRefusesClient',
    series: { 'gwk_engine_disconnections_total{pod="a",reason="version_rejected_405"}': '0 0 1 2 2 2' },
    at: '5m',
    fires: [
      {
        labels: { reason: 'version_rejected_405' },
        description: 'Engines are refused (version_rejected_405). Numbers that reconnect stay out.',
      },
    ],
  },
  {
    name: 'a new engine is refused at its first attempt, and waits for an hour',
    alert: 'GwkNetworkRefusesClient',
    series: {
      'gwk_engine_disconnections_total{pod="a",reason="certificate_rejected"}': `_x9 ${'1 '.repeat(60).trim()}`,
    },
    at: '65m',
    fires: [
      {
        labels: { reason: 'certificate_rejected' },
        description: 'Engines are refused (certificate_rejected). Numbers that reconnect stay out.',
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
    name: 'lines are lost for other reasons',
    alert: 'GwkNetworkRefusesClient',
    series: { 'gwk_engine_disconnections_total{pod="a",reason="connection_lost"}': '0+3x10' },
    at: '9m',
    ...quiet,
  },
];
