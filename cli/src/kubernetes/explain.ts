import type { Condition, InstanceResource } from '@gwk/core/resources/manifest';
import { buildPodName } from '@gwk/core/kubernetes/names';
import { isUnknown, type Picture } from './picture.js';

/** `broken` needs a person. `waiting` passes by itself. `stopped` was asked for. */
export const LEVELS = ['broken', 'waiting', 'stopped', 'ok'] as const;
export type Level = (typeof LEVELS)[number];

export interface Explanation {
  level: Level;
  /** Reason of a condition, or one of this program. */
  reason: string;
  /** One sentence. */
  cause: string;
  /** A command to copy; null: there is nothing to do. */
  next: string | null;
  /** Purpose of the command, if its words do not say it. */
  hint: string | null;
  /** Page of the documentation; null: none is needed. */
  page: string | null;
}

/** Names in the commands. */
interface Names {
  /** `shop -n messages` */
  target: string;
  name: string;
  namespace: string;
  account: string;
  pod: string;
  node: string;
  /** `kubectl exec -n gateway deploy/gwk-api -- gwk` */
  gwk: string;
  /** Namespace of the release. */
  gateway: string;
}

interface Rule {
  level: Level;
  next: (names: Names) => string;
  hint?: string;
  page: string;
}

const page = (runbook: string): string => `docs/runbooks/${runbook}.md`;
const CONDITIONS = 'docs/kubernetes.md#conditions';

const describePod = ({ pod, namespace }: Names) => `kubectl describe pod ${pod} -n ${namespace}`;
const watch = ({ name, namespace }: Names) => `kubectl get gwi ${name} -n ${namespace} -w`;
const logs = ({ target }: Names) => `kubectl gwk logs ${target} --tail=100`;
const pair = ({ target }: Names) => `kubectl gwk pair ${target}`;
const edit = ({ name, namespace }: Names) => `kubectl edit gwi ${name} -n ${namespace}`;
const listPods = ({ gateway }: Names) => `kubectl get pods -n ${gateway} -l app.kubernetes.io/part-of=gwk`;

const broken = (next: Rule['next'], where: string, hint?: string): Rule => ({
  level: 'broken',
  next,
  page: where,
  ...(hint !== undefined && { hint }),
});
const PASSES: Rule = { level: 'waiting', next: watch, page: CONDITIONS, hint: 'it passes by itself' };
const NO_API = broken(listPods, page('GwkApiNotReady'), 'are API and Postgres ready?');
const NO_IMAGE = broken(describePod, page('GwkInstancesDown'), "the registry's answer, and the image");
const NO_LEASE = broken(
  listPods,
  page('GwkInstancesDown'),
  'is the API ready? Then read the log of the engine',
);

/** By the reason of the condition that is not true. The condition's message is the cause. */
export const RULES: Readonly<Record<string, Rule>> = {
  AccountNotAllowed: broken(
    ({ gwk, account, namespace }) => `${gwk} account allow-namespace ${account} ${namespace}`,
    CONDITIONS,
  ),
  AccountSuspended: broken(({ gwk, account }) => `${gwk} account resume ${account}`, CONDITIONS),
  NameTaken: broken(edit, CONDITIONS, 'choose another spec.displayName'),
  InstanceLimitReached: broken(({ gwk, account }) => `${gwk} account limits ${account}`, CONDITIONS),
  InvalidSpec: broken(edit, CONDITIONS),
  NotAccepted: broken(edit, CONDITIONS),
  ImagePullFailed: NO_IMAGE,
  Unschedulable: broken(describePod, page('GwkInstancesDown')),
  ContainerNotStarted: broken(describePod, page('GwkInstancesDown')),
  CrashLoop: broken(
    ({ target }) => `kubectl gwk logs ${target} -f`,
    page('GwkEngineCrashLoop'),
    'follows the next engine too',
  ),
  EngineNotCreated: broken(
    ({ name, namespace }) => `kubectl describe gwi ${name} -n ${namespace}`,
    page('GwkInstancesDown'),
  ),
  QuotaExceeded: broken(
    ({ namespace }) => `kubectl describe quota -n ${namespace}`,
    page('GwkInstancesDown'),
    'raise the quota, or pause another Instance; the operator continues by itself',
  ),
  ProfileUnknown: broken(edit, 'docs/kubernetes.md#the-operator', 'choose another spec.engine.profile'),
  EngineUnresponsive: NO_LEASE,
  LeaseLapsed: NO_LEASE,
  EngineNotRunning: NO_LEASE,
  WaitingForAPI: NO_API,
  Pending: NO_API,
  APIUnavailable: NO_API,
  NodeUnreachable: broken(({ node }) => `kubectl describe node ${node}`, page('GwkInstancesDown')),
  NoOperator: broken(
    listPods,
    page('GwkOperatorWithoutLeader'),
    'does an operator run, and serve this namespace?',
  ),
  Banned: broken(
    pair,
    page('GwkInstanceBanned'),
    'after the network has lifted the ban; a ban with an end passes by itself',
  ),
  LoggedOut: broken(pair, page('GwkInstanceLoggedOut'), 'with the phone at hand'),
  NeverPaired: broken(pair, 'docs/kubernetes.md#pair-a-phone', 'with the phone at hand'),
  PairingOpen: { level: 'waiting', next: pair, page: 'docs/kubernetes.md#pair-a-phone' },
  Disconnected: broken(logs, page('GwkInstanceDisconnected')),
  ClientVersionRefused: broken(
    ({ gwk }) => `${gwk} network-version show`,
    page('GwkNetworkRefusesClient'),
    'restart nothing: each restart takes one more instance offline',
  ),
  CertificateRejected: broken(logs, page('GwkNetworkRefusesClient')),
  Suspended: { level: 'stopped', next: ({ target }) => `kubectl gwk resume ${target}`, page: CONDITIONS },
  Idle: { level: 'stopped', next: pair, page: 'docs/kubernetes.md#pair-a-phone' },
};

