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

export default function WebhooksPage() {
  const { t } = useTranslation();
  const { id, api, can, path } = useAccount();
  const endpoints = useQuery({
    queryKey: [id, 'endpoints'],
    queryFn: () => takeData(api.GET('/v1/webhook-endpoints')),
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

function EndpointsTable({ endpoints }: { endpoints: Endpoint[] }) {
  const { t } = useTranslation();
  const { path } = useAccount();
  return (
    <Table highlightOnHover verticalSpacing="sm">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('webhooks.url')}</Table.Th>
          <Table.Th>{t('common.state')}</Table.Th>
          <Table.Th visibleFrom="sm">{t('webhooks.events')}</Table.Th>
          <Table.Th visibleFrom="sm">{t('common.created')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {endpoints.map((endpoint) => (
          <Table.Tr key={endpoint.id}>
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
            <Table.Td visibleFrom="sm">
              {endpoint.event_types.length === 0
                ? t('webhooks.defaultEvents')
                : t('webhooks.eventCount', { count: endpoint.event_types.length })}
            </Table.Td>
            <Table.Td visibleFrom="sm">
              <Time value={endpoint.created_at} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
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
