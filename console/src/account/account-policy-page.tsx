import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useAccount } from '../app/account';
import { PolicyEditor } from '../policy/policy-editor';
import { PageHeader } from '../ui/page-header';
import { QueryView } from '../ui/query-view';

const PATH = '/console/api/account/policy';

/** The limits of all numbers of the account. */
export default function AccountPolicyPage() {
  const { t } = useTranslation();
  const { id, access, api, can, path } = useAccount();
  const queries = useQueryClient();
  const queryKey = [id, 'account-policy'];
  const policy = useQuery({
    queryKey,
    queryFn: async () => {
      const { data, response } = await api.GET(PATH);
      return { effective: data!.effective, version: response.headers.get('etag') ?? '' };
    },
  });
  const mayChange = can('account:write') && access.instance_ids === null;
  return (
    <>
      <PageHeader
        title={t('accountPolicy.title')}
        back={{ to: path('account'), label: t('account.title') }}
      />
      <QueryView query={policy}>
        {({ effective, version }) => (
          <PolicyEditor
            // The form starts again from the stored values after a change.
            key={version}
            policy={effective}
            level="account"
            save={
              mayChange
                ? async (overrides) => {
                    const headers = { 'If-Match': version };
                    await api.PATCH(PATH, { body: { policy: overrides }, headers });
                    await queries.invalidateQueries({ queryKey });
                  }
                : null
            }
          />
        )}
      </QueryView>
    </>
  );
}
