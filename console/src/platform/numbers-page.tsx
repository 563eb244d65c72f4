import { Anchor, Box, Select, Stack, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { takeData } from '../api/client';
import { AccountSelect } from '../app/account-select';
import type { components } from '../generated/api';
import { StateBadge } from '../numbers/state-badge';
import { findAccounts } from '../session/session-api';
import { EmptyState } from '../ui/empty-state';
import { useFilter } from '../ui/filters';
import { PageHeader } from '../ui/page-header';
import { PagesView, usePages } from '../ui/pages';
import { Time } from '../ui/time';
import { platformApi } from './client';
import { usePlatformOverview } from './overview-page';

type Instance = components['schemas']['PlatformInstanceOut'];

const STATES = [
  'pending_pair',
  'connecting',
  'connected',
  'disconnected',
  'logged_out',
  'banned',
] as const satisfies readonly Instance['state'][];

/** The numbers of all accounts. */
export default function PlatformNumbersPage() {
  const { t } = useTranslation();
  const [state] = useFilter('state');
  const [version] = useFilter('version');
  const [account] = useFilter('account');
  const pages = usePages(['platform', 'numbers', state, version, account], (cursor) => {
    const query = {
      ...(state !== null && { state: state as Instance['state'] }),
      ...(version !== null && { version }),
      ...(account !== null && { account_id: account }),
      ...(cursor !== undefined && { cursor }),
    };
    return takeData(platformApi.GET('/console/api/platform/instances', { params: { query } }));
  });
  return (
    <>
      <PageHeader title={t('platform.numbers.title')} subtitle={t('platform.numbers.subtitle')} />
      <Stack>
        <Filters />
        <PagesView
          pages={pages}
          empty={<EmptyState title={t('platform.numbers.empty')} help={t('platform.numbers.emptyHelp')} />}
        >
          {(rows) => <NumbersTable instances={rows} />}
        </PagesView>
      </Stack>
    </>
  );
}

function Filters() {
  const { t } = useTranslation();
  const [state, setState] = useFilter('state');
  const [version, setVersion] = useFilter('version');
  const [account, setAccount] = useFilter('account');
  const instances = usePlatformOverview().data?.instances ?? [];
  const known = new Set(instances.flatMap(({ engine_version }) => engine_version ?? []));
  if (version !== null) known.add(version);
  const named = useQuery({
    queryKey: ['accounts', account],
    queryFn: async () => (await findAccounts(account!))[0] ?? null,
    enabled: account !== null,
  });
  const current = account === null ? undefined : (named.data ?? { id: account, name: account });
  return (
    <Box className="filters">
      <Select
        label={t('common.state')}
        placeholder={t('common.all')}
        data={STATES.map((value) => ({ value, label: t(`numbers.states.${value}`) }))}
        value={state}
        onChange={setState}
        clearable
      />
      <Select
        label={t('platform.numbers.version')}
        placeholder={t('common.all')}
        data={[...known].sort()}
        value={version}
        onChange={setVersion}
        clearable
      />
      <AccountSelect
        label={t('shell.account')}
        placeholder={t('common.all')}
        current={current}
        onChange={(chosen) => setAccount(chosen?.id ?? null)}
        clearable
      />
    </Box>
  );
}

function NumbersTable({ instances }: { instances: Instance[] }) {
  const { t } = useTranslation();
  return (
    <Table highlightOnHover verticalSpacing="sm">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('common.name')}</Table.Th>
          <Table.Th>{t('common.state')}</Table.Th>
          <Table.Th visibleFrom="sm">{t('platform.numbers.version')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {instances.map((instance) => (
          <Table.Tr key={instance.id}>
            <Table.Td>
              <Anchor
                component={Link}
                to={`/${instance.account_id}/numbers/${instance.id}`}
                fw={600}
                className="wrap"
              >
                {instance.name}
              </Anchor>
              <Text size="sm" c="dimmed" className="wrap">
                {instance.account_name}
              </Text>
            </Table.Td>
            <Table.Td>
              <StateBadge state={instance.state} />
              <Text size="xs" c="dimmed" mt={4}>
                <Time value={instance.state_changed_at} />
              </Text>
            </Table.Td>
            <Table.Td visibleFrom="sm">
              {instance.engine_version ?? t('platform.numbers.noEngine')}
              <Text size="xs" c="dimmed" className="wrap">
                {instance.engine_pod}
              </Text>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
