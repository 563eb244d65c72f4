import { Anchor, Button, Group, Paper, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Link, useParams } from 'react-router';
import { takeData } from '../api/client';
import { useAccount } from '../app/account';
import type { components } from '../generated/api';
import { CopyText } from '../ui/copy-text';
import { LIVE_MS } from '../ui/live';
import { PageHeader } from '../ui/page-header';
import { ProblemAlert } from '../ui/problem-alert';
import { QueryView } from '../ui/query-view';
import { formatTime, Time } from '../ui/time';
import { DeliveryBadge, useRetry } from './deliveries';

type Details = components['schemas']['ConsoleDeliveryOut'];

/** One delivery: the request, the last answer, and when it is tried again. */
export default function DeliveryPage() {
  const { t } = useTranslation();
  const { id, api, path } = useAccount();
  const { delivery = '' } = useParams();
  const query = useQuery({
    queryKey: [id, 'deliveries', 'one', delivery],
    queryFn: () =>
      takeData(
        api.GET('/console/api/webhook-deliveries/{delivery_id}', {
          params: { path: { delivery_id: delivery } },
        }),
      ),
    refetchInterval: LIVE_MS,
  });
  const endpoint = query.data?.endpoint_id;
  return (
    <>
      <PageHeader
        title={t('delivery.title')}
        subtitle={query.data?.event_type}
        back={{
          to: path(endpoint === undefined ? 'webhooks' : `webhooks/${endpoint}`),
          label: t(endpoint === undefined ? 'webhooks.title' : 'delivery.endpoint'),
        }}
      >
        {query.data && <Retry delivery={query.data} />}
      </PageHeader>
      <QueryView query={query}>{(found) => <Content delivery={found} />}</QueryView>
    </>
  );
}

function Retry({ delivery }: { delivery: Details }) {
  const { t } = useTranslation();
  const { can } = useAccount();
  const retry = useRetry(delivery.id);
  if (!can('webhooks:write') || delivery.status === 'pending') return null;
  return (
    <Stack>
      <Button variant="default" loading={retry.isPending} onClick={() => retry.mutate()}>
        {t('common.retry')}
      </Button>
      <ProblemAlert error={retry.error} />
    </Stack>
  );
}

function Content({ delivery }: { delivery: Details }) {
  const { t } = useTranslation();
  const { request, response } = delivery;
  return (
    <Stack>
      <Group>
        <DeliveryBadge status={delivery.status} />
        <CopyText text={delivery.id} />
      </Group>
      <Facts delivery={delivery} />
      <Section title={t('delivery.answer')}>
        <Text size="sm">
          {delivery.last_status_code ?? '–'}
          {delivery.last_latency_ms !== null && ` · ${delivery.last_latency_ms} ms`}
          {delivery.last_error !== null && ` · ${delivery.last_error}`}
        </Text>
        {response !== null && response !== '' && <CopyText text={response} block />}
      </Section>
      {request === null ? (
        <Text c="dimmed">{t('delivery.expired')}</Text>
      ) : (
        <>
          <Section title={t('delivery.headers')}>
            <Text size="sm" c="dimmed">
              {t('delivery.headersHelp')}
            </Text>
            <CopyText text={formatHeaders(request.headers)} block />
          </Section>
          <Section title={t('delivery.payload')}>
            <CopyText text={formatJson(request.body)} block />
          </Section>
        </>
      )}
    </Stack>
  );
}

function Section({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <Paper withBorder p="lg" component="section">
      <Title order={2} size="h4" mb="sm">
        {title}
      </Title>
      <Stack gap="sm">{children}</Stack>
    </Paper>
  );
}

function Facts({ delivery }: { delivery: Details }) {
  const { t, i18n } = useTranslation();
  const { can, path } = useAccount();
  return (
    <Table variant="vertical" layout="auto">
      <Table.Tbody>
        <Table.Tr>
          <Table.Th>{t('webhooks.url')}</Table.Th>
          <Table.Td className="wrap">{delivery.endpoint_url}</Table.Td>
        </Table.Tr>
        <Table.Tr>
          <Table.Th>{t('deliveries.event')}</Table.Th>
          <Table.Td className="wrap">
            {can('events:read') ? (
              <Anchor component={Link} to={path(`events/${delivery.event_id}`)}>
                {delivery.event_type}
              </Anchor>
            ) : (
              delivery.event_type
            )}
          </Table.Td>
        </Table.Tr>
        <Table.Tr>
          <Table.Th>{t('common.time')}</Table.Th>
          <Table.Td>{formatTime(delivery.created_at, i18n.language)}</Table.Td>
        </Table.Tr>
        <Table.Tr>
          <Table.Th>{t('deliveries.attempts')}</Table.Th>
          <Table.Td>
            {delivery.attempts}
            {delivery.next_attempt_at !== null && (
              <>
                {' · '}
                {t('deliveries.next')} <Time value={delivery.next_attempt_at} />
              </>
            )}
          </Table.Td>
        </Table.Tr>
      </Table.Tbody>
    </Table>
  );
}

const formatHeaders = (headers: Record<string, string>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');

/** The receiver verifies the body as it arrived; people read it with line breaks. */
const formatJson = (body: string): string => JSON.stringify(JSON.parse(body), null, 2);
