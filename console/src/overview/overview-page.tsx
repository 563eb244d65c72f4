import { Anchor, Badge, Button, Group, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useAccount } from '../app/account';
import type { components } from '../generated/api';
import type { Instance } from '../numbers/queries';
import { EmptyState } from '../ui/empty-state';
import { LIVE_MS } from '../ui/live';
import { PageHeader } from '../ui/page-header';
import { QueryView } from '../ui/query-view';
import { overviewQuery } from './overview-query';
import { Traffic } from './traffic';

type Overview = components['schemas']['OverviewOut'];
type Attention = Overview['attention'][number];

const STATES: readonly Instance['state'][] = [
  'connected',
  'connecting',
  'pending_pair',
  'disconnected',
  'logged_out',
  'banned',
];

export default function OverviewPage() {
  const { t } = useTranslation();
  const { id } = useAccount();
  const overview = useQuery({ ...overviewQuery(id), refetchInterval: LIVE_MS });
  return (
    <>
      <PageHeader title={t('overview.title')} subtitle={t('overview.subtitle')} />
      <QueryView query={overview}>
        {(found) => (
          <Stack gap="xl">
            <NeedsAttention overview={found} />
            <States counts={found.instances} />
            <Traffic hours={found.hours} days={found.days} />
            <Rates overview={found} />
          </Stack>
        )}
      </QueryView>
    </>
  );
}

function NeedsAttention({ overview: { attention, instances } }: { overview: Overview }) {
  const { t } = useTranslation();
  const { path } = useAccount();
  if (attention.length > 0) {
    return (
      <Stack component="section" gap="sm">
        <Title order={2} size="h4">
          {t('overview.attention')}
        </Title>
        {attention.map((item) => (
          <AttentionItem key={`${item.reason} ${item.instance_id ?? item.endpoint_id}`} item={item} />
        ))}
      </Stack>
    );
  }
  if (STATES.some((state) => instances[state] > 0)) {
    return <EmptyState title={t('overview.allWell')} help={t('overview.allWellHelp')} />;
  }
  return (
    <EmptyState title={t('numbers.empty')} help={t('numbers.emptyHelp')}>
      <Button component={Link} to={path('numbers')}>
        {t('overview.noNumbers')}
      </Button>
    </EmptyState>
  );
}

const WARNINGS: ReadonlySet<Attention['reason']> = new Set([
  'restricted',
  'queue_growing',
  'webhook_failing',
]);

function AttentionItem({ item }: { item: Attention }) {
  const { t } = useTranslation();
  const { can, path } = useAccount();
  const isWarning = WARNINGS.has(item.reason);
  return (
    <Paper withBorder p="md">
      <Group justify="space-between" gap="xs" mb={4}>
        <Anchor
          component={Link}
          to={path(findRemedy(item, can('instances:write')))}
          fw={600}
          className="wrap"
        >
          {item.name}
        </Anchor>
        <Badge color={isWarning ? 'orange' : 'red'} variant="light" tt="none">
          {t(`overview.reasons.${item.reason}.name`)}
        </Badge>
      </Group>
      <Text size="sm" c="dimmed">
        {t(`overview.reasons.${item.reason}.help`)}
      </Text>
    </Paper>
  );
}

/** The page where a person mends it. */
function findRemedy({ reason, instance_id: instance, endpoint_id: endpoint }: Attention, mayPair: boolean) {
  if (endpoint !== null) return `webhooks/${endpoint}`;
  return reason === 'logged_out' && mayPair ? `numbers/${instance}/pairing` : `numbers/${instance}`;
}

function States({ counts }: { counts: Overview['instances'] }) {
  const { t } = useTranslation();
  const { path } = useAccount();
  return (
    <Stack component="section" gap="sm">
      <Group justify="space-between" align="baseline">
        <Title order={2} size="h4">
          {t('overview.states')}
        </Title>
        <Anchor component={Link} to={path('numbers')} size="sm">
          {t('overview.open')}
        </Anchor>
      </Group>
      <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }} spacing="sm">
        {STATES.map((state) => (
          <Paper key={state} withBorder p="md">
            <Text fz={28} fw={700} lh={1.2}>
              {counts[state]}
            </Text>
            <Text size="sm" c="dimmed">
              {t(`numbers.states.${state}`)}
            </Text>
          </Paper>
        ))}
      </SimpleGrid>
    </Stack>
  );
}

function Rates({ overview }: { overview: Overview }) {
  const { t } = useTranslation();
  const { access, can } = useAccount();
  const seesWebhooks = can('webhooks:read') && access.instance_ids === null;
  return (
    <Stack component="section" gap="sm">
      <Title order={2} size="h4">
        {t('overview.rates')}
      </Title>
      <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="sm">
        <Rate label={t('overview.delivery')} value={overview.delivery_rate} />
        <Rate label={t('overview.read')} value={overview.read_rate} />
        {seesWebhooks && <Rate label={t('overview.webhooks')} value={overview.webhook_success} />}
      </SimpleGrid>
    </Stack>
  );
}

function Rate({ label, value }: { label: string; value: number | null }) {
  const { t, i18n } = useTranslation();
  const format = new Intl.NumberFormat(i18n.language, { style: 'percent', maximumFractionDigits: 1 });
  return (
    <Paper withBorder p="md">
      <Text fz={28} fw={700} lh={1.2}>
        {value === null ? '–' : format.format(value)}
      </Text>
      <Text size="sm" c="dimmed">
        {value === null ? `${label}: ${t('overview.noData')}` : label}
      </Text>
    </Paper>
  );
}
