import { BlockList, isIPv6 } from 'node:net';
import type { KubeObject } from '../support/kubernetes/test-cluster.js';

/**
 * Evaluates NetworkPolicies as the Kubernetes documentation defines them. Policies of one direction that select a pod
 * allow the union of their rules. Without such a policy everything is allowed. Both ends must allow a connection.
 */
export interface NetworkPod {
  labels: Record<string, string>;
  namespace: string;
}

/** A pod, or an address outside the cluster. */
export type End = NetworkPod | { address: string };

export interface Connection {
  from: End;
  to: End;
  port: number;
  protocol?: 'TCP' | 'UDP';
}

interface Selector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

interface Peer {
  podSelector?: Selector;
  namespaceSelector?: Selector;
  ipBlock?: { cidr: string; except?: string[] };
}

interface Rule {
  from?: Peer[];
  to?: Peer[];
  ports?: { port?: number; endPort?: number; protocol?: string }[];
}

interface PolicySpec {
  podSelector: Selector;
  policyTypes: string[];
  ingress?: Rule[];
  egress?: Rule[];
}

const isPod = (end: End): end is NetworkPod => 'labels' in end;

export function isAllowed(policies: KubeObject[], connection: Connection): boolean {
  const { from, to } = connection;
  return (
    (!isPod(from) || allows(policies, { side: 'egress', self: from, other: to, connection })) &&
    (!isPod(to) || allows(policies, { side: 'ingress', self: to, other: from, connection }))
  );
}

interface Side {
  side: 'ingress' | 'egress';
  self: NetworkPod;
  other: End;
  connection: Connection;
}

function allows(policies: KubeObject[], { side, self, other, connection }: Side): boolean {
  const type = side === 'ingress' ? 'Ingress' : 'Egress';
  const selecting = policies.filter(({ metadata, spec }) => {
    const { podSelector, policyTypes } = spec as PolicySpec;
    return (
      metadata.namespace === self.namespace && policyTypes.includes(type) && matches(podSelector, self.labels)
    );
  });
  if (selecting.length === 0) return true;
  return selecting.some((policy) =>
    ((policy['spec'] as PolicySpec)[side] ?? []).some((rule) => {
      const peers = side === 'ingress' ? rule.from : rule.to;
      const isOpen = peers === undefined || peers.length === 0;
      return (
        hasPort(rule, connection) && (isOpen || peers.some((peer) => isPeer(peer, other, self.namespace)))
      );
    }),
  );
}

function hasPort({ ports = [] }: Rule, { port, protocol = 'TCP' }: Connection): boolean {
  if (ports.length === 0) return true;
  return ports.some((one) => {
    if ((one.protocol ?? 'TCP') !== protocol) return false;
    return one.port === undefined || (port >= one.port && port <= (one.endPort ?? one.port));
  });
}

/** An ipBlock matches only addresses outside the cluster, never a pod. */
function isPeer({ podSelector, namespaceSelector, ipBlock }: Peer, end: End, own: string): boolean {
  if (!isPod(end)) return ipBlock !== undefined && isIn(ipBlock, end.address);
  if (ipBlock) return false;
  if (podSelector && !matches(podSelector, end.labels)) return false;
  if (!namespaceSelector) return end.namespace === own;
  return matches(namespaceSelector, { 'kubernetes.io/metadata.name': end.namespace });
}

function isIn({ cidr, except = [] }: NonNullable<Peer['ipBlock']>, address: string): boolean {
  return isWithin(cidr, address) && !except.some((range) => isWithin(range, address));
}

function isWithin(range: string, address: string): boolean {
  const [network = '', prefix = ''] = range.split('/');
  const family = isIPv6(network) ? 'ipv6' : 'ipv4';
  if (family !== (isIPv6(address) ? 'ipv6' : 'ipv4')) return false;
  const list = new BlockList();
  list.addSubnet(network, Number(prefix), family);
  return list.check(address, family);
}

function matches(
  { matchLabels = {}, matchExpressions = [] }: Selector,
  labels: Record<string, string>,
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      if (operator !== 'In') throw new Error(`unsupported operator ${operator}`);
      return values.includes(labels[key] ?? '');
    })
  );
}
