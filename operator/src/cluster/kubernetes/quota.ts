import type { V1Container, V1PodSpec } from '@kubernetes/client-node';

/** Words by which Kubernetes refuses a pod that exceeds a ResourceQuota. They name the exceeded resources alone. */
const EXCEEDED = /exceeded quota: \S+, requested: (\S+), used: (\S+), limited: (\S+)/;

/**
 * Whether a refused pod would fit if the present pod ended first, which frees its part of the quota.
 *
 * @returns null if the pod was not refused by a quota
 */
export function fitsInPlaceOf(refusal: string, present: V1PodSpec): boolean | null {
  const [, ...lists] = EXCEEDED.exec(refusal) ?? [];
  if (lists.length === 0) return null;
  const [requested, used, limited] = lists.map(parseAmounts);
  return [...requested!].every(([resource, amount]) => {
    const rest = (used!.get(resource) ?? 0) - countUse(resource, present);
    return rest + amount <= (limited!.get(resource) ?? 0);
  });
}

const parseAmounts = (list: string): Map<string, number> =>
  new Map(
    list.split(',').map((entry) => {
      const [resource = '', amount = '0'] = entry.split('=');
      return [resource, toNumber(amount)];
    }),
  );

/** Suffixes of quantities, such as `100m` and `128Mi`. */
const SCALES: Readonly<Record<string, number>> = Object.fromEntries([
  ...['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'].map(
    (suffix, at) => [suffix, 1000 ** (at - 3)] as const,
  ),
  ...['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'].map((suffix, at) => [suffix, 1024 ** (at + 1)] as const),
]);

/** In thousandths, because sums of CPU fractions would be inexact. */
function toNumber(quantity: string): number {
  const [, amount, suffix = ''] = /^([-+.\d]+(?:[eE]\d+)?)([a-zA-Z]*)$/.exec(quantity) ?? [];
  return Math.round(Number(amount) * (SCALES[suffix] ?? NaN) * 1000);
}

/** The part of a quota that a pod uses, such as `limits.cpu`, `memory` or `pods`. */
function countUse(resource: string, { containers, initContainers = [], overhead }: V1PodSpec): number {
  if (resource === 'pods' || resource === 'count/pods') return toNumber('1');
  const kind = resource.startsWith('limits.') ? 'limits' : 'requests';
  const name = resource.replace(/^(limits|requests)\./, '');
  const useOf = ({ resources }: V1Container) => toNumber(resources?.[kind]?.[name] ?? '0');
  // An init container runs beside the sidecars before it. Sidecars keep running beside the containers.
  let [sidecars, peak] = [0, 0];
  for (const container of initContainers) {
    const use = useOf(container);
    peak = Math.max(peak, sidecars + use);
    if (container.restartPolicy === 'Always') sidecars += use;
  }
  const running = containers.reduce((sum, container) => sum + useOf(container), sidecars);
  return Math.max(running, peak) + toNumber(overhead?.[name] ?? '0');
}
