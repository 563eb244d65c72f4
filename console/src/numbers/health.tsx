import {
  Badge,
  Group,
  List,
  Paper,
  Progress,
  SimpleGrid,
  Stack,
  Text,
  Title,
  type MantineSize,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useAccount } from '../app/account';
import type { components } from '../generated/api';
import { QueryView } from '../ui/query-view';
import { LIVE_MS } from '../ui/live';
import { Time } from '../ui/time';
import type { Instance } from './queries';

type HealthReport = components['schemas']['HealthOut'];
type HealthFactor = HealthReport['factors'][number];

const RISK_COLORS = { low: 'teal', medium: 'orange', high: 'red' } as const;
const FACTOR_COLORS = { ok: 'teal', attention: 'orange', bad: 'red', info: 'gray' } as const;

export function Health({ instance: { id: instanceId } }: { instance: Instance }) {
  const { id, gwk } = useAccount();
  const { i18n } = useTranslation();
  const health = useQuery({
    // The report has texts in the language of the request.
    queryKey: [id, 'health', instanceId, i18n.language],
    queryFn: () => gwk.instances.getHealth(instanceId),
    refetchInterval: LIVE_MS,
  });
  return <QueryView query={health}>{(report) => <Report report={report} />}</QueryView>;
}

function Report({ report }: { report: HealthReport }) {
  const { t } = useTranslation();
  const color = RISK_COLORS[report.risk];
  const advice = report.recommendations;
  return (
    <Stack>
      <Paper withBorder p="lg">
        <Group justify="space-between" mb="xs">
          <Group gap="sm" align="baseline">
            <Text fz={36} fw={700} lh={1}>
              {report.score}
            </Text>
            <Text c="dimmed">{t('health.of')}</Text>
          </Group>
          <RiskBadge risk={report.risk} size="lg" />
        </Group>
        <Progress value={report.score} color={`${color}.7`} aria-label={t('health.score')} />
        <Text size="sm" c="dimmed" mt="xs">
          {t('health.help')} {t('health.computed')} <Time value={report.computed_at} />
        </Text>
        {report.warmup_ends_at !== null && report.warming_up && (
          <Text size="sm" mt="xs">
            {t('health.warmingUp')} <Time value={report.warmup_ends_at} />
          </Text>
        )}
      </Paper>
      {advice.length > 0 && (
        <Paper withBorder p="lg">
          <Title order={2} size="h4" mb="xs">
            {t('health.recommendations')}
          </Title>
          <List>
            {advice.map((text) => (
              <List.Item key={text}>{text}</List.Item>
            ))}
          </List>
        </Paper>
      )}
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
        {report.factors.map((factor) => (
          <FactorCard key={factor.key} factor={factor} />
        ))}
      </SimpleGrid>
    </Stack>
  );
}

export function RiskBadge({ risk, size = 'md' }: { risk: HealthReport['risk']; size?: MantineSize }) {
  const { t } = useTranslation();
  return (
    <Badge color={RISK_COLORS[risk]} variant="light" size={size} tt="none">
      {t(`health.risk.${risk}`)}
    </Badge>
  );
}

function FactorCard({ factor }: { factor: HealthFactor }) {
  const { t } = useTranslation();
  return (
    <Paper withBorder p="md">
      <Group justify="space-between" align="flex-start" wrap="nowrap" mb={4}>
        <Text fw={600}>{factor.label}</Text>
        <Badge color={FACTOR_COLORS[factor.status]} variant="light" tt="none" flex="none">
          {t(`health.status.${factor.status}`)}
        </Badge>
      </Group>
      <Text size="sm">{factor.detail}</Text>
      {factor.penalty > 0 && (
        <Text size="sm" c="dimmed">
          {t('health.penalty', { points: factor.penalty })}
        </Text>
      )}
    </Paper>
  );
}
