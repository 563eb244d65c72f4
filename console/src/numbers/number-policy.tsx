import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useAccount } from '../app/account';
import { PolicyEditor } from '../policy/policy-editor';
import { QueryView } from '../ui/query-view';
import type { Instance } from './queries';

export function NumberPolicy({ instance: { id: instanceId } }: { instance: Instance }) {
  const { id, gwk, can } = useAccount();
  const queries = useQueryClient();
  const queryKey = [id, 'policy', instanceId];
  const policy = useQuery({
    queryKey,
    queryFn: () => gwk.instances.getPolicy(instanceId),
  });
  return (
    <QueryView query={policy}>
      {(found) => (
        <PolicyEditor
          // The form starts again from the stored values after a change.
          key={JSON.stringify(found)}
          policy={found}
          level="instance"
          save={
            can('instances:write')
              ? async (overrides) => {
                  await gwk.instances.update(instanceId, { policy: overrides });
                  await queries.invalidateQueries({ queryKey });
                }
              : null
          }
        />
      )}
    </QueryView>
  );
}