/** Finds the cause that keeps an Instance from sending, and the next command. Pure. */
export function explain(picture: Picture): Explanation {
  const found = findCause(picture);
  if (found.reason === 'Ready') return { ...found, level: 'ok', next: null, hint: null, page: null };
  const rule = RULES[found.reason] ?? PASSES;
  const { level, next, hint = null } = rule;
  return { ...found, level, next: next(listNames(picture)), hint, page: rule.page };
}

type Cause = Pick<Explanation, 'reason' | 'cause'>;

function findCause(picture: Picture): Cause {
  const { instance } = picture;
  const ready = findCondition(instance, 'Ready');
  if (!ready) {
    const { creationTimestamp } = instance.metadata;
    return { reason: 'NoOperator', cause: `No operator has written a status since ${creationTimestamp}` };
  }
  const shown = ready.status === 'True' ? ready : findDeeper(instance, ready);
  const cause = { reason: shown.reason, cause: trimRemedy(shown) };
  return ready.status === 'True' ? { ...cause, reason: 'Ready' } : refine(cause, picture);
}

/** An engine takes its lease within seconds of its start. */
const STARTING_MS = 15_000;

/** Separates causes that have one reason and different remedies. */
function refine({ reason, cause }: Cause, { pod, now }: Picture): Cause {
  if (reason === 'Banned') return { reason, cause: `The network banned the phone number (${cause})` };
  if (reason === 'EngineNotCreated' && cause.includes('quota')) return { reason: 'QuotaExceeded', cause };
  if (reason === 'Disconnected' && cause.includes('certificate_rejected'))
    return { reason: 'CertificateRejected', cause };
  if (reason !== 'EngineStarting' || isUnknown(pod) || !pod?.startedAt) return { reason, cause };
  if (now - Date.parse(pod.startedAt) < STARTING_MS) return { reason, cause };
  return {
    reason: 'LeaseLapsed',
    cause: `The engine runs without its lease, so it neither sends nor receives (pod ${pod.name})`,
  };
}

/** Without an engine, the condition of the number says more than that no engine is needed. */
function findDeeper(instance: InstanceResource, ready: Condition): Condition {
  const type = ({ Idle: 'Paired', Banned: 'Connected' } as const)[ready.reason];
  const deeper = type && findCondition(instance, type);
  if (deeper && deeper.status === 'False') return deeper;
  return ready;
}

export const findCondition = ({ status }: InstanceResource, type: Condition['type']): Condition | undefined =>
  status?.conditions.find((condition) => condition.type === type);

/** Some messages end with a command for users without this program. */
const trimRemedy = ({ message }: Condition): string => message.split(/; (?:to |see: )/)[0]!;

function listNames({ instance, pod, gateway }: Picture): Names {
  const { name, namespace } = instance.metadata;
  const release = isUnknown(gateway) ? null : gateway;
  const home = release?.namespace ?? '<namespace of the release>';
  const node = isUnknown(pod) ? null : pod?.node;
  return {
    name,
    namespace,
    target: `${name} -n ${namespace}`,
    account: instance.spec.account,
    pod: buildPodName(name),
    node: node ?? '<node>',
    gateway: home,
    gwk: `kubectl exec -n ${home} deploy/${release?.api ?? 'gwk-api'} -- gwk`,
  };
}
