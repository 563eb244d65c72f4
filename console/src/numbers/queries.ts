import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { components } from '../generated/api';
import { useAccount } from '../app/account';
import { LIVE_MS } from '../ui/live';

export type Instance = components['schemas']['InstanceOut'];

export type ListedInstance = components['schemas']['ConsoleInstanceOut'];

const PAGE_SIZE = 200;
/** Names rarely change, and a change in this browser reads them again at once. */
const NAMES_MS = 60_000;

/** Names of all instances that the user may see, for filters and for other lists. */
export function useInstances() {
  const { id, gwk } = useAccount();
  return useQuery({
    queryKey: [id, 'instances', 'names'],
    queryFn: async () => {
      const all: Instance[] = [];
      for await (const instance of gwk.instances.list({ limit: PAGE_SIZE })) all.push(instance);
      return all;
    },
    staleTime: NAMES_MS,
    refetchInterval: NAMES_MS,
  });
}

/** One instance, read again while the page is open. */
export function useInstance(instanceId: string) {
  const { id, gwk } = useAccount();
  return useQuery({
    queryKey: [id, 'instance', instanceId],
    queryFn: () => gwk.instances.get(instanceId),
    refetchInterval: LIVE_MS,
  });
}

/** The phone number of an instance, or null while no phone is linked. */
export const readPhone = ({ jid }: Pick<Instance, 'jid'>): string | null => {
  const digits = jid?.split(/[:@]/)[0];
  return digits === undefined ? null : `+${digits}`;
};

/** Reads the instance and the list again after a change. */
export function useRenewInstance(instanceId: string): () => Promise<unknown> {
  const { id } = useAccount();
  const queries = useQueryClient();
  return () =>
    Promise.all([
      queries.invalidateQueries({ queryKey: [id, 'instance', instanceId] }),
      queries.invalidateQueries({ queryKey: [id, 'instances'] }),
    ]);
}
