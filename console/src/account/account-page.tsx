import { Alert, Anchor, Button, Group, Paper, Stack, Switch, Table, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { takeData } from '../api/client';
import { useAccount } from '../app/account';
import type { components } from '../generated/api';
import { useSession } from '../session/session';
import { formatBytes } from '../ui/bytes';
import { CopyText } from '../ui/copy-text';
import { LIVE_MS } from '../ui/live';
import { PageHeader } from '../ui/page-header';
import { ProblemAlert } from '../ui/problem-alert';
import { QueryView } from '../ui/query-view';
import { SavedNote } from '../ui/saved-note';

type AccountView = components['schemas']['AccountOut'];
type Limit = keyof AccountView['limits'];

const LIMITS: readonly Limit[] = [
  'instances',
  'media_bytes',
  'media_files',
  'event_bytes',
  'requests_per_minute',
];

export default function AccountPage() {
  const { t } = useTranslation();
  const { id, access, api, path } = useAccount();
  const account = useQuery({
    queryKey: [id, 'account'],
    queryFn: () => takeData(api.GET('/console/api/account')),
    refetchInterval: LIVE_MS,
  });
  return (
    <>
      <PageHeader title={t('account.title')} subtitle={t('account.subtitle')} />
      <QueryView query={account}>
        {(found) => (
          <Stack gap="xl" maw={760}>
            <Stack gap={0}>
              <Text fw={600}>{access.name}</Text>
              <CopyText text={found.id} />
            </Stack>
            {found.suspended && <Alert color="red">{t('account.suspended')}</Alert>}
            <Limits account={found} />
            <Group>
              <Button component={Link} to={path('account/policy')} variant="default">
                {t('accountPolicy.link')}
              </Button>
            </Group>
            <Security account={found} />
          </Stack>
        )}
      </QueryView>
    </>
  );
}

function Limits({ account: { limits, usage } }: { account: AccountView }) {
  const { t, i18n } = useTranslation();
  const show = (limit: Limit, value: number): string =>
    limit.endsWith('_bytes') ? formatBytes(value, i18n.language) : value.toLocaleString(i18n.language);
  return (
    <Paper withBorder p="lg" component="section">
      <Title order={2} size="h4">
        {t('account.limits')}
      </Title>
      <Text size="sm" c="dimmed" mb="sm">
        {t('account.limitsHelp')}
      </Text>
      <Table aria-label={t('account.limits')}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">{t('account.limit')}</Table.Th>
            {usage && (
              <Table.Th scope="col" ta="right">
                {t('account.used')}
              </Table.Th>
            )}
            <Table.Th scope="col" ta="right">
              {t('account.allowed')}
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {LIMITS.map((limit) => (
            <Table.Tr key={limit}>
              <Table.Th scope="row" fw={400}>
                {t(`account.kinds.${limit}`)}
              </Table.Th>
              {usage && (
                <Table.Td ta="right">
                  {limit in usage && show(limit, usage[limit as keyof typeof usage])}
                </Table.Td>
              )}
              <Table.Td ta="right">{show(limit, limits[limit])}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Paper>
  );
}

function Security({ account }: { account: AccountView }) {
  const { t } = useTranslation();
  const { id, access, api, can, path } = useAccount();
  const { user } = useSession();
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (required: boolean) =>
      takeData(api.PATCH('/console/api/account', { body: { requires_mfa: required } })),
    onSuccess: async (changed) => {
      // A read that began before the change would show the former value again.
      await queries.cancelQueries({ queryKey: [id, 'account'] });
      queries.setQueryData([id, 'account'], changed);
    },
  });
  // The API refuses it to people who would lock themselves out.
  const mayChange = can('account:write') && access.instance_ids === null;
  const lacksOwn = !account.requires_mfa && !user.has_totp && !user.has_passkey;
  return (
    <Paper withBorder p="lg" component="section">
      <Title order={2} size="h4" mb="sm">
        {t('account.security')}
      </Title>
      <Stack gap="sm" align="flex-start">
        <Switch
          label={t('account.requiresMfa')}
          description={t('account.requiresMfaHelp')}
          checked={account.requires_mfa}
          disabled={!mayChange || lacksOwn || change.isPending}
          onChange={(event) => change.mutate(event.currentTarget.checked)}
        />
        {mayChange && lacksOwn && (
          <Anchor component={Link} to={path('profile')} size="sm">
            {t('account.ownFirst')}
          </Anchor>
        )}
        <ProblemAlert error={change.error} />
        <SavedNote shown={change.isSuccess} />
      </Stack>
    </Paper>
  );
}
