import { Anchor, Badge, Button, Group, Select, Stack, Table, Text, Title } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useAccount } from '../app/account';
import type { components } from '../generated/api';
import { EmptyState } from '../ui/empty-state';
import { useFilter } from '../ui/filters';
import { PagesView, usePages } from '../ui/pages';
import { ProblemAlert } from '../ui/problem-alert';
import { SavedNote } from '../ui/saved-note';
import { Time } from '../ui/time';

type Delivery = components['schemas']['DeliveryOut'];

const COLORS = { pending: 'blue', succeeded: 'teal', failed: 'red' } as const;
const STATUSES = Object.keys(COLORS) as Delivery['status'][];

/** The delivery log of an endpoint. */
export function Deliveries({ endpointId }: { endpointId: string }) {
  const { t } = useTranslation();
  const { id, gwk, can } = useAccount();
  const [status, setStatus] = useFilter('status');
  const filter = { ...(status !== null && { status: status as Delivery['status'] }) };
  const pages = usePages([id, 'deliveries', endpointId, status], (cursor) =>
    gwk.webhookEndpoints.listDeliveries(endpointId, { ...filter, ...(cursor !== undefined && { cursor }) }),
  );
  return (
    <Stack component="section">
      <Group justify="space-between" align="flex-end">
        <Title order={2} size="h4">
          {t('deliveries.title')}
        </Title>
        <Select
          label={t('common.state')}
          placeholder={t('common.all')}
          data={STATUSES.map((value) => ({ value, label: t(`deliveries.statuses.${value}`) }))}
          value={status}
          onChange={setStatus}
          clearable
        />
      </Group>
      {can('webhooks:write') && <RetryFailed endpointId={endpointId} />}
      <PagesView
        pages={pages}
        empty={<EmptyState title={t('deliveries.empty')} help={t('deliveries.emptyHelp')} />}
      >
        {(rows) => <DeliveriesTable deliveries={rows} />}
      </PagesView>
    </Stack>
  );
}

const PERIODS = { hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000 };
type Period = keyof typeof PERIODS;

function RetryFailed({ endpointId }: { endpointId: string }) {
  const { t } = useTranslation();
  const { id, gwk } = useAccount();
  const queries = useQueryClient();
  const [period, setPeriod] = useState<Period>('day');
  const retry = useMutation({
    mutationFn: () =>
      gwk.webhookEndpoints.retryFailedDeliveries(endpointId, {
        since: new Date(Date.now() - PERIODS[period]).toISOString(),
      }),
    onSuccess: () => queries.invalidateQueries({ queryKey: [id, 'deliveries'] }),
  });
  return (
    <Stack gap="xs">
      <Group align="flex-end">
        <Select
          label={t('deliveries.period')}
          data={(Object.keys(PERIODS) as Period[]).map((value) => ({
            value,
            label: t(`deliveries.periods.${value}`),
          }))}
          value={period}
          onChange={(value) => value !== null && setPeriod(value)}
          allowDeselect={false}
        />
        <Button variant="default" loading={retry.isPending} onClick={() => retry.mutate()}>
          {t('deliveries.retryFailed')}
        </Button>
        <SavedNote
          shown={retry.isSuccess}
          text={t('deliveries.retried', { count: retry.data?.retried ?? 0 })}
        />
      </Group>
      <ProblemAlert error={retry.error} />
    </Stack>
  );
}

function DeliveriesTable({ deliveries }: { deliveries: Delivery[] }) {
  const { t } = useTranslation();
  return (
    <Table.ScrollContainer minWidth={640}>
      <Table verticalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('deliveries.event')}</Table.Th>
            <Table.Th>{t('common.state')}</Table.Th>
            <Table.Th>{t('deliveries.answer')}</Table.Th>
            <Table.Th>{t('deliveries.attempts')}</Table.Th>
            <Table.Th>{t('common.time')}</Table.Th>
            <Table.Th>{t('common.actions')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {deliveries.map((delivery) => (
            <DeliveryRow key={delivery.id} delivery={delivery} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

/** Sends a delivery again. */
export function useRetry(deliveryId: string) {
  const { id, gwk } = useAccount();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => gwk.webhookDeliveries.retry(deliveryId),
    onSuccess: () => queries.invalidateQueries({ queryKey: [id, 'deliveries'] }),
  });
}

export function DeliveryBadge({ status }: { status: Delivery['status'] }) {
  const { t } = useTranslation();
  return (
    <Badge color={COLORS[status]} variant="light" tt="none">
      {t(`deliveries.statuses.${status}`)}
    </Badge>
  );
}

function DeliveryRow({ delivery }: { delivery: Delivery }) {
  const { t } = useTranslation();
  const { can, path } = useAccount();
  const retry = useRetry(delivery.id);
  return (
    <Table.Tr>
      <Table.Td>
        <Anchor component={Link} to={path(`deliveries/${delivery.id}`)}>
          {delivery.event_type}
        </Anchor>
      </Table.Td>
      <Table.Td>
        <DeliveryBadge status={delivery.status} />
      </Table.Td>
      <Table.Td>
        {delivery.last_status_code ?? '–'}
        {delivery.last_latency_ms !== null && ` · ${delivery.last_latency_ms} ms`}
        {delivery.last_error !== null && (
          <Text size="xs" c="dimmed" className="wrap">
            {delivery.last_error}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        {delivery.attempts}
        {delivery.next_attempt_at !== null && (
          <Text size="xs" c="dimmed">
            {t('deliveries.next')} <Time value={delivery.next_attempt_at} />
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Time value={delivery.created_at} />
      </Table.Td>
      <Table.Td>
        {can('webhooks:write') && delivery.status !== 'pending' && (
          <Button size="xs" variant="default" loading={retry.isPending} onClick={() => retry.mutate()}>
            {t('common.retry')}
          </Button>
        )}
        <ProblemAlert error={retry.error} />
      </Table.Td>
    </Table.Tr>
  );
}
