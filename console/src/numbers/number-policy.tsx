import { useQuery, useQueryClient } from '@tanstack/react-query';
import { takeData } from '../api/client';
import { useAccount } from '../app/account';
import { PolicyEditor } from '../policy/policy-editor';
import { QueryView } from '../ui/query-view';
import type { Instance } from './queries';

export function NumberPolicy({ instance: { id: instanceId } }: { instance: Instance }) {
  const { id, api, can } = useAccount();
  const queries = useQueryClient();
  const queryKey = [id, 'policy', instanceId];
  const params = { path: { instance_id: instanceId } };
  const policy = useQuery({
    queryKey,
    queryFn: () => takeData(api.GET('/v1/instances/{instance_id}/policy', { params })),
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
                  await api.PATCH('/v1/instances/{instance_id}', { params, body: { policy: overrides } });
                  await queries.invalidateQueries({ queryKey });
                }
              : null
          }
        />
      )}
    </QueryView>
  );
}
