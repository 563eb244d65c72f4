import { Badge, Paper, SimpleGrid, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { takeData } from '../api/client';
import { useAccount } from '../app/account';
import type { components } from '../generated/api';
import { platformApi } from '../platform/client';
import { useSession } from '../session/session';
import { PageHeader } from '../ui/page-header';
import { QueryView } from '../ui/query-view';
import { Time } from '../ui/time';
import { EditCheck } from './edit-check';

type Format = components['schemas']['InteractiveStatusOut']['formats'][number];
type Device = keyof Format['devices'];
const DEVICES = ['android', 'iphone', 'web'] as const satisfies readonly Device[];
const COLORS = { works: 'teal', partial: 'orange', broken: 'red', unknown: 'gray' } as const;
const RENEW_MS = 60_000;

/** Which menu formats phones show at present. */
export default function FormatsPage() {
  const { t } = useTranslation();
  const { gwk } = useAccount();
  const status = useQuery({
    queryKey: ['formats'],
    queryFn: () => gwk.status.getInteractive(),
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

function FormatCard({ format: { format, monitor, devices } }: { format: Format }) {
  const { t, i18n } = useTranslation();
  const rate = monitor?.success_rate_30d ?? null;
  return (
    <Paper withBorder p="lg" component="section">
      <Title order={2} size="h4">
        {t(`formats.names.${format}`)}
      </Title>
      <Text size="sm" c="dimmed" mb="sm">
        {format}
        {rate !== null &&
          ` · ${t('formats.rate', { percent: rate.toLocaleString(i18n.language, { style: 'percent' }) })}`}
      </Text>
      <Table>
        <Table.Tbody>
          {DEVICES.map((device) => (
            <DeviceRow key={device} format={format} device={device} check={devices[device]} />
          ))}
        </Table.Tbody>
      </Table>
    </Paper>
  );
}

interface DeviceRowProps {
  format: Format['format'];
  device: Device;
  check: Format['devices'][Device];
}

function DeviceRow({ format, device, check }: DeviceRowProps) {
  const { t } = useTranslation();
  const { user } = useSession();
  const state = check?.status ?? 'unknown';
  return (
    <Table.Tr>
      <Table.Th>
        {t(`formats.devices.${device}`)}
        {check?.app_version && (
          <Text size="xs" c="dimmed" fw={400}>
            {t('formats.version', { version: check.app_version })}
          </Text>
        )}
      </Table.Th>
      <Table.Td>
        <Stack gap={2} align="flex-start">
          <Badge color={COLORS[state]} variant="light" tt="none">
            {t(`formats.states.${state}`)}
          </Badge>
          {check?.note && (
            <Text size="sm" className="wrap">
              {check.note}
            </Text>
          )}
        </Stack>
      </Table.Td>
      <Table.Td>
        <Stack gap={2} align="flex-start">
          {check && <Time value={check.checked_at} />}
          {user.is_platform_admin && (
            <>
              {check && <Author format={format} device={device} />}
              <EditCheck format={format} device={device} check={check} />
            </>
          )}
        </Stack>
      </Table.Td>
    </Table.Tr>
  );
}

/** The author of a check, which only administrators of the platform may read. */
function Author({ format, device }: Pick<DeviceRowProps, 'format' | 'device'>) {
  const { t } = useTranslation();
  const checks = useQuery({
    queryKey: ['formats', 'authors'],
    queryFn: async () => (await takeData(platformApi.GET('/console/api/platform/device-checks'))).data,
    refetchInterval: RENEW_MS,
  });
  const author = checks.data?.find((row) => row.format === format && row.device === device)?.checked_by;
  if (!author) return null;
  return (
    <Text size="xs" c="dimmed" className="wrap">
      {t('formats.by', { author })}
    </Text>
  );
}
