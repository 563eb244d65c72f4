import { Anchor, Paper, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { takeData } from '../api/client';
import type { components } from '../generated/api';
import { StateBadge } from '../numbers/state-badge';
import { LIVE_MS } from '../ui/live';
import { PageHeader } from '../ui/page-header';
import { QueryView } from '../ui/query-view';
import { Time } from '../ui/time';
import { platformApi } from './client';
import { ClientVersion } from './client-version';

type Overview = components['schemas']['PlatformOverviewOut'];

export const usePlatformOverview = () =>
  useQuery({
    queryKey: ['platform', 'overview'],
    queryFn: () => takeData(platformApi.GET('/console/api/platform/overview')),
    refetchInterval: LIVE_MS,
  });

/** The gateway at a glance: accounts, numbers and the versions that run. */
export default function PlatformOverviewPage() {
  const { t } = useTranslation();
  const overview = usePlatformOverview();
  return (
    <>
      <PageHeader title={t('platform.overview.title')} subtitle={t('platform.overview.subtitle')} />
      <QueryView query={overview}>
        {(found) => (
          <Stack gap="xl">
            <Text>
              <Anchor component={Link} to="/platform/accounts">
                {t('platform.overview.accounts', { count: found.accounts.total })}
              </Anchor>
              {found.accounts.suspended > 0 &&
                `, ${t('platform.overview.suspended', { count: found.accounts.suspended })}`}
            </Text>
            <NumbersByVersion instances={found.instances} />
            <ClientVersion />
            <Programs programs={found.programs} />
          </Stack>
        )}
      </QueryView>
    </>
  );
}

function NumbersByVersion({ instances }: { instances: Overview['instances'] }) {
  const { t } = useTranslation();
  const versions = [...new Set(instances.map(({ engine_version }) => engine_version))];
  const states = [...new Set(instances.map(({ state }) => state))];
  const find = (state: string, version: string | null) =>
    instances.find((row) => row.state === state && row.engine_version === version)?.count ?? 0;
  return (
    <Paper withBorder p="lg" component="section">
      <Title order={2} size="h4" mb="sm">
        {t('platform.overview.numbers')}
      </Title>
      {instances.length === 0 && <Text c="dimmed">{t('platform.numbers.empty')}</Text>}
      <Table.ScrollContainer minWidth={320} mah={600}>
        <Table aria-label={t('platform.overview.numbers')}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">{t('common.state')}</Table.Th>
              {versions.map((version) => (
                <Table.Th key={version} scope="col" ta="right">
                  {version ?? t('platform.numbers.noEngine')}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {states.map((state) => (
              <Table.Tr key={state}>
                <Table.Th scope="row">
                  <StateBadge state={state} />
                </Table.Th>
                {versions.map((version) => (
                  <Table.Td key={version} ta="right">
                    <NumbersLink state={state} version={version} count={find(state, version)} />
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Paper>
  );
}

function NumbersLink({ state, version, count }: { state: string; version: string | null; count: number }) {
  const { i18n } = useTranslation();
  if (count === 0) return '0';
  const filters = new URLSearchParams({ state, ...(version !== null && { version }) });
  return (
    <Anchor component={Link} to={`/platform/numbers?${filters}`}>
      {count.toLocaleString(i18n.language)}
    </Anchor>
  );
}

function Programs({ programs }: { programs: Overview['programs'] }) {
  const { t } = useTranslation();
  return (
    <Paper withBorder p="lg" component="section">
      <Title order={2} size="h4">
        {t('platform.overview.programs')}
      </Title>
      <Text size="sm" c="dimmed" mb="sm">
        {t('platform.overview.programsHelp')}
      </Text>
      <Table aria-label={t('platform.overview.programs')}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">{t('platform.overview.program')}</Table.Th>
            <Table.Th scope="col">{t('platform.overview.version')}</Table.Th>
            <Table.Th scope="col">{t('platform.overview.seen')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {programs.map(({ program, version, host, seen_at }) => (
            <Table.Tr key={`${program} ${host} ${version}`}>
              <Table.Td>
                {t(`platform.programs.${program}`)}
                <Text size="xs" c="dimmed" className="wrap">
                  {host}
                </Text>
              </Table.Td>
              <Table.Td>{version}</Table.Td>
              <Table.Td>
                <Time value={seen_at} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Paper>
  );
}
