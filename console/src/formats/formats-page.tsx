import { Badge, Paper, SimpleGrid, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { takeData } from '../api/client';
import { useAccount } from '../app/account';
import type { components } from '../generated/api';
import { PageHeader } from '../ui/page-header';
import { QueryView } from '../ui/query-view';
import { Time } from '../ui/time';

type Format = components['schemas']['InteractiveStatusOut']['formats'][number];
const DEVICES = ['android', 'iphone', 'web'] as const;
const COLORS = { works: 'teal', partial: 'orange', broken: 'red', unknown: 'gray' } as const;
const RENEW_MS = 60_000;

/** Which menu formats phones show at present. */
export default function FormatsPage() {
  const { t } = useTranslation();
  const { id, api } = useAccount();
  const status = useQuery({
    queryKey: [id, 'formats'],
    queryFn: () => takeData(api.GET('/v1/status/interactive')),
    refetchInterval: RENEW_MS,
  });
  return (
    <>
      <PageHeader title={t('formats.title')} subtitle={t('formats.subtitle')} />
      <QueryView query={status}>
        {({ formats }) => (
          <SimpleGrid cols={{ base: 1, lg: 2 }}>
            {formats.map((format) => (
              <FormatCard key={format.format} format={format} />
            ))}
          </SimpleGrid>
        )}
      </QueryView>
    </>
  );
}

function FormatCard({ format: { label, format, monitor, devices } }: { format: Format }) {
  const { t, i18n } = useTranslation();
  const rate = monitor?.success_rate_30d ?? null;
  return (
    <Paper withBorder p="lg" component="section">
      <Title order={2} size="h4">
        {label}
      </Title>
      <Text size="sm" c="dimmed" mb="sm">
        {format}
        {rate !== null &&
          ` · ${t('formats.rate', { percent: rate.toLocaleString(i18n.language, { style: 'percent' }) })}`}
      </Text>
      <Table>
        <Table.Tbody>
          {DEVICES.map((device) => {
            const check = devices[device];
            const state = check?.status ?? 'unknown';
            return (
              <Table.Tr key={device}>
                <Table.Th>{t(`formats.devices.${device}`)}</Table.Th>
                <Table.Td>
                  <Stack gap={2} align="flex-start">
                    <Badge color={COLORS[state]} variant="light" tt="none">
                      {t(`formats.states.${state}`)}
                    </Badge>
                    {check?.note && <Text size="sm">{check.note}</Text>}
                  </Stack>
                </Table.Td>
                <Table.Td>{check && <Time value={check.checked_at} />}</Table.Td>
              </Table.Tr>
            );
          })}
        </Table.Tbody>
      </Table>
    </Paper>
  );
}
