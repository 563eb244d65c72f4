import { Anchor, Badge, Button, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { IconPlus } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { takeData } from '../api/client';
import { useAccount } from '../app/account';
import type { components } from '../generated/api';
import { EmptyState } from '../ui/empty-state';
import { LIVE_MS } from '../ui/live';
import { PageHeader } from '../ui/page-header';
import { QueryView } from '../ui/query-view';
import { Time } from '../ui/time';

export type Endpoint = components['schemas']['WebhookEndpointOut'];
type RatedEndpoint = components['schemas']['ConsoleEndpointOut'];

export default function WebhooksPage() {
  const { t } = useTranslation();
  const { id, api, can, path } = useAccount();
  const endpoints = useQuery({
    queryKey: [id, 'endpoints'],
    queryFn: async () => (await takeData(api.GET('/console/api/webhook-endpoints'))).data,
    refetchInterval: LIVE_MS,
  });
  const create = can('webhooks:write') && (
    <Button component={Link} to={path('webhooks/new')} leftSection={<IconPlus size={16} />}>
      {t('webhooks.new')}
    </Button>
  );
  return (
    <>
      <PageHeader title={t('webhooks.title')} subtitle={t('webhooks.subtitle')}>
        {endpoints.data?.length !== 0 && create}
      </PageHeader>
      <QueryView query={endpoints}>
        {(list) =>
          list.length === 0 ? (
            <EmptyState title={t('webhooks.empty')} help={t('webhooks.emptyHelp')}>
              {create}
            </EmptyState>
          ) : (
            <EndpointsTable endpoints={list} />
          )
        }
      </QueryView>
    </>
  );
}

function EndpointsTable({ endpoints }: { endpoints: RatedEndpoint[] }) {
  const { t } = useTranslation();
  return (
    <Table highlightOnHover verticalSpacing="sm">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('webhooks.url')}</Table.Th>
          <Table.Th>{t('common.state')}</Table.Th>
          <Table.Th>{t('webhooks.successRate')}</Table.Th>
          <Table.Th visibleFrom="xs">{t('webhooks.lastError')}</Table.Th>
          <Table.Th visibleFrom="md">{t('webhooks.events')}</Table.Th>
          <Table.Th visibleFrom="md">{t('common.created')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {endpoints.map((endpoint) => (
          <EndpointRow key={endpoint.id} endpoint={endpoint} />
        ))}
      </Table.Tbody>
    </Table>
  );
}

function EndpointRow({ endpoint }: { endpoint: RatedEndpoint }) {
  const { t, i18n } = useTranslation();
  const { path } = useAccount();
  const percent = new Intl.NumberFormat(i18n.language, { style: 'percent', maximumFractionDigits: 1 });
  return (
    <Table.Tr>
      <Table.Td>
        <Anchor component={Link} to={path(`webhooks/${endpoint.id}`)} className="wrap">
          {endpoint.url}
        </Anchor>
        {endpoint.description !== '' && (
          <Text size="sm" c="dimmed">
            {endpoint.description}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <EndpointState endpoint={endpoint} />
      </Table.Td>
      <Table.Td>{endpoint.success_rate === null ? '–' : percent.format(endpoint.success_rate)}</Table.Td>
      <Table.Td visibleFrom="xs">
        {endpoint.last_error ?? '–'}
        {endpoint.last_error_at !== null && (
          <Text size="xs" c="dimmed">
            <Time value={endpoint.last_error_at} />
          </Text>
        )}
      </Table.Td>
      <Table.Td visibleFrom="md">
        {endpoint.event_types.length === 0
          ? t('webhooks.defaultEvents')
          : t('webhooks.eventCount', { count: endpoint.event_types.length })}
      </Table.Td>
      <Table.Td visibleFrom="md">
        <Time value={endpoint.created_at} />
      </Table.Td>
    </Table.Tr>
  );
}

export function EndpointState({ endpoint }: { endpoint: Endpoint }) {
  const { t } = useTranslation();
  const { enabled, disabled_reason: reason } = endpoint;
  const color = enabled ? 'teal' : reason === null ? 'gray' : 'red';
  const key = enabled ? 'enabled' : (reason ?? 'paused');
  return (
    <Badge color={color} variant="light" tt="none">
      {t(`webhooks.states.${key}`)}
    </Badge>
  );
}
